"""How much slower the first schedule of a search is than the fastest that is known, and how much
slower the fastest of its first five is.

``python -m bench first`` searches for each pipeline with measured schedules under the cost model
``reuse``, and times the first five schedules beside the fastest of the measured ones, in the same
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

from attrs import frozen

from bench.contenders import inputs_of
from bench.cost_quality.collecting import measurer_of
from bench.cost_quality.measured_sets import MeasuredSet, by_pipeline, measured_files
from bench.cost_quality.pricing import RANDOM_PREFIX, Timed
from bench.cost_quality.scores import TOP
from bench.cost_quality.subjects import Subject, space_of
from bench.machine import machine
from bench.report import ABOVE, RESULTS
from spaces.apps.files import write_text
from spaces.constraints.devices.device import host_cpu
from spaces.cost.cpu.prices import Prices
from spaces.cost.cpu.reuse import Reuse
from spaces.enumerate.search.limits import Limits
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
    found: dict[str, dict[str, Regrets]] = {}
    for (kind, name), measured in by_pipeline(measured_files()).items():
        if kind in sets:
            found.setdefault(kind, {})[name] = once = regrets_of_search(name, measured, model)
            print(f"{kind} {name}: {once.first:.1%}, best of five {once.five:.1%}", flush=True)
    for each, of in found.items():
        print(f"{each}, first: {summary([one.first for one in of.values()])}")
        print(f"{each}, best of five: {summary([one.five for one in of.values()])}")
    if chosen.prices is None:
        earlier = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
        firsts = {each: {n: one.first for n, one in of.items()} for each, of in found.items()}
        fives = {each: {n: one.five for n, one in of.items()} for each, of in found.items()}
        document = {
            "machine": machine(),
            "results": {**earlier.get("results", {}), **firsts},
            "best_of_five": {**earlier.get("best_of_five", {}), **fives},
        }
        write_text(FILE, json.dumps(document, indent=2) + "\n")


@frozen
class Regrets:
    """By how much schedules that a search finds are slower than the fastest one known, as a part of
    the latter's time: 0 if one of them is the fastest, infinite if none ended in time.

    Attributes:
        first: the first schedule.
        five: the fastest of the first :data:`TOP`.
    """

    first: float
    five: float


def read_prices(path: Path) -> Prices:
    """The prices of a file; those that it lacks have their defaults."""
    return Prices(**tomllib.loads(path.read_text("utf-8")))


def regrets_of_search(name: str, measured: Sequence[Timed], model: Reuse) -> Regrets:
    """The regrets of a search for a pipeline with measured schedules."""
    rivals = [one.schedule for one in sorted(measured, key=lambda one: one.ratio)[:RIVALS]]
    pipeline = measured[0].pipeline
    space = space_of(pipeline)
    found = [one.schedule for one in best(search(space, model, limits=Limits(top=TOP))).best]
    inputs = None if name.startswith(RANDOM_PREFIX) else inputs_of(name)
    subject = Subject(name, pipeline, space, rivals[0], rivals, inputs)
    schedules = list(dict.fromkeys([*found, *rivals]))
    with measurer_of(subject) as measurer:
        times = [one.ratio for one in measurer.measure(pipeline, schedules)]
    known = [one if math.isfinite(one) else math.inf for one in times]
    return Regrets(*(_regret(min(known[:count]), min(known)) for count in (1, len(found))))


def _regret(time: float, least: float) -> float:
    return time / least - 1 if math.isfinite(time) else math.inf


def summary(regrets: Sequence[float]) -> str:
    """The median, the largest and how many are above 30 %."""
    above = sum(one > ABOVE for one in regrets)
    return (
        f"{len(regrets)} pipelines, median {statistics.median(regrets):.1%}, largest "
        f"{max(regrets):.0%}, {above} above {ABOVE:.0%}"
    )
