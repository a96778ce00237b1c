"""Whether five schedules chosen by the errors of prices are faster than the five cheapest.

``python -m bench five`` asks this of the measured schedules, and measures nothing. It takes each
schedule of a pipeline in turn for the one that a search found. As the search does, it then chooses
four of those that cost at least as much and at most :data:`WORTH` times as much; ``--within`` gives
another limit. The regret is how much slower the fastest of the five is than the fastest of all that
could be chosen. A pipeline counts by the mean over its schedules. Where five or fewer can be
chosen, there is no choice, and the case is left out. The case in which the search found the
cheapest schedule of all stands beside it.

It prints the table and writes ``bench/results/best_of_five.json``, but only with the usual limit.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from attrs import frozen

from bench.cost_quality.errors import parts_of
from bench.cost_quality.measured_sets import MeasuredSet, by_pipeline, measured_files
from bench.cost_quality.pricing import Timed
from bench.cost_quality.scores import TOP
from bench.report import RESULTS
from spaces.apps.files import write_text
from spaces.cost.cpu.fitted_errors import ERRORS
from spaces.cost.errors import PriceParts
from spaces.enumerate.search.companions import WORTH
from spaces.enumerate.search.fastest_together import choose_together
from spaces.enumerate.search.structure_distance import strip_factors

FILE = RESULTS / "best_of_five.json"

MOST = 60
"""How many schedules of a pipeline are taken, the cheapest ones."""

LARGEST = 1.0
"""A larger regret counts as this one: a schedule that did not end has an infinite time."""

RULES = ("first", "cheapest", "chosen")
"""The first schedule alone, the five cheapest, and five chosen by the errors of their prices."""

Priced: TypeAlias = tuple[float, PriceParts, float]
"""The price of a schedule, its parts, and its time over that of the reference."""


@frozen
class Regrets:
    """How much slower the fastest of some schedules is than the fastest of all, for each rule.

    Attributes:
        cases: how many schedules were taken for the one that a search found.
        regrets: the mean over these cases.
        of_cheapest: the case of the cheapest schedule of all; None if it leaves no choice.
    """

    cases: int
    regrets: tuple[float, ...]
    of_cheapest: tuple[float, ...] | None


def main(arguments: list[str]) -> None:
    """Compares, prints, and writes the file."""
    parser = argparse.ArgumentParser(prog="python -m bench five", description=__doc__)
    parser.add_argument("--within", type=float, default=WORTH, metavar="TIMES")
    within = parser.parse_args(arguments).within
    found: dict[str, list[Regrets]] = {each: [] for each in MeasuredSet}
    for (each, _), measured in by_pipeline(measured_files()).items():
        compared = compare(priced(measured), within)
        if compared.cases:
            found[each].append(compared)
    figures = {name: summary(of) for name, of in found.items() if of}
    for name, of_set in figures.items():
        print(f"{name}: {of_set['pipelines']} pipelines, {of_set['cases']} cases")
        for which in ("all_cases", "from_the_cheapest"):
            for rule, figures_of_rule in of_set[which].items():
                print(f"  {which}, {rule}: {figures_of_rule}")
    if within == WORTH:
        write_text(FILE, json.dumps(figures, indent=2) + "\n")


def priced(measured: Sequence[Timed]) -> list[Priced]:
    """The measured schedules of a pipeline, cheapest first; of one structure only the cheapest."""
    found = [
        (sum(parts.values()), parts, one.ratio, strip_factors(one.schedule))
        for one, parts in zip(measured, parts_of(measured), strict=True)
    ]
    kept: dict[object, Priced] = {}
    for cost, parts, ratio, structure in sorted(found, key=lambda one: one[0]):
        kept.setdefault(structure, (cost, parts, ratio))
    return list(kept.values())[:MOST]


def compare(found: Sequence[Priced], within: float) -> Regrets:
    """The regrets of each rule, each schedule in turn taken for the one that a search found."""
    regrets = {
        start: tuple(_regret([near[n] for n in places], near) for places in _places(near))
        for start, near in _candidates(found, within)
    }
    means = tuple(statistics.fmean(of) for of in zip(*regrets.values(), strict=True))
    return Regrets(len(regrets), means, regrets.get(0))


def _candidates(found: Sequence[Priced], within: float) -> Iterator[tuple[int, list[Priced]]]:
    """For the place of each schedule that leaves a choice, the ones that may be chosen: itself
    first.
    """
    for place, first in enumerate(found):
        near = [one for one in found[place:] if one[0] <= within * first[0]]
        if len(near) > TOP and any(math.isfinite(time) for _, _, time in near):
            yield place, near


def _places(candidates: Sequence[Priced]) -> Iterator[Sequence[int]]:
    """What each rule chooses."""
    yield range(1)
    yield range(TOP)
    yield choose_together(ERRORS, [parts for _, parts, _ in candidates], TOP)


def _regret(chosen: Sequence[Priced], candidates: Sequence[Priced]) -> float:
    lost = min(time for _, _, time in chosen) / min(time for _, _, time in candidates) - 1
    return min(lost, LARGEST)


def summary(found: Sequence[Regrets]) -> dict[str, Any]:
    """The figures of a set of pipelines."""
    of_cheapest = [one.of_cheapest for one in found if one.of_cheapest is not None]
    return {
        "pipelines": len(found),
        "cases": sum(one.cases for one in found),
        "all_cases": _by_rule([one.regrets for one in found]),
        "from_the_cheapest": _by_rule(of_cheapest),
    }


def _by_rule(found: Sequence[tuple[float, ...]]) -> dict[str, dict[str, float]]:
    columns = zip(*found, strict=True)
    return {rule: _figures(of) for rule, of in zip(RULES, columns, strict=False)}


def _figures(regrets: Sequence[float]) -> dict[str, float]:
    """The mean, the quartiles and the largest."""
    low, middle, high = np.quantile(regrets, [0.25, 0.5, 0.75])
    named = {
        "mean": statistics.fmean(regrets), "lower_quartile": low, "median": middle,
        "upper_quartile": high, "largest": max(regrets),
    }  # fmt: skip
    return {name: round(float(number), 4) for name, number in named.items()}
