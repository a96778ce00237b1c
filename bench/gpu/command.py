"""``python -m bench gpu`` and ``python -m bench gpu_bundle``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.gpu.bundle import RUNNER, make
from bench.gpu.making import ARCH, HALIDE, Making
from bench.gpu.random_cases import CASES, names
from bench.gpu.runner.card import Card
from spaces.apps.catalog import APPS
from spaces.backend.cuda.errors import CudaUnavailable

MADE = Path("build/gpu_bundle")
"""Where ``gpu`` makes a bundle."""

MINUTES = 30.0
"""The most time of ``gpu`` unless `--minutes` says another."""

_CORES_OF_APP = 4
"""One app is made at a time for this many cores."""

MOST_BYTES = 48 << 20
"""The most bytes of a bundle that travels."""


def main(arguments: list[str]) -> None:
    """Runs one of the two commands; the exit status is that of the runner."""
    command, *rest = arguments
    if command == "gpu":
        sys.exit(_gpu(rest))
    _bundle(rest)


def _parser(command: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m bench {command}", description=description)
    parser.add_argument(
        "--apps", nargs="+", choices=sorted(APPS), metavar="APP", help="these apps; else all"
    )
    parser.add_argument(
        "--random",
        type=int,
        metavar="N",
        help=f"so many random pipelines are checked, too; else {CASES}, or none with --apps",
    )
    parser.add_argument(
        "--schedules",
        type=Path,
        metavar="FOLDER",
        help="APP.sched of this folder is our found schedule; apps without one are searched",
    )
    parser.add_argument(
        "--halide", nargs="*", choices=HALIDE, default=HALIDE, help="Halide's schedules; else all"
    )
    return parser


def _bundle(arguments: Sequence[str]) -> None:
    parser = _parser(
        "gpu_bundle",
        "Make a folder with all that checking and timing the apps on a GPU needs. No GPU is "
        f"needed. On the machine with the GPU run {RUNNER} of the folder.",
    )
    parser.add_argument("--arch", default=ARCH, help=f"of the machine code; else {ARCH}")
    parser.add_argument("-o", type=Path, required=True, metavar="FOLDER", help="the bundle")
    given = parser.parse_args(arguments)
    making = Making(given.o, arch=given.arch, schedules=given.schedules, halide=tuple(given.halide))
    apps = make(making, _subjects(given), processes=_processes())
    nbytes = bytes_of(given.o)
    print(f"{given.o}: {len(apps)} pipelines, {nbytes / (1 << 20):.1f} MB")
    if nbytes > MOST_BYTES:
        sys.exit(f"The bundle is larger than {MOST_BYTES >> 20} MB; take fewer apps.")


def _gpu(arguments: Sequence[str]) -> int:
    parser = _parser(
        "gpu", "Check all apps on the GPU of this machine, then time them, and write a result."
    )
    parser.add_argument("--minutes", type=float, default=MINUTES, help="the most time in all")
    parser.add_argument(
        "--bundle", type=Path, help="a bundle that is already made; else one is made"
    )
    parser.add_argument("-o", type=Path, required=True, metavar="FILE", help="the result")
    given = parser.parse_args(arguments)
    start = time.monotonic()
    end = start + 60 * given.minutes
    folder, apps = given.bundle, given.apps
    if folder is None:
        folder = MADE
        try:
            arch = Card().arch
        except (ImportError, CudaUnavailable) as error:
            parser.error(f"There is no GPU that can run kernels: {error}.")
        making = Making(folder, arch=arch, schedules=given.schedules, halide=tuple(given.halide))
        half = start + 30 * given.minutes
        apps = make(making, _subjects(given), half, _processes())
        if not apps:
            sys.exit("No app was made in half of the minutes; give more.")
    checked = _run("check", folder, apps, (end - time.monotonic()) / 3, given.o)
    return max(checked, _run("time", folder, apps, end - time.monotonic(), given.o))


def _subjects(given: argparse.Namespace) -> list[str]:
    """The apps and the random pipelines of a bundle."""
    count = (0 if given.apps else CASES) if given.random is None else given.random
    return [*(given.apps or APPS), *names(count)]


def _processes() -> int:
    """How many apps this machine makes at the same time."""
    return max((os.cpu_count() or 1) // _CORES_OF_APP, 1)


def _run(command: str, folder: Path, apps: Sequence[str] | None, seconds: float, file: Path) -> int:
    """Runs a command of the bundle's runner, and returns its exit status."""
    chosen = ["--apps", *apps] if apps else []
    limit = ["--minutes", str(seconds / 60), "-o", str(file)]
    return subprocess.run(
        [sys.executable, str(folder / RUNNER), command, *chosen, *limit], check=False
    ).returncode


def bytes_of(folder: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
