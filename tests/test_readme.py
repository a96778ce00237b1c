"""The snippet and the commands of README and of the page of uses do what they say."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spaces.apps.command_line.program import program
from spaces.model.extras import how_to_install

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
USES = (ROOT / "docs/uses.md").read_text("utf-8")
SHOWN = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
SNIPPETS = SHOWN.findall(README)
_LISTED = re.findall(r"^spaces [^\n#]*", f"{README}\n{USES}", re.MULTILINE)
TUNING = [command for command in _LISTED if "tuning.sqlite" in command]
COMMANDS = [command for command in _LISTED if command not in TUNING]


def test_the_python_snippet_shows_its_output():
    assert README.count("```python") == len(SNIPPETS) == 1


def test_readme_is_short():
    assert len(README.splitlines()) <= 130


def test_extras_are_installed_from_a_checkout():
    """The library is not on the package index: no page, message or command may say so."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    known = extras["optional-dependencies"].keys()
    pages = [README, *(page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md"))]
    code = [p for room in ("spaces", "backend", "apps") for p in (ROOT / room).rglob("*.py")]
    sources = [path.read_text("utf-8") for path in code]
    assert not re.findall(r"pip install '?schedule-spaces", "\n".join(pages + sources))
    named = re.findall(r"pip install '\.\[([\w-]+)\]'", "\n".join(pages))
    named += re.findall(r"how_to_install\([\"']([\w-]+)[\"']\)", "\n".join(sources))
    assert len(named) >= 7
    assert set(named) <= known
    assert how_to_install("gpu").startswith("pip install '.[gpu]'")


@pytest.mark.parametrize(("code", "output"), SNIPPETS)
def test_a_snippet_prints_what_is_shown(code, output, tmp_path):
    script = tmp_path / "snippet.py"
    script.write_text(code)
    # In a process of its own: a snippet must not lean on what other tests have imported.
    result = subprocess.run(
        [sys.executable, script],
        capture_output=True, text=True, timeout=120, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert result.stderr == ""
    assert result.stdout.rstrip() == output.rstrip()


def test_the_snippet_is_short():
    for code, _ in SNIPPETS:
        assert sum(bool(line.strip()) for line in code.splitlines()) <= 20


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_does_what_it_says(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "apps").symlink_to(ROOT / "apps")
    (tmp_path / "my.sched").write_text("blur_y.gpu_tile(x, y, xi, yi, 32, 8)")
    words = shlex.split(command)[1:]
    if words[0] in ("search", "count"):
        words += ["--seconds", "0.5"]
    result = CliRunner().invoke(program, words)
    assert result.exit_code == 0, result.output


def test_the_commands_of_tuning_follow_each_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(TUNING) == 4
    for command in TUNING:
        words = shlex.split(command)[1:]
        if words[0] == "tune":
            words += ["--trials", "3", "--options", "small"]
        result = CliRunner().invoke(program, words)
        assert result.exit_code == 0, result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.json", "tuning.sqlite"]


def test_the_folders_named_are_there():
    house = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Where things are")[1]
    for name in re.findall(r"^\| (.*?) \|", house, re.MULTILINE):
        for folder in re.findall(r"`([\w/.]+)`", name):
            assert (ROOT / folder).exists(), folder
