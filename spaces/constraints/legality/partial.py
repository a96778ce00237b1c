"""Judges the well-formed part of a schedule.

The entries of a Func and of its consumers determine what the Func computes and stores. So the rules
judge every Func whose entries here are well formed. Serial loops at root replace the other Funcs,
and no rule judges those.
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
    """The checks about records that read no entry of a ``broken`` Func."""
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

    A kernel here may lack producers whose places are unknown, so that the real kernel is at least
    as large. Rules about image reads depend on all Funcs and do not run.
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
    """The ``broken`` Funcs, their fused groups, and all direct and indirect producers of these."""
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
    """The schedule with serial loops at root for the ``broken`` Funcs, without entries for unknown
    Funcs. Inlined instead, a broken Func could be copied a million times.
    """
    given = {entry.name: entry for entry in schedule.funcs if entry.name not in broken}
    default = Schedule.default(pipeline)
    rooted = {f.name: FuncSchedule.default(f, stored=True) for f in pipeline.functions}
    rooted = {name: rooted[name] for name in broken if name in rooted}
    entries = ({**rooted, **given}.get(entry.name, entry) for entry in default.funcs)
    return default.with_funcs(entries)
