"""Completes a schedule that leaves some Funcs open."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from attrs import define, field

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.argument_checks import check_given
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule

CompletionEnd: TypeAlias = Literal["all", "limit", "unknown"]
"""Whether what was found is all there is; or there is more than was asked for; or the time was up.
"""


@define
class Completions:
    """The legal completions of a partial schedule, found lazily and always in the same order.

    Attributes:
        space: the partial schedule, with the options of the Funcs it leaves open.
        limit: the largest number of completions; None for all.
        seconds: the time limit, which begins with the first completion.
        end: how the iteration ended; None before its end.
    """

    space: ScheduleSpace
    limit: int | None = None
    seconds: float = 60.0
    end: CompletionEnd | None = field(init=False, default=None)

    def __iter__(self) -> Iterator[Schedule]:
        """The completions; each call starts again."""
        self.end = None
        deadline = Deadline.after(self.seconds)
        found = iter(self.space)
        for given in itertools.count():
            try:
                with deadline.kept():
                    schedule = next(found, None)
            except OutOfTime:
                self.end = "unknown"
                return
            if schedule is None:
                self.end = "all"
                return
            if given == self.limit:
                self.end = "limit"
                return
            yield schedule


def complete(
    pipeline: Pipeline,
    partial: Schedule,
    device: Device,
    *,
    options: Options | None = None,
    sizes: Sequence[Mapping[Any, Any]] = (),
    limit: int | None = None,
    seconds: float = 60.0,
) -> Completions:
    """The legal schedules that keep the entries of ``partial``.

    Args:
        pipeline: the algorithm.
        partial: a schedule with entries for some of its Funcs; the others are open. See
            :func:`open_funcs` to take Funcs out of a schedule.
        device: the device that the schedules are for.
        options: the choices for open Funcs; by default :meth:`Options.small`, few enough to list.
        sizes: further sizes, each a mapping as ``pipeline(..., estimates=...)`` takes: completions
            are legal at them, too.
        limit: the largest number of completions.
        seconds: the time limit.

    Raises:
        ValueError: an entry of ``partial`` does not fit a Func of the pipeline, or ``sizes`` do not
            fit its outputs.
        TypeError: an argument is not a Pipeline, Schedule or Device, or ``sizes`` is no list of
            mappings.
    """
    check_given("complete", pipeline=pipeline, schedule=partial, device=device)
    chosen = Options.small(device) if options is None else options
    space = ScheduleSpace(derived(pipeline, partial), device, chosen, partial, sizes=sizes)
    return Completions(space, limit, seconds)


def open_funcs(schedule: Schedule, *funcs: str) -> Schedule:
    """The schedule without the entries of ``funcs``; the result leaves them open.

    Raises:
        KeyError: the schedule has no entry for one of ``funcs``.
    """
    for name in funcs:
        schedule.of(name)
    return schedule.with_funcs(entry for entry in schedule.funcs if entry.name not in funcs)
