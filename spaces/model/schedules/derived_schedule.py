"""Schedules with one more derivation: entries of the Func that it adds."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derivations import Clone, Derivation, RFactor
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import DomainOrder
from spaces.model.schedules.rfactor import factored_orders
from spaces.model.schedules.schedule import INLINE, SETTINGS, FuncSchedule, Schedule


def with_derivation(pipeline: Pipeline, schedule: Schedule, step: Derivation) -> Schedule:
    """``schedule`` with one more derivation, and an entry for the Func that it adds; one without
    loops where it cannot be applied.
    """
    given = attrs.evolve(schedule, derivations=(*schedule.derivations, step))
    before, after = derived(pipeline, schedule), derived(pipeline, given)
    entries = {entry.name: entry for entry in schedule.funcs}
    if step.name not in entries:
        stages = 2 if isinstance(step, RFactor) else 1
        entries[step.name] = FuncSchedule(step.name, (DomainOrder(),) * stages)
    if len(after.functions) > len(before.functions):
        entries |= _new_entries(before, after, entries, step)
    known = [f.name for f in after.functions if f.name in entries]
    rest = [name for name in entries if name not in known]
    return given.with_funcs(entries[name] for name in (*known, *rest))


def _new_entries(
    before: Pipeline, after: Pipeline, entries: Mapping[str, FuncSchedule], step: Derivation
) -> dict[str, FuncSchedule]:
    """The entry of the Func that ``step`` adds, and the changed entry of its source."""
    added = after.function(step.name)
    entry = FuncSchedule.default(added, not added.is_pure)
    match step:
        case Clone() if step.func in entries:
            source = entries[step.func]
            made = {step.name: attrs.evolve(source, name=step.name)}
            if not after.consumers(step.func):  # nobody reads it any more
                unread = attrs.evolve(source, compute=INLINE, store=INLINE, hoist=INLINE)
                made[step.func] = attrs.evolve(unread, **SETTINGS)
            return made
        case RFactor() if step.func in entries:
            source, index = entries[step.func], step.update + 1
            orders = factored_orders(before.function(step.func), step, source.stages[index])
            stages = (*source.stages[:index], orders.merging, *source.stages[index + 1 :])
            return {
                step.name: attrs.evolve(entry, stages=(entry.stages[0], orders.partial)),
                step.func: attrs.evolve(source, stages=stages),
            }
    return {step.name: entry}
