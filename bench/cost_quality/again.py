"""How far measured schedules can be trusted: some of them are measured again on another day.

``python -m bench again`` times all schedules of each tenth pipeline of the gallery once more
(:data:`STEP`), and says how well the two times agree. No cost model can rank the schedules of a
pipeline better than a second measurement does. Names measure these pipelines. The times are kept in
``bench/results/cost_quality/again.json``, pipeline by pipeline; the next start goes on.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from bench.contenders import inputs_of
from bench.cost_quality import gallery_file_of
from bench.cost_quality.collecting import measure_all
from bench.cost_quality.devices import OtherProcessorError
from bench.cost_quality.pricing import Timed, common_device, timed
from bench.cost_quality.records import FOLDER, records
from bench.cost_quality.scores import regret, spearman
from bench.cost_quality.split import gallery_name
from bench.cost_quality.subjects import Subject, space_of
from bench.machine import processor
from spaces.apps.files import write_text
from spaces.apps.gallery.catalog import GALLERY
from spaces.constraints.devices.device import CpuDevice, host_cpu

FILE = FOLDER / "again.json"
"""The second times, in the order of the records."""

STEP = 10
"""One of this many pipelines of the gallery is measured again."""


def main(arguments: list[str]) -> None:
    """Measures what is missing, and prints how well both days agree."""
    parser = argparse.ArgumentParser(prog="python -m bench again", description=__doc__)
    parser.add_argument("name", nargs="*", type=gallery_name, help="of the gallery")
    names = parser.parse_args(arguments).name or sorted(GALLERY)[::STEP]
    document = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    for name in names:
        first = timed(records(gallery_file_of(name)))
        if name not in document:
            document[name] = {
                "day": datetime.date.today().isoformat(),
                "cpu": processor(),
                "ratios": measure_again(name, first, host_cpu()),
            }
            write_text(FILE, json.dumps(document, indent=1) + "\n")
        print(f"{name}: {shown(agreement(first, document[name]))}", flush=True)
    found = [agreement(timed(records(gallery_file_of(name))), document[name]) for name in names]
    median, *_ = (statistics.median(column) for column in zip(*found, strict=True))
    print(f"Spearman between the days: median {median:.3f}, least {min(found)[0]:.3f}")


def measure_again(name: str, first: Sequence[Timed], here: CpuDevice) -> list[float | None]:
    """The times of schedules beside that of the one that took as long as the reference, as the
    median over rounds; None for one that does not end in time.

    Args:
        name: of the pipeline.
        first: its schedules, as they were measured before.
        here: the processor of this machine.

    Raises:
        OtherProcessorError: they were measured on another one.
    """
    there = common_device(first)
    if there != here:
        raise OtherProcessorError(
            f"The schedules of {name} were measured on {there}, and this is {here}: two days of "
            "one processor say how far its times can be trusted. Measure them again there."
        )
    usual = min(first, key=lambda one: abs(math.log(one.ratio)))
    pipeline = usual.pipeline
    space = space_of(pipeline)
    subject = Subject(name, pipeline, space, usual.schedule, [], inputs_of(name))
    found = measure_all(subject, [one.schedule for one in first])
    return [one.ratio if math.isfinite(one.ratio) else None for one in found]


def agreement(first: Sequence[Timed], second: Mapping[str, Any]) -> tuple[float, float]:
    """Spearman's correlation of the times of both days, and by how much the schedule that was the
    fastest on the first day is slower than the fastest of the second.
    """
    before = [one.ratio for one in first]
    after = [math.inf if one is None else one for one in second["ratios"]]
    return spearman(before, after), regret(before, after, top=1)


def shown(agreed: tuple[float, float]) -> str:
    """``Spearman 0.95, the fastest of the first day is 2% slower``."""
    correlation, loss = agreed
    return f"Spearman {correlation:.3f}, the fastest of the first day is {loss:.1%} slower"
