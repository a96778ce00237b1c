"""The measurements of ``python -m bench``, and the tables that are made from them."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

from bench import (
    against_autoschedulers,
    against_gpu_autoschedulers,
    against_halide,
    cost_quality,
    gpu_found,
    gpu_static,
    profile_overhead,
    spaces,
    tuned,
)
from bench.machine import machine
from bench.report import RESULTS, renew_pages
from spaces.apps.catalog import APPS
from spaces.apps.files import write_text

AGAINST_HALIDE = "against_halide"
AGAINST_AUTOSCHEDULERS = "against_autoschedulers"
AGAINST_GPU_AUTOSCHEDULERS = "against_gpu_autoschedulers"
GPU_FOUND = "gpu_found"
GPU_STATIC = "gpu_static"
PROFILE_OVERHEAD = "profile_overhead"
TUNED = "tuned"
BY_APP = {
    AGAINST_HALIDE: against_halide,
    AGAINST_AUTOSCHEDULERS: against_autoschedulers,
    AGAINST_GPU_AUTOSCHEDULERS: against_gpu_autoschedulers,
    GPU_FOUND: gpu_found,
    GPU_STATIC: gpu_static,
    PROFILE_OVERHEAD: profile_overhead,
    TUNED: tuned,
}
"""Those that can measure some apps alone."""
BY_PART = {"spaces": spaces, "cost_quality": cost_quality}
"""Those that can measure some parts alone."""

NAMES = (
    "against_default",
    "against_plain",
    AGAINST_HALIDE,
    AGAINST_AUTOSCHEDULERS,
    AGAINST_GPU_AUTOSCHEDULERS,
    GPU_FOUND,
    GPU_STATIC,
    TUNED,
    "against_blas",
    PROFILE_OVERHEAD,
    "throughput",
    "formal",
    "chains",
    *BY_PART,
)


def main(arguments: list[str]) -> None:
    """Runs the named measurements, or all."""
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure, write bench/results, and renew the tables of README.md "
        "and docs/benchmarks.md.",
    )
    parser.add_argument("name", nargs="*", help=f"what to measure, else all: {', '.join(NAMES)}")
    parser.add_argument(
        "--app",
        action="append",
        choices=sorted(APPS),
        metavar="APP",
        help=f"of {', '.join(BY_APP)} measure this app alone; may be given again",
    )
    parser.add_argument(
        "--part",
        action="append",
        choices=tuple(part for module in BY_PART.values() for part in module.PARTS),
        help="of spaces or cost_quality measure this part alone, and keep the others; may be given "
        "again",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        help="of tuned: the most time for an app in this run; a later run goes on",
    )
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.name if name not in NAMES]
    if unknown:
        parser.error(f"There is no measurement {', '.join(unknown)}; there are {', '.join(NAMES)}.")
    if chosen.app and (len(chosen.name) != 1 or chosen.name[0] not in BY_APP):
        parser.error(f"--app is for one of {', '.join(BY_APP)}.")
    if chosen.seconds is not None and chosen.name != [TUNED]:
        parser.error(f"--seconds is for {TUNED} alone.")
    for part in chosen.part or ():
        having = [name for name, module in BY_PART.items() if part in module.PARTS]
        if chosen.name != having:
            parser.error(f"--part {part} is for {having[0]} alone.")
    for name in chosen.name or NAMES:
        print(f"measuring {name} ...", flush=True)
        file = RESULTS / f"{name}.json"
        if chosen.app or name == TUNED:
            is_kept = file.exists()
            earlier = json.loads(file.read_text("utf-8"))["results"]["apps"] if is_kept else {}
            more = {} if chosen.seconds is None else {"seconds": chosen.seconds}
            results = BY_APP[name].measure(chosen.app or (), earlier, **more)
        elif name in BY_PART:
            results = BY_PART[name].measure(chosen.part or (), file)
        else:
            results = importlib.import_module(f"bench.{name}").measure()
        found = {"machine": machine(), "results": results}
        write_text(file, json.dumps(found, indent=2) + "\n")
    renew_pages(Path())
