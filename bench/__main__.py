"""``python -m bench [NAME ...]`` measures, writes ``bench/results`` and renews all tables.

``python -m bench tables`` renews them from the results that are there. ``python -m bench gpu``,
``gpu_bundle`` and those of :data:`COMMANDS` are commands of their own.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path

ON_GPUS = ("gpu", "gpu_bundle")
"""They need no Halide, which all others import."""

COMMANDS: Mapping[str, str] = {
    **{
        name: f"bench.cost_quality.{name}"
        for name in ("again", "errors", "fit", "five", "found", "ranks", "renew")
    },
    "first": "bench.cost_quality.first_found",
    **{
        name: f"bench.{name}"
        for name in (
            "cluster",
            "gallery",
            "halide_pipelines",
            "hlpipe",
            "instructions",
            "kills",
            "large_store",
            "tuning_minutes",
            "tuning_noise",
            "tuning_regret",
        )
    },
}
"""The modules of commands, each with a ``main`` of its arguments."""


def main(arguments: list[str]) -> None:
    """Runs a command, or the named measurements."""
    name = arguments[0] if arguments else ""
    if name in ON_GPUS:
        importlib.import_module("bench.gpu.command").main(arguments)
    elif name in COMMANDS:
        importlib.import_module(COMMANDS[name]).main(arguments[1:])
    elif arguments == ["tables"]:
        importlib.import_module("bench.report").renew_pages(Path())
    else:
        importlib.import_module("bench.measurements").main(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
