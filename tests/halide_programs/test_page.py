"""The page about pipelines of Halide shows what is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("halide", reason="Halide's Python package is not installed")

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "from_halide.md"


TEXT = PAGE.read_text("utf-8")
CODES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
SHOWN = [one for one in re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL) if one[:2] != "$ "]


@pytest.mark.parametrize(
    ("code", "shown"), tuple(zip(CODES, SHOWN, strict=True)), ids=["in", "back"]
)
def test_a_program_of_the_page_prints_what_the_page_shows(
    code: str, shown: str, tmp_path: Path
) -> None:
    run = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"]
    done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout == shown
