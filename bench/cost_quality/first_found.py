"""How much slower what a search finds is than the fastest schedule that is known: its first
schedule, the fastest of its first five, and the fastest of five by price alone.

``python -m bench first`` searches for each pipeline with measured schedules under the cost model
``reuse``. It times the first five schedules, and the five that the search hands over if the model
does not say how far its prices are wrong. The fastest of the measured ones runs beside them in the
same rounds. It writes ``bench/results/first_found.json``; with ``--set`` it does some sets of
pipelines and keeps the others. ``--prices`` searches with the prices of a file, and writes nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from bench.contenders import inputs_of
from bench.cost_quality.collecting import measurer_of
from bench.cost_quality.measured_sets import MeasuredSet, by_pipeline, measured_files
from bench.cost_quality.pricing import Timed
from bench.cost_quality.random_pipelines import is_random
from bench.cost_quality.scores import TOP
from bench.cost_quality.subjects import Subject, space_of
from bench.machine import machine
from bench.report import ABOVE, RESULTS
from spaces.apps.files import write_text
from spaces.constraints.devices.device import host_cpu
from spaces.cost.batch import Batch
from spaces.cost.cpu.prices import Prices
from spaces.cost.cpu.reuse import Reuse
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.features.features import Features
from spaces.model.formulas.symbolic import SymbolicNumber

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
            print(f"{kind} {name}: {shown(once)}", flush=True)
    for each, of in found.items():
        for what, regrets in columns(of).items():
            print(f"{each}, {what}: {summary(list(regrets.values()))}")
    if chosen.prices is None:
        document = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
        document["machine"] = machine()
        for each, of in found.items():
            for what, regrets in columns(of).items():
                document.setdefault(what, {})[each] = regrets
        write_text(FILE, json.dumps(document, indent=2) + "\n")


@frozen
class Regrets:
    """By how much schedules that a search finds are slower than the fastest one known, divided by
    its time. It is 0 if one of them is the fastest, infinite if none ended in time.

    Attributes:
        first: the first schedule.
        five: the fastest of the first :data:`TOP`.
        cheapest: the fastest of as many from a search by a model without errors.
    """

    first: float
    five: float
    cheapest: float


def shown(regrets: Regrets) -> str:
    """``1.0%, best of five 0.5%, of those by price alone 1.0%``."""
    return (
        f"{regrets.first:.1%}, best of five {regrets.five:.1%}, "
        f"of those by price alone {regrets.cheapest:.1%}"
    )


def columns(found: Mapping[str, Regrets]) -> dict[str, dict[str, float]]:
    """The regrets of some pipelines by the names that the file has for them."""
    return {
        "results": {name: one.first for name, one in found.items()},
        "best_of_five": {name: one.five for name, one in found.items()},
        "best_of_five_by_price": {name: one.cheapest for name, one in found.items()},
    }


@frozen
class WithoutErrors:
    """The model ``reuse``, which does not say how far its prices are wrong."""

    model: Reuse
    adds_nests: bool = True

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        """The costs of the model."""
        return self.model.cost(batch)

    def price(self, features: Features) -> SymbolicNumber:
        """The price of the model."""
        return self.model.price(features)

    def least(self, features: Features) -> SymbolicNumber:
        """The lower bound of the model."""
        return self.model.least(features)


def read_prices(path: Path) -> Prices:
    """The prices of a file; those that it lacks have their defaults."""
    return Prices(**tomllib.loads(path.read_text("utf-8")))


def regrets_of_search(name: str, measured: Sequence[Timed], model: Reuse) -> Regrets:
    """The regrets of a search for a pipeline with measured schedules."""
    rivals = [one.schedule for one in sorted(measured, key=lambda one: one.ratio)[:RIVALS]]
    pipeline = measured[0].pipeline
    space = space_of(pipeline)
    limits = Limits(top=TOP)
    found = [one.schedule for one in best(search(space, model, limits=limits)).best]
    plain = best(search(space, WithoutErrors(model), limits=limits)).best
    cheapest = [one.schedule for one in plain]
    inputs = None if is_random(name) else inputs_of(name)
    subject = Subject(name, pipeline, space, rivals[0], rivals, inputs)
    schedules = list(dict.fromkeys([*found, *cheapest, *rivals]))
    with measurer_of(subject) as measurer:
        ratios = [one.ratio for one in measurer.measure(pipeline, schedules)]
    times = {
        schedule: ratio if math.isfinite(ratio) else math.inf
        for schedule, ratio in zip(schedules, ratios, strict=True)
    }
    least = min(times.values())
    together = (found[:1], found, cheapest)
    return Regrets(*(_regret(min(times[one] for one in some), least) for some in together))


def _regret(time: float, least: float) -> float:
    return time / least - 1 if math.isfinite(time) else math.inf


def summary(regrets: Sequence[float]) -> str:
    """The median, the largest and how many are above 30 %."""
    above = sum(one > ABOVE for one in regrets)
    return (
        f"{len(regrets)} pipelines, median {statistics.median(regrets):.1%}, largest "
        f"{max(regrets):.0%}, {above} above {ABOVE:.0%}"
    )
