"""The page about spaces prints what it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/spaces.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
MARK = "--- the next block ---"


def test_each_block_prints_what_is_shown(tmp_path):
    session = f"print({MARK!r})\n".join(text for kind, text in BLOCKS if kind == "python")
    shown = [text for kind, text in BLOCKS if kind == "text"]
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
