"""What the program does whichever the command: usage, and what it prints where."""

import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.apps.command_line import SCRIPT, files, spaces


def test_output_in_a_pipe_is_plain_text():
    result = subprocess.run([SCRIPT, "list"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0
    assert result.stdout.isascii()
    assert "\x1b" not in result.stdout
    assert result.stderr == ""


def test_the_version_is_that_of_the_project():
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    assert spaces("--version") == (f"spaces {project['version']}\n", "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("verify", "blurr", "--schedule", "cpu"), "There is no app 'blurr'"),
        (("verify", "blur", "--schedule", "fast"), "There is no file fast"),
        (("verify", "blur", "--schedule", "./gone.sched"), "Cannot read the schedule"),
        (("verify", "blur", "--schedule", "cpu", "--device", "sm_1"), "No device is called 'sm_1'"),
        (("verify", "blur"), "Missing option '--schedule'"),
        (("verify", "blur", "--schedule", "cpu", "--loud"), "No such option"),
        (("run", "blur", "--threads", "0"), "Invalid value for '--threads'"),
        (("list", "all"), "unexpected extra argument"),
        (("count", "gone.py:f"), "There is no file gone.py"),
    ],
)
def test_wrong_usage_exits_2_with_a_sentence(arguments, sentence):
    out, err = spaces(*arguments, status=2)
    assert out == ""
    assert sentence in err


def test_a_failed_run_of_the_real_program_shows_no_stack(tmp_path):
    command = [SCRIPT, "run", "blur", "--input", "gone.png", "--output", tmp_path / "o.png"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert files(tmp_path) == []
