"""Schedules as Halide keeps them, to compare what was sent with what came back."""

from __future__ import annotations

from attrs import evolve

from spaces.backend.halide.incoming.tails import with_automatic_tails
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.nest.canonical import CanonicalForm, canonical_form
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import (
    ROOT,
    Alignment,
    Bound,
    FuncSchedule,
    Schedule,
)


def form_in_halide(pipeline: Pipeline, schedule: Schedule) -> CanonicalForm:
    """The form of a schedule with what changes on the way. Tails that a split has anyway are not
    written, nor are orders of storage that change nothing. Remainders are at least 0.
    """
    whole = derived(pipeline, schedule)
    entries = []
    for entry in with_automatic_tails(schedule, whole).funcs:
        args = whole.function(entry.name).args
        order = list(args)
        for moved in entry.storage_orders:
            places = sorted(order.index(name) for name in moved)
            for place, name in zip(places, moved, strict=True):
                order[place] = name
        kept = () if tuple(order) == args else (tuple(order),)
        bounds = tuple(_least_remainder(bound) for bound in entry.bounds)
        entries.append(evolve(entry, storage_orders=kept, bounds=bounds))
    return canonical_form(pipeline, schedule.with_funcs(entries))


def _least_remainder(bound: Bound | Alignment) -> Bound | Alignment:
    if isinstance(bound, Alignment) and bound.remainder is not None:
        return evolve(bound, remainder=bound.remainder % bound.modulus)
    return bound


def placed_entry(entry: FuncSchedule, whole: Pipeline) -> FuncSchedule:
    """An entry as it is applied: Funcs with updates and without a place are computed at root."""
    is_inline = entry.compute.is_inline and entry.name not in whole.outputs
    if is_inline and not whole.function(entry.name).is_pure:
        return evolve(entry, compute=ROOT, store=ROOT)
    return entry


def have_same_loops(first: Pipeline, second: Pipeline) -> bool:
    """Whether two pipelines have Funcs of the same names, with as many stages, and in each stage as
    many RVars of the same extents.
    """
    ours, theirs = (
        {
            function.name: [[rvar.extent for rvar in stage.rvars] for stage in function.stages]
            for function in pipeline.functions
        }
        for pipeline in (first, second)
    )
    return ours == theirs
