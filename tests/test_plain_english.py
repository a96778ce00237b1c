"""Text that people read avoids phrases that they have to read twice."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("spaces", "backend", "apps", "bench", "docs", "examples")
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
)
FILES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py*"))

INSTEAD = {
    r"(?i)\b(some |one |each |none )?of which\b": "start a new sentence with the noun",
    r"(?<!there )\b(is|are) none\b(?! of)": "say what it is instead, or that there is none",
    r"(?i)\b(is|are) told\b": "say who reports what",
    r"(?i)\bsuch a one\b": "repeat the noun",
    r"(?i)\bof how many\b": "say the number of what",
    r"(?i)\b(none of theirs|said no more|nobody else)\b": "say who does what",
}
"""Phrases, and what to write instead."""

SUSPECT = re.compile("|".join(re.sub(r"\(\?<?!.*?\)|\(\?i\)", "", one) for one in INSTEAD), re.I)
"""What is in all text with such a phrase."""


def passages(path: Path) -> Iterator[tuple[int, str]]:
    """The first line and the words of each paragraph of a page, or of each run of comments or
    strings of a program.
    """
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        line = 1
        for paragraph in text.split("\n\n"):
            yield line, " ".join(paragraph.split())
            line += paragraph.count("\n") + 2
        return
    start, kind, words = 0, tokenize.NL, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == kind:
            words += token.string.strip("#\"'").split()
        elif token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            if kind in (tokenize.COMMENT, tokenize.STRING):
                yield start, " ".join(words)
            start, kind, words = token.start[0], token.type, token.string.strip("#\"'").split()


def is_suspect(path: Path) -> bool:
    """Whether a file may have such a phrase. Reading its tokens takes far longer."""
    words = re.sub(r"[\s#\"']+", " ", path.read_text("utf-8"))
    return SUSPECT.search(words) is not None


def found(path: Path) -> list[str]:
    if not is_suspect(path):
        return []
    return [
        f"{path.relative_to(ROOT)}:{line}: '{match[0]}': {instead}"
        for line, words in passages(path)
        for phrase, instead in INSTEAD.items()
        for match in re.finditer(phrase, words)
    ]


@pytest.mark.parametrize("room", [*ROOMS, "pages"])
def test_sentences_are_plain(room: str) -> None:
    files = PAGES if room == "pages" else [p for p in FILES if p.is_relative_to(ROOT / room)]
    files = [p for p in files if p.suffix in (".py", ".pyi", ".md")]
    assert files
    problems = [problem for path in files for problem in found(path)]
    assert not problems, "\n".join(problems)


def test_phrases_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.test_plain_english.ROOT", tmp_path)
    path = tmp_path / "f.py"
    path.write_text(
        'def f():\n    """Funcs of which\n    one is none."""\n'
        "    # Nobody\n    # else is\n    # told.\n"
        '    return ("such a "\n            "one")  # is None\n'
    )
    lines = [problem.partition(": ")[0] for problem in found(path)]
    assert lines == ["f.py:2", "f.py:2", "f.py:4", "f.py:4", "f.py:7"]
