"""The console script ``spaces``; light, so that it answers Ctrl-C while it loads the rest."""

from __future__ import annotations

import importlib
import sys

from spaces.apps.errors import Interrupted


def main() -> None:
    """Runs the command line."""
    try:
        importlib.import_module("spaces.apps.command_line.program").program()
    except KeyboardInterrupt:
        print(Interrupted(), file=sys.stderr)
        sys.exit(Interrupted.status)
