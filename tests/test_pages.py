"""What the pages of the documentation name is there: files, anchors, commands, modules, names."""

import importlib.util
import re
import shlex
from functools import cache
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

import spaces
from docs import command_line
from spaces.apps.command_line.program import program

ROOT = Path(__file__).parents[1]
ROOMS = ("docs", "apps", "examples")
PAGES = sorted([*ROOT.glob("*.md"), *(page for r in ROOMS for page in (ROOT / r).rglob("*.md"))])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
FOLDERS = ("spaces", "backend", "apps", "tests", "bench", "docs", "examples")


@cache
def texts():
    return {name: page.read_text("utf-8") for name, page in zip(NAMES, PAGES, strict=True)}


def anchors(text):
    """The anchors of a page's headlines, as they are made on the web."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings}


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name):
    page = ROOT / name
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8"))
    for link in links:
        if link.startswith("http"):
            continue
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text("utf-8")), link


@pytest.mark.parametrize("name", NAMES)
def test_paths_are_there(name):
    quoted = re.findall(r"`([\w.-]+(?:/[\w.-]+)*)/?`", texts()[name])
    for path in quoted:
        if (path.split("/")[0] in FOLDERS and "/" in path) or path.endswith(
            (".md", ".toml", ".txt")
        ):
            assert (ROOT / path).exists() or (ROOT / name).parent.joinpath(path).exists(), path


def test_tests_that_a_page_names_are_there():
    lines = re.findall(r"python -m pytest (.*)", "\n".join(texts().values()))
    assert lines
    for path in " ".join(lines).split():
        assert (ROOT / path).exists(), path


def test_modules_that_are_run_and_targets_that_are_made_are_there():
    everything = "\n".join(texts().values())
    modules = set(re.findall(r"python -m ([\w.]+)", everything))
    assert {"bench", "docs.rules", "tests.differential"} <= modules
    for module in modules:
        found = importlib.util.find_spec(module)
        assert found is not None, module
        if found.submodule_search_locations:
            assert importlib.util.find_spec(f"{module}.__main__") is not None, module
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in set(re.findall(r"^make (\w+)|`make (\w+)`", everything, re.MULTILINE)):
        assert re.search(rf"^{''.join(target)}:", makefile, re.MULTILINE), target


def commands():
    for text in texts().values():
        yield from re.findall(r"^spaces [a-z][^\n#]*|`spaces [a-z][^`\n]*`", text, re.MULTILINE)


@cache
def group():
    return typer.main.get_command(program)


@pytest.mark.parametrize("line", sorted({line.strip("` ") for line in commands()}))
def test_commands_are_those_of_the_program(line):
    assert isinstance(group(), TyperGroup)
    _, name, *words = shlex.split(line)
    command = group().commands[name]
    if words and words[0].startswith("--"):  # only an option is spoken of
        assert words[0] in {option for parameter in command.params for option in parameter.opts}
    elif words and not {"APP", "PASS", "SUBJECT"} & set(words):
        command.make_context(name, list(words))  # refuses what it does not take


@pytest.mark.parametrize("name", NAMES)
def test_public_names_are_public(name):
    for used in re.findall(r"`spaces\.(\w+)(?:\(|`)", texts()[name]):
        assert hasattr(spaces, used) or (ROOT / "spaces" / used).is_dir(), used


def test_the_page_of_the_command_line_is_up_to_date():
    made = command_line.page()
    assert command_line.PAGE.read_text("utf-8") == made, "python -m docs.command_line makes it anew"
