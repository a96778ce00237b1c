"""The tutorial does what it says, from its first line to the program in C."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/tutorial.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
FIRST, *SESSION = [text for kind, text in BLOCKS if kind == "python"]
*SHOWN, SCHEDULE = [text for kind, text in BLOCKS if kind == "text"]
MARK = "--- the next block ---"


def run(command, folder):
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "smooth.py").write_text(FIRST)
    (tmp_path / "smooth.sched").write_text(SCHEDULE)
    return tmp_path


def test_each_block_of_the_session_prints_what_is_shown(folder):
    (folder / "session.py").write_text(f"print({MARK!r})\n".join(SESSION))
    done = run([sys.executable, "session.py"], folder)
    assert done.stderr == ""
    assert done.stdout.split(f"{MARK}\n") == SHOWN


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_program_in_c_prints_what_is_said(folder):
    compiling, building = [text.strip() for kind, text in BLOCKS if kind == "sh"]
    (code,) = [text for kind, text in BLOCKS if kind == "c"]
    (folder / "main.c").write_text(code)
    made = run([sys.executable, "-m", *compiling.split()], folder)
    assert (made.returncode, made.stderr) == (0, "")
    build, printed = building.split("  # prints ")
    done = run(["sh", "-c", build.replace("cc ", "cc -Wall -Werror ")], folder)
    assert (done.stderr, done.stdout) == ("", f"{printed}\n")
