"""Measures what searches find by some prices, and lets the next fit see it.

Prices that fit all measured schedules may be wrong about others, and a search finds just these: the
ones that cost little because nobody measured them. ``python -m bench found --prices FILE`` searches
for the pipelines that prices are fitted to and chosen by. It times the first schedules that are not
yet measured, and appends them to the files of ``bench/results/cost_quality``. Then ``python -m
bench fit`` sees them. Some rounds of both make prices whose searches find what was measured.

``--set`` takes some sets of pipelines, names some pipelines. Those that only judge are refused.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench.cost_quality import devices
from bench.cost_quality.collecting import measure_all
from bench.cost_quality.drawing import Origin
from bench.cost_quality.first_found import read_prices
from bench.cost_quality.fit import LEARNED_FROM
from bench.cost_quality.measured_sets import MeasuredSet, members
from bench.cost_quality.pricing import pipeline_named
from bench.cost_quality.records import Record, append
from bench.cost_quality.renew import (
    file_of,
    inputs_of_subject,
    records_of,
    reference_of,
    require_measured,
)
from bench.cost_quality.split import refuse_judged
from bench.cost_quality.subjects import Subject, space_of
from bench.machine import processor
from spaces.backend.measuring.session import MeasuringError
from spaces.constraints.devices.device import host_cpu
from spaces.cost.cpu.prices import Prices
from spaces.cost.cpu.reuse import Reuse
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.model.writing.text import format_schedule, parse_schedule

FIRST_NUMBER = -1001
"""The number of the first added schedule of a pipeline; the next ones are below. Incumbents, which
have negative numbers too, are fewer than a thousand.
"""

TOP = 4
"""How many schedules of a search are measured."""

FITTED_OR_CHOSEN_BY = (*LEARNED_FROM, MeasuredSet.CHOOSE)
"""The sets for whose pipelines one searches."""

STRUCTURES = 1000
"""After this many structures a search ends; that gives the same schedules on every machine."""


def main(arguments: list[str]) -> None:
    """Searches for all pipelines, with all cores; then measures, and appends to the files."""
    parser = argparse.ArgumentParser(prog="python -m bench found", description=__doc__)
    parser.add_argument("name", nargs="*", help="an app, of the gallery, random_SEED, single_SEED")
    parser.add_argument("--prices", type=Path, metavar="FILE")
    parser.add_argument("--set", action="append", choices=FITTED_OR_CHOSEN_BY, metavar="SET")
    given = parser.parse_args(arguments)
    refuse_judged(given.name)
    require_measured(parser, given.name)
    sets = given.set or FITTED_OR_CHOSEN_BY
    names = given.name or [n for each in sets for n in members(each) if records_of(n)]
    prices = Prices() if given.prices is None else read_prices(given.prices)
    cpu = processor()
    devices.describe(cpu, host_cpu(), devices.FILE)
    for name in names:  # before the searches, which take long
        check_processor(name, cpu)
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(host_cpu().cores, mp_context=fresh) as pool:
        searched = list(pool.map(find, names, [prices] * len(names)))
    for name, texts in zip(names, searched, strict=True):
        try:
            added = measure_new(name, texts, cpu)
        except MeasuringError as error:
            print(f"{name} is left out: {error}", flush=True)
            continue
        append(file_of(name), added)
        print(f"{name}: {summary(added)}", flush=True)


def find(name: str, prices: Prices) -> list[str]:
    """The first schedules of a search by some prices, as text; none if the search finds none."""
    pipeline = pipeline_named(name)
    limits = Limits(top=TOP, structures=STRUCTURES)
    try:
        found = best(search(space_of(pipeline), Reuse(host_cpu(), prices), limits=limits)).best
    except EmptySpaceError:
        return []
    return [format_schedule(one.schedule, pipeline) for one in found]


def check_processor(name: str, cpu: str) -> None:
    """Checks that the measured schedules of a pipeline ran on a processor.

    Raises:
        OtherProcessorError: some ran on another one.
    """
    if any(one.cpu != cpu for one in records_of(name)):
        raise devices.OtherProcessorError(
            f"The schedules of {name} were measured on another processor than {cpu}, and their "
            f"times do not compare; `python -m bench renew {name}` measures them here."
        )


def measure_new(name: str, texts: Sequence[str], cpu: str) -> list[Record]:
    """The records of those schedules of a pipeline that are not measured yet. They are timed beside
    the same schedule as the others.

    Args:
        name: of a pipeline with measured schedules.
        texts: the schedules.
        cpu: the name of this processor.

    Raises:
        OtherProcessorError: the others were timed on another processor.
        MeasuringError: the reference does not run here.
    """
    check_processor(name, cpu)
    earlier = records_of(name)
    known = {one.schedule for one in earlier}
    new = [text for text in dict.fromkeys(texts) if text not in known]
    if not new:
        return []
    pipeline = pipeline_named(name)
    reference = parse_schedule(reference_of(earlier).schedule, pipeline)
    subject = Subject(name, pipeline, space_of(pipeline), reference, [], inputs_of_subject(name))
    first = min(FIRST_NUMBER, min(one.number for one in earlier) - 1)
    found = measure_all(subject, [parse_schedule(text, pipeline) for text in new])
    return [
        Record.of(name, first - place, Origin.FOUND, text, one, cpu)
        for place, (text, one) in enumerate(zip(new, found, strict=True))
    ]


def summary(added: Sequence[Record]) -> str:
    """How many were added, and their times beside the reference."""
    times = ", ".join("-" if one.ratio is None else f"{one.ratio:.3g}" for one in added)
    return f"{len(added)} new" + (f", {times} times as long as the reference" if times else "")
