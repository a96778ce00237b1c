"""The pages of jobs do what they say, and print what they show."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spaces.apps.command_line.program import program
from tests.page_session import answers, is_shown

ROOT = Path(__file__).parents[1]
PAGES = {page.stem: page.read_text("utf-8") for page in (ROOT / "docs/how_to").glob("*.md")}
TO_C = PAGES["go_to_c"]


pytestmark = pytest.mark.usefixtures("known_patterns")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_prints_what_it_shows(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block, printed, shown in answers(PAGES[name]):
        assert is_shown(printed, shown), f"{block}\nprints\n{printed}"


def test_a_page_may_leave_lines_out_and_nothing_else():
    assert is_shown("a\nb\nc\n", "a\n...\nc\n")
    assert is_shown("a\nb\n", "a\n...\n")
    assert not is_shown("a\nb\nc\n", "a\nc\n")
    assert not is_shown("a\nbc\n", "a\n")
    assert not is_shown("a\nb\nd\n", "a\n...\nc\n")


def test_blocks_are_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (
        "Write this file, `a.sched`:\n\n```text\nf.vectorize(x, 8)\n```\n\n"
        "```python\nnumber = 3\n```\n\n```python\nprint(number)\n```\n\n```text\n4\n```\n\n"
        "```console\n$ cat a.sched\nf.vectorize(x, 8)\n$ spaces show nothing\n```\n"
    )
    told = list(answers(page))
    assert [one[1:] for one in told[:3]] == [("", ""), ("3\n", "4\n"), ("f.vectorize(x, 8)\n",) * 2]
    assert "nothing" in told[3][1]
    assert not told[3][2]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_program_in_c_prints_what_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [code] = re.findall(r"```c\n(.*?)```", TO_C, re.DOTALL)
    [(build, printed)] = re.findall(r"^(cc .*?)  # prints (.*)$", TO_C, re.MULTILINE)
    [made] = re.findall(r"^\$ spaces (compile blur .*)$", TO_C, re.MULTILINE)
    Path("main.c").write_text(code)
    assert CliRunner().invoke(program, shlex.split(made)).exit_code == 0
    result = subprocess.run(
        build.replace("cc ", "cc -Wall -Werror "),
        shell=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (result.stderr, result.stdout) == ("", f"{printed}\n")
