"""Measured schedules grow old: today's compiler makes other code of them.

``python -m bench renew`` times the measured schedules of the gallery, of all random
pipelines and of the apps again, with the code of today on this processor, and writes the new times
in place of the old ones.
Names measure these pipelines. What this processor measured today already, or since ``--since DAY``,
stays: a run that was stopped goes on.

The schedules stay those that were drawn once. A search of today may find others: ``python -m bench
cost_quality`` adds these where a file has fewer than it wants.
"""

from __future__ import annotations

import argparse
import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.contenders import inputs_of
from bench.cost_quality import RANDOM_FILE, SINGLE_FILE, devices, gallery_file_of
from bench.cost_quality import file_of as file_of_app
from bench.cost_quality.collecting import measure_all
from bench.cost_quality.measured_sets import MeasuredSet, members
from bench.cost_quality.pricing import pipeline_named
from bench.cost_quality.random_pipelines import is_random
from bench.cost_quality.records import Record, records, replace
from bench.cost_quality.subjects import APPS, SINGLE, Subject, space_of
from bench.machine import processor
from spaces.backend.arguments import Array
from spaces.backend.measuring.session import MeasuringError
from spaces.constraints.devices.device import host_cpu
from spaces.model.writing.text import parse_schedule


def main(arguments: list[str]) -> None:
    """Measures pipeline by pipeline: first those that prices learn from."""
    parser = argparse.ArgumentParser(prog="python -m bench renew", description=__doc__)
    parser.add_argument("name", nargs="*", help="an app, of the gallery, random_SEED, single_SEED")
    parser.add_argument("--since", metavar="DAY", default=_today(), help="as 2026-11-29")
    given = parser.parse_args(arguments)
    cpu = processor()
    devices.describe(cpu, host_cpu(), devices.FILE)
    require_measured(parser, given.name)
    for name in given.name or _all():
        path, earlier = file_of(name), records_of(name)
        if not any(_is_old(one, cpu, given.since) for one in earlier):
            continue
        try:
            found = measure_recorded(earlier, cpu)
        except MeasuringError as error:
            print(f"{name} keeps its old times: {error}", flush=True)
            continue
        replace(path, found)
        print(f"{name}: {len(found)}", flush=True)


def require_measured(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    """Ends a command with an error if some pipelines have no measured schedules."""
    if unknown := [name for name in names if not records_of(name)]:
        parser.error(
            f"No schedule of {', '.join(unknown)} was measured yet; `python -m bench cost_quality` "
            "measures new ones."
        )


def file_of(name: str) -> Path:
    """The file of the measured schedules of a pipeline."""
    if is_random(name):
        return SINGLE_FILE if name in SINGLE else RANDOM_FILE
    return file_of_app(name) if name in APPS else gallery_file_of(name)


def records_of(name: str) -> list[Record]:
    """The measured schedules of a pipeline; none if there are none."""
    return [one for one in records(file_of(name)) if one.subject == name]


def measure_recorded(earlier: Sequence[Record], cpu: str) -> list[Record]:
    """The measured schedules of one pipeline with times of today. They are timed beside the one
    that took as long as the reference, or ran correctly at all.

    Args:
        earlier: the records, of one pipeline.
        cpu: the name of this processor.

    Raises:
        MeasuringError: that schedule does not run here.
    """
    name = earlier[0].subject
    pipeline = pipeline_named(name)
    schedules = [parse_schedule(one.schedule, pipeline) for one in earlier]
    reference = parse_schedule(reference_of(earlier).schedule, pipeline)
    subject = Subject(name, pipeline, space_of(pipeline), reference, [], inputs_of_subject(name))
    return [
        Record.of(name, old.number, old.origin, old.schedule, new, cpu)
        for old, new in zip(earlier, measure_all(subject, schedules), strict=True)
    ]


def reference_of(earlier: Sequence[Record]) -> Record:
    """Of the measured schedules of a pipeline the one that took as long as the reference."""
    return min(earlier, key=_distance)


def inputs_of_subject(name: str) -> Mapping[str, Array] | None:
    """The arrays of a pipeline for its images; None for random ones."""
    return None if is_random(name) else inputs_of(name)


def _distance(one: Record) -> float:
    return math.inf if one.ratio is None else abs(math.log(one.ratio))


def _is_old(one: Record, cpu: str, since: str) -> bool:
    return one.cpu != cpu or one.day is None or one.day < since


def _all() -> list[str]:
    return [name for each in MeasuredSet for name in members(each)]


def _today() -> str:
    return datetime.date.today().isoformat()
