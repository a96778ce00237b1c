"""How to start a Python process for a module of this library."""

from __future__ import annotations

import os
import sys


def interpreter() -> str:
    """The path of the Python that runs this process."""
    return sys.executable


def module_command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module. ``-P``: Python does not put the current folder on the path,
    where a ``random.py`` of the user would take the place of the library's.
    """
    return [interpreter(), "-P", "-m", module, *arguments]


def module_environment() -> dict[str, str]:
    """The environment of such a process: it imports what this process can import by name."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
