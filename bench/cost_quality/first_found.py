"""How much slower the first schedule that a search finds is than the fastest that is known.

``python -m bench first`` searches for each pipeline with measured schedules under the cost model
``reuse``, and times the first schedule beside the fastest of the measured ones, in the same
rounds. It writes ``bench/results/first_found.json``; with ``--set`` it does some sets of pipelines
and keeps the others. ``--prices`` searches with the prices of a file, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tomllib
from collections.abc import Sequence
from pathlib import Path

from bench.contenders import inputs_of
from bench.cost_quality.collecting import measurer_of
from bench.cost_quality.measured_sets import MeasuredSet, by_pipeline, measured_files
from bench.cost_quality.pricing import RANDOM_PREFIX, Timed
from bench.cost_quality.subjects import Subject, space_of
from bench.machine import machine
from bench.report import ABOVE, RESULTS
from spaces.apps.files import write_text
from spaces.constraints.devices.device import host_cpu
from spaces.cost.cpu.prices import Prices
from spaces.cost.cpu.reuse import Reuse
from spaces.enumerate.search.search import best, search

FILE = RESULTS / "first_found.json"

RIVALS = 3
"""How many of the fastest measured schedules are timed again."""


def main(arguments: list[str]) -> None:
    """Measures, prints, and writes the file if the prices are those of the library."""
    parser = argparse.ArgumentParser(prog="python -m bench first", description=__doc__)
    parser.add_argument("--set", action="append", choices=tuple(MeasuredSet), metavar="SET")
    parser.add_argument("--prices", type=Path, metavar="FILE")
    chosen = parser.parse_args(arguments)
    prices = Prices() if chosen.prices is None else read_prices(chosen.prices)
    model = Reuse(host_cpu(), prices)
    sets = chosen.set or list(MeasuredSet)
    found: dict[str, dict[str, float]] = {}
    for (kind, name), measured in by_pipeline(measured_files()).items():
        if kind in sets:
            found.setdefault(kind, {})[name] = once = regret_of_first(name, measured, model)
            print(f"{kind} {name}: {once:.1%}", flush=True)
    for each, of in found.items():
        print(f"{each}: {summary(list(of.values()))}")
    if chosen.prices is None:
        earlier = json.loads(FILE.read_text("utf-8"))["results"] if FILE.exists() else {}
        document = {"machine": machine(), "results": {**earlier, **found}}
        write_text(FILE, json.dumps(document, indent=2) + "\n")


def read_prices(path: Path) -> Prices:
    """The prices of a file; those that it lacks have their defaults."""
    return Prices(**tomllib.loads(path.read_text("utf-8")))


def regret_of_first(name: str, measured: Sequence[Timed], model: Reuse) -> float:
    """By how much the first schedule of a search is slower than the fastest one known, as a part of
    the latter's time; 0 if it is the fastest itself, infinite if it did not end in time.
    """
    rivals = [one.schedule for one in sorted(measured, key=lambda one: one.ratio)[:RIVALS]]
    pipeline = measured[0].pipeline
    space = space_of(pipeline)
    first = best(search(space, model)).best[0].schedule
    inputs = None if name.startswith(RANDOM_PREFIX) else inputs_of(name)
    subject = Subject(name, pipeline, space, rivals[0], rivals, inputs)
    schedules = list(dict.fromkeys([first, *rivals]))
    with measurer_of(subject) as measurer:
        times = [one.ratio for one in measurer.measure(pipeline, schedules)]
    known = [one if math.isfinite(one) else math.inf for one in times]
    return known[0] / min(known) - 1 if math.isfinite(known[0]) else math.inf


def summary(regrets: Sequence[float]) -> str:
    """The median, the largest and how many are above 30 %."""
    above = sum(one > ABOVE for one in regrets)
    return (
        f"{len(regrets)} pipelines, median {statistics.median(regrets):.1%}, largest "
        f"{max(regrets):.0%}, {above} above {ABOVE:.0%}"
    )
