"""The console script ``spaces``; light, so that Ctrl-C is answered while the rest is loaded."""

from __future__ import annotations

import importlib
import sys

from apps.errors import Interrupted


def main() -> None:
    """Run the command line."""
    try:
        importlib.import_module("apps.command_line.program").program()
    except KeyboardInterrupt:
        print(Interrupted(), file=sys.stderr)
        sys.exit(Interrupted.status)
