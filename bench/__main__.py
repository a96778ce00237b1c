"""``python -m bench [NAME ...]`` measures, writes ``bench/results`` and renews all tables;
``python -m bench gpu`` and ``gpu_bundle`` are commands of their own.
"""

from __future__ import annotations

import importlib
import sys

COMMANDS = ("gpu", "gpu_bundle")
"""They need no Halide, which all other measurements import."""


def main(arguments: list[str]) -> None:
    """Runs a command, or the named measurements."""
    if arguments[:1] and arguments[0] in COMMANDS:
        importlib.import_module("bench.gpu.command").main(arguments)
    else:
        importlib.import_module("bench.measurements").main(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
