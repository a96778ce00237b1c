"""``spaces enumerate``, ``sample`` and ``rank``: single schedules of a space."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Annotated, TypeVar

import typer
from attrs import define

from spaces.apps.catalog import find
from spaces.apps.command_line.checking import faultless
from spaces.apps.command_line.collected import Collected
from spaces.apps.command_line.console import complain, line
from spaces.apps.command_line.options import (
    MOST,
    AppName,
    ScheduleFile,
    Seed,
    given_schedule,
)
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.command_line.progress import Reporter
from spaces.apps.command_line.space import (
    Limit,
    Most,
    SpaceArguments,
)
from spaces.apps.errors import CommandError
from spaces.enumerate.space.completing.emptiness import explain_empty
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.amounts import amount
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule

T = TypeVar("T")

Number = Annotated[int, typer.Option("--count", min=1, max=MOST, help="Draw this many schedules.")]
Seconds = Annotated[
    float | None, typer.Option("--seconds", min=0, help="Stop after this time with those found.")
]


@command(
    "enumerate",
    "Print legal schedules, always in the same order.",
    "enumerate blur --limit 3",
    "enumerate harris --limit 0 --seconds 5",
    "enumerate toy_sum --device sm_80 --options small --limit 0 --json",
)
def enumerate_schedules(
    app: AppName,
    asked: SpaceArguments,
    limit: Limit = 10,
    seconds: Seconds = None,
    as_json: AsJson = False,
) -> None:
    """Print legal schedules, always in the same order."""
    deadline = Deadline.after(seconds)
    listed = find(app)
    space = asked.make_space(listed)
    in_time = _InTime(itertools.islice(space, limit or None), deadline)
    found = Collected(format_schedule(schedule, space.pipeline) for schedule in in_time)
    texts: list[str] = []
    with Reporter(seconds) as reporter:
        for number, text in enumerate(found, start=1):
            if as_json:
                texts.append(text)
                reporter.show("enumerating", {"legal schedules": number})
            else:
                line(f"# {number}\n{text}")
        number = in_time.passed
    if as_json:
        report = {"app": app, "device": asked.device, "interrupted": found.interrupted}
        report |= {"out_of_time": in_time.is_over}
        line(json.dumps(report | {"schedules": texts}, indent=2))
        found.stop()
        return
    found.stop()
    if in_time.is_over:
        complain(
            f"Printed {amount(number, 'schedule')} in {seconds:g} s; there may be more: see "
            "--seconds."
        )
    elif not number:
        raise CommandError(str(explain_empty(space)))
    elif limit:
        complain(f"Printed {amount(number, 'schedule')}; there may be more: see --limit.")


@command(
    "sample",
    "Print random legal schedules.",
    "sample blur --count 3 --seed 7",
    "sample unsharp --device sm_80 --seconds 5 --json",
)
def sample(
    app: AppName,
    asked: SpaceArguments,
    count: Number = 1,
    seed: Seed = 0,
    seconds: Most = 30.0,
    as_json: AsJson = False,
) -> None:
    """Print random legal schedules. The same one may come twice. With --options small all have the
    same chance.
    """
    listed = find(app)
    space = asked.make_space(listed)
    try:
        drawn = _sampled(space, count, seed, seconds)
    except (EmptySpaceError, TimeoutError, ValueError) as error:
        raise CommandError(str(error)) from None
    texts = [format_schedule(schedule, space.pipeline) for schedule in drawn]
    if as_json:
        report = {"app": app, "device": asked.device, "seed": seed, "schedules": texts}
        line(json.dumps(report, indent=2))
        return
    for number, text in enumerate(texts, start=1):
        line(f"# {number}\n{text}")


def _sampled(space: ScheduleSpace, count: int, seed: int, seconds: float) -> list[Schedule]:
    """Random legal schedules, with progress."""
    drawn: list[Schedule] = []
    with Reporter(seconds) as reporter:
        for sampled in space.sampling(count, seed, seconds=seconds):
            drawn = sampled.schedules
            funnel = {"schedules drawn": sampled.tried, "legal": len(drawn)}
            reporter.show("sampling", funnel, step=(len(drawn), count))
    return drawn


@command(
    "rank",
    "Print the place of a legal schedule in its space.",
    "rank toy_sum --options small --schedule my.sched",
)
def rank(
    app: AppName,
    schedule: ScheduleFile,
    asked: SpaceArguments,
    seconds: Most = 60.0,
    as_json: AsJson = False,
) -> None:
    """Print the place of a legal schedule among those that the command enumerate prints, from 0."""
    found = find(app)
    space = asked.make_space(found)
    given = faultless(space.pipeline, given_schedule(found, space.pipeline, schedule), space.device)
    try:
        place = _ranked(space, given, seconds)
    except (ValueError, TimeoutError) as error:
        raise CommandError(str(error)) from None
    if as_json:
        line(json.dumps({"app": app, "device": asked.device, "rank": place}, indent=2))
        return
    line(f"{place:,}")


def _ranked(space: ScheduleSpace, schedule: Schedule, seconds: float) -> int:
    """The rank of a schedule, with progress."""
    before = 0
    with Reporter(seconds) as reporter:
        for totals in space.ranking(schedule, seconds=seconds):
            before = totals.before
            funnel = {"structures judged": totals.structures, "legal schedules before": before}
            reporter.show("ranking", funnel)
    return before


@define
class _InTime(Iterable[T]):
    """Iterates over ``items`` until a deadline.

    Attributes:
        passed: the number of items passed on so far.
        is_over: whether the deadline ended the iteration.
    """

    items: Iterator[T]
    deadline: Deadline
    passed: int = 0
    is_over: bool = False

    def __iter__(self) -> Iterator[T]:
        while True:
            try:
                with self.deadline.kept():
                    item = next(self.items)
            except StopIteration:
                return
            except OutOfTime:
                self.is_over = True
                return
            self.passed += 1
            yield item
