"""The pages about spaces and about tuning print what they show."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MARK = "--- the next block ---"


@pytest.mark.parametrize("page", ["spaces.md", "tuning.md"])
def test_each_block_prints_what_is_shown(page, tmp_path):
    text = (ROOT / "docs" / page).read_text("utf-8")
    blocks = re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)
    session = f"print({MARK!r})\n".join(text for kind, text in blocks if kind == "python")
    shown = [text for kind, text in blocks if kind == "text"]
    done = subprocess.run(
        [sys.executable, "-c", session],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.stderr == ""
    assert done.stdout.split(f"{MARK}\n") == shown
