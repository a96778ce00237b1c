"""One meaning a name: no two classes share one, and the glossary names what there is."""

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from docs import directives
from spaces import CheckedSchedule, device, parse_schedule, verify

ROOT = Path(__file__).parents[1]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text("utf-8")
ROOMS = ("spaces", "backend", "apps")
ENTRIES = dict(re.findall(r"^- \*\*(.+?)\*\*: (.*?)(?=\n- |\n\n|\Z)", GLOSSARY, re.M | re.S))

SHARED = {
    "Allocate": "the same storage, in the loop nest and in the program made of it",
    "Array": "a NumPy array",
    "Coordinate": "a tuple of integers, in proofs and in replays, which do not import each other",
    "Prefetch": "the same prefetch, in the schedule and in the program",
}
"""Names that several modules define, each with the reason."""


# Regular expressions, because to parse the product takes seconds.
DEFINED = re.compile(r"^(?:class|def) (\w+)|^(\w+)(?:: .*| = .*)", re.MULTILINE)
"""The classes, functions and names that a module defines at its top."""

IMPORTED = re.compile(r"^from [\w.]+ import (\([^)]*\)|.*)", re.MULTILINE)
"""What a module imports at its top."""

TYPES = re.compile(
    r"^class (_?[A-Z]+[a-z]\w*)|^([A-Z]+[a-z]\w*)(?:: TypeAlias)? = (?!Annotated\[)", re.MULTILINE
)
"""Classes, and public names of types; options of a command are neither."""


@cache
def texts():
    """The text of each module of the product."""
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    return {path: path.read_text("utf-8") for path in paths}


@cache
def types():
    """For each class and public alias of a type in the product, the modules that define it."""
    found = defaultdict(list)
    for path, text in texts().items():
        for name in map("".join, TYPES.findall(text)):
            found[name].append(str(path.relative_to(ROOT)))
    return found


def test_no_two_classes_share_a_name_but_those_with_a_reason():
    assert len(types()) > 400
    assert {name: of for name, of in types().items() if len(of) > 1}.keys() == SHARED.keys()


@cache
def definitions():
    """For each name that a module of the product defines, the modules; and the names of classes and
    functions of the tests.
    """
    found = defaultdict(list)
    for path, text in texts().items():
        imported = "\n".join(IMPORTED.findall(text))
        for name in {*map("".join, DEFINED.findall(text)), *re.findall(r" as (\w+)", imported)}:
            found[name].append(path)
    for path in (ROOT / "tests").rglob("*.py"):
        for name in re.findall(r"^(?:class|def) (\w+)", path.read_text("utf-8"), re.MULTILINE):
            found.setdefault(name, [])
    return found


def members(owner):
    """The names inside of the classes with this name."""
    for path in definitions()[owner]:
        for node in ast.parse(texts()[path]).body:
            if isinstance(node, ast.ClassDef) and node.name == owner:
                for one in ast.walk(node):
                    yield getattr(one, "name", "")
                    yield getattr(getattr(one, "target", None), "id", "")


@pytest.mark.parametrize("term", ENTRIES)
def test_what_the_glossary_names_is_there(term):
    """The code behind a term stands in parentheses, or has the form of a class."""
    text = " ".join(ENTRIES[term].split())
    assert not re.search(r"`[\w/]+\.py`", text), "files move; name the class or the function"
    behind = re.findall(r"[(;] ?((?:`[\w.]+`(?:, )?)+)(?=[,).;])", text)
    named = {name for group in behind for name in re.findall(r"`([\w.]+)`", group)}
    named |= set(re.findall(r"`([A-Z][a-z]+[A-Z]\w*(?:\.\w+)?)`", text))
    for name in named:
        owner, _, member = name.partition(".")
        assert owner in definitions(), name
        assert not member or member in members(owner), name


def test_most_terms_name_their_code():
    assert sum("(`" in text for text in ENTRIES.values()) > 80


def test_every_term_stands_once_and_in_order():
    sections = GLOSSARY.split("\n## ")[1:]
    for section in sections:
        terms = [t.lower() for t in re.findall(r"^- \*\*(.+?)\*\*:", section, re.M)]
        assert terms == sorted(terms)
    assert len(re.findall(r"^- \*\*", GLOSSARY, re.M)) == len(ENTRIES) > 100


EXAMPLES = sorted(
    {
        span
        for text in ENTRIES.values()
        for span in re.findall(r"`([^`]+)`", " ".join(text.split()))
        if re.match(r"(out|bx|by|dy|total|input)\.", span)
        and "(" in span
        and span != "total.update(0)"
    }
)


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_schedule_in_the_glossary_is_legal(example):
    pipeline = directives.algorithm()
    schedule = parse_schedule(example, pipeline)
    target = device("sm_80" if "gpu_" in example else "cpu")
    assert isinstance(verify(pipeline, schedule, target), CheckedSchedule)


def test_the_glossary_has_examples():
    assert len(EXAMPLES) > 15
