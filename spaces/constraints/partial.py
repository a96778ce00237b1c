"""What can be asked of a schedule of which parts are wrong.

What a Func computes and stores follows from its own entry and those of the Funcs that read it. So
the rules are asked of every Func of which these entries are well formed; in the place of the others
stand entries of the default schedule, and nothing is asked of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from spaces.constraints.devices import Device
from spaces.constraints.findings import Asked
from spaces.constraints.judge import ask_bounds, ask_calls, ask_own
from spaces.constraints.rules.bounds import image_overrun
from spaces.constraints.rules.records import Records
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.placement import Bounds
from spaces.model.schedules.schedule import Schedule
from spaces.model.schedules.together import groups


def ask_other_records(
    pipeline: Pipeline, schedule: Schedule, device: Device, broken: Collection[str]
) -> Iterator[Asked]:
    """The checks about records that do not read the entries of ``broken`` Funcs."""
    records = Records(pipeline, _mended(pipeline, schedule, broken), device)
    affected = _affected(pipeline, schedule, broken)
    for function in pipeline.functions:
        if function.name not in broken:
            yield from ask_own(records, function.name)
        if function.name not in affected:
            yield from ask_calls(records, function.name)


def ask_other_nest(
    pipeline: Pipeline, schedule: Schedule, device: Device, broken: Collection[str]
) -> Iterator[Asked]:
    """The checks about the loop nest of Funcs that no ``broken`` Func reads.

    A kernel of theirs lacks the producers whose places are not known, so that it is at least as
    large as found here. What is read of images depends on all Funcs, and is not asked.
    """
    affected = _affected(pipeline, schedule, broken)
    sound = [f.name for f in pipeline.functions if f.name not in affected]
    if not sound:
        return
    try:
        bounds = Bounds(pipeline, _mended(pipeline, schedule, affected))
    except UnboundedError:
        return
    for item in ask_bounds(bounds, device, [name for name in bounds.placements if name in sound]):
        if item.rule is not image_overrun and item.check.func in sound:
            yield item


def _affected(pipeline: Pipeline, schedule: Schedule, broken: Collection[str]) -> frozenset[str]:
    """The ``broken`` Funcs, those that are computed with them, and all that these read, directly or
    through others.
    """
    found, before = set(broken), set[str]()
    while found != before:
        before = set(found)
        for group in groups(schedule):
            if not found.isdisjoint(group):
                found.update(group)
        for function in pipeline.functions:
            if not found.isdisjoint(pipeline.consumers(function.name)):
                found.add(function.name)
    return frozenset(found)


def _mended(pipeline: Pipeline, schedule: Schedule, broken: Collection[str]) -> Schedule:
    """The schedule with entries of the default one for the ``broken`` Funcs, and for none else."""
    given = {entry.name: entry for entry in schedule.funcs if entry.name not in broken}
    default = Schedule.default(pipeline)
    return default.with_funcs(given.get(entry.name, entry) for entry in default.funcs)
