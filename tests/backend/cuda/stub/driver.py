"""Builds the stub driver."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SOURCE = Path(__file__).parent / "libcuda.cpp"


def build_driver(folder: Path) -> None:
    """Makes ``libcuda.so.1`` in a folder."""
    flags = ("-O1", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    library = folder / "libcuda.so.1"
    subprocess.run(["g++", *flags, "-o", library, SOURCE, "-ldl"], check=True)


def with_driver(folder: Path, **settings: str) -> dict[str, str]:
    """The environment of a process that finds the driver of a folder."""
    return {**os.environ, "LD_LIBRARY_PATH": str(folder), **settings}
