"""The pages about spaces and about tuning print what they show, and list what there is."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import spaces

NAMES = spaces.strategy_names()
"""The strategies of the library, before any test registers one."""

GPU_LOOPS = {"gpu_blocks", "gpu_threads", "gpu_single_thread"}

ROOT = Path(__file__).parents[1]
MARK = "--- the next block ---"


def test_the_tables_have_every_strategy_and_directive():
    """What is not in these tables is left out by mistake."""
    text = (ROOT / "docs" / "spaces.md").read_text("utf-8")
    table = text.partition("## Strategies")[2].partition("\n\n`annealing`, ")[0]
    listed = set(re.findall(r"^\| `([\w-]+)`", table, re.MULTILINE))
    assert listed == set(NAMES)
    for device in map(spaces.device, ("cpu", "sm_80")):
        [row] = re.findall(r"^\| `Options.expert\(.*$", text, re.MULTILINE)
        written = {name.strip("_") for name in re.findall(r"`(\w+)`", row.split("|")[2])}
        of_kinds = {"split", "parallel", "vectorize", "unroll"} | GPU_LOOPS
        wanted = set(spaces.Options.expert(device).directives) - of_kinds
        assert written == {name.strip("_") for name in wanted}


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
