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


def test_the_program_of_the_page_prints_what_the_page_shows(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    shown, _ = re.findall(r"```text\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    run = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"]
    done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout == shown
