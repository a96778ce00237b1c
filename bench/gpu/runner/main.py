"""The command line of a bundle's runner."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

from bench.gpu.runner.processes import REFUSED, Died
from bench.gpu.runner.run import WORK, Run
from bench.gpu.runner.times import TURNS
from bench.gpu.runner.worker import work
from spaces.backend.cuda.errors import CudaUnavailable

WITHIN = {"check": 3.0, "time": 6.0}
"""The minutes that a command takes at most unless `--minutes` says others."""

_RESERVE = 3.0
"""Seconds that a command keeps to end."""


def main() -> None:
    """Runs the command line. The exit status is 0 if all is right and timed, 1 if something is
    not, and 2 if nothing can run.
    """
    if sys.argv[1:2] == [WORK]:
        task, folder = json.loads(sys.argv[2]), Path(sys.argv[3])
        try:
            work(folder, task)
        except (ImportError, CudaUnavailable) as error:
            print(f"There is no GPU that can run kernels: {error}.", file=sys.stderr)
            sys.exit(REFUSED)
        sys.stdout.flush()
        os._exit(0)  # Halide's runtime and the driver may not agree on who ends first
    parser = argparse.ArgumentParser(
        prog="run.pyz",
        description="Checks all apps of a bundle on the GPU of this machine, or times them. The "
        "result is written after each app, and stays when another command follows.",
    )
    parser.add_argument("command", choices=tuple(WITHIN))
    parser.add_argument("--bundle", type=Path, default=_own_folder(), help="the bundle's folder")
    parser.add_argument("--apps", nargs="+", metavar="APP", help="these apps alone")
    parser.add_argument("--minutes", type=float, help="the most time, instead of 3 or 6")
    parser.add_argument(
        "--turns", type=int, default=TURNS, help=f"of time: the most turns; else {TURNS}"
    )
    parser.add_argument("-o", type=Path, metavar="FILE", help="the result; else in the bundle")
    given = parser.parse_args()
    minutes = WITHIN[given.command] if given.minutes is None else given.minutes
    end = time.monotonic() + 60 * minutes - _RESERVE
    try:
        run = Run(given.bundle, given.o or given.bundle / "results.json", given.apps, end)
    except (ValueError, Died) as error:
        parser.error(str(error))
    right = run.check() if given.command == "check" else run.time(given.turns)
    print(f"written: {run.file}")
    sys.exit(0 if right else 1)


def _own_folder() -> Path:
    """The folder of the file that runs."""
    return Path(sys.argv[0]).resolve().parent
