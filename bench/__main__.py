"""``python -m bench [NAME ...]`` measures, writes ``bench/results`` and renews all tables.

``python -m bench tables`` renews them from the results that are there. ``python -m bench gpu``,
``cluster``, ``errors``, ``first``, ``fit``, ``five``, ``gpu_bundle``, ``halide_pipelines``,
``hlpipe``, ``kills``, ``large_store``, ``ranks`` and ``tuning_noise`` are commands of their own.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

OF_TUNING = ("cluster", "kills", "large_store", "tuning_noise")
"""They try out how tuning copes with large stores, with kills, and with many machines."""

ON_GPUS = ("gpu", "gpu_bundle")
"""They need no Halide, which all others import."""


def main(arguments: list[str]) -> None:
    """Runs a command, or the named measurements."""
    if arguments[:1] and arguments[0] in ON_GPUS:
        importlib.import_module("bench.gpu.command").main(arguments)
    elif arguments[:1] == ["fit"]:
        importlib.import_module("bench.cost_quality.fit").main(arguments[1:])
    elif arguments[:1] == ["errors"]:
        importlib.import_module("bench.cost_quality.errors").main(arguments[1:])
    elif arguments[:1] == ["five"]:
        importlib.import_module("bench.cost_quality.five").main(arguments[1:])
    elif arguments[:1] == ["first"]:
        importlib.import_module("bench.cost_quality.first_found").main(arguments[1:])
    elif arguments[:1] == ["ranks"]:
        importlib.import_module("bench.cost_quality.ranks").main(arguments[1:])
    elif arguments[:1] and arguments[0] in OF_TUNING:
        importlib.import_module(f"bench.{arguments[0]}").main(arguments[1:])
    elif arguments[:1] == ["hlpipe"]:
        importlib.import_module("bench.hlpipe").main(arguments[1:])
    elif arguments[:1] == ["halide_pipelines"]:
        importlib.import_module("bench.halide_pipelines").main(arguments[1:])
    elif arguments == ["tables"]:
        importlib.import_module("bench.report").renew_pages(Path())
    else:
        importlib.import_module("bench.measurements").main(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
