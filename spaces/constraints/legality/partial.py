"""What can be asked of a schedule of which parts are wrong.

What a Func computes and stores follows from its own entry and those of the Funcs that read it. So
the rules are asked of every Func of which these entries are well formed; in the place of the others
stand serial loops at root, and nothing is asked of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.judge import ask_bounds, ask_calls, ask_own, bounds_of
from spaces.constraints.rules.bounds import image_overrun
from spaces.constraints.rules.findings import Asked
from spaces.constraints.rules.records import Records
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.fused_groups import groups
from spaces.model.schedules.schedule import FuncSchedule, Schedule


def ask_other_records(
    pipeline: Pipeline, schedule: Schedule, device: Device, broken: Collection[str]
) -> Iterator[Asked]:
    """The checks about records that do not read the entries of ``broken`` Funcs."""
    records = Records(pipeline, mended(pipeline, schedule, broken), device)
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
    bounds = bounds_of(pipeline, mended(pipeline, schedule, affected))
    if isinstance(bounds, Asked):
        if bounds.check.func in sound:
            yield bounds
        return
    for item in ask_bounds(bounds, device, [name for name in bounds.placements if name in sound]):
        if item.rule is not image_overrun and item.check.func in sound:
            yield item


def _affected(pipeline: Pipeline, schedule: Schedule, broken: Collection[str]) -> frozenset[str]:
    """The ``broken`` Funcs, those that are computed with them, and all that these read, directly or
    through others.
    """
    found, before = set(broken), set[str]()
    known = {function.name for function in pipeline.functions}
    while found != before:
        before = set(found)
        for group in groups(schedule):
            if not found.isdisjoint(group):
                found.update(group)
        for function in reversed(pipeline.functions):
            if function.name in found:
                found.update(known.intersection(function.callees))
    return frozenset(found)


def mended(pipeline: Pipeline, schedule: Schedule, broken: Collection[str]) -> Schedule:
    """The schedule with serial loops at root for the ``broken`` Funcs: inlined, they could be there
    a million times in Funcs that are not. It leaves out entries for unknown Funcs.
    """
    given = {entry.name: entry for entry in schedule.funcs if entry.name not in broken}
    default = Schedule.default(pipeline)
    rooted = {f.name: FuncSchedule.default(f, stored=True) for f in pipeline.functions}
    rooted = {name: rooted[name] for name in broken if name in rooted}
    entries = ({**rooted, **given}.get(entry.name, entry) for entry in default.funcs)
    return default.with_funcs(entries)
