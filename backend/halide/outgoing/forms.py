"""Schedules as Halide keeps them, to compare what was sent with what came back."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from spaces.backend.halide.incoming.tails import with_automatic_tails
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.nest.canonical import CanonicalForm, canonical_form
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import DomainOrder, Fuse, Split
from spaces.model.schedules.schedule import (
    ROOT,
    Alignment,
    Bound,
    FuncSchedule,
    LoopLevel,
    Schedule,
)


def form_in_halide(pipeline: Pipeline, schedule: Schedule) -> CanonicalForm:
    """The form of a schedule with what changes on the way: tails that a split has anyway are not
    written, nor are orders of storage that change nothing; remainders are at least 0.
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


def with_rvars_of(pipeline: Pipeline, schedule: Schedule, other: Pipeline) -> Schedule:
    """A schedule of ``other`` as one of ``pipeline``, which has the same Funcs and stages, but
    other names of RVars: those of factored reductions have other names in Halide.
    """
    names: dict[str, list[dict[str, str]]] = {}
    for function in pipeline.functions:
        pairs = zip(other.function(function.name).stages, function.stages, strict=True)
        names[function.name] = [
            dict(zip((r.name for r in theirs.rvars), (r.name for r in ours.rvars), strict=True))
            for theirs, ours in pairs
        ]
    return Schedule(tuple(_renamed_entry(entry, names) for entry in schedule.funcs))


def _renamed_entry(entry: FuncSchedule, names: Mapping[str, list[dict[str, str]]]) -> FuncSchedule:
    def level(given: LoopLevel) -> LoopLevel:
        for stage in names.get(given.func, ()):
            if given.loop in stage:
                return evolve(given, loop=stage[given.loop])
        return given

    own = names[entry.name]
    return evolve(
        entry,
        stages=tuple(_renamed(order, own[n]) for n, order in enumerate(entry.stages)),
        compute=level(entry.compute),
        store=level(entry.store),
        hoist=level(entry.hoist),
        specializations=tuple(
            evolve(case, order=_renamed(case.order, own[case.stage]))
            for case in entry.specializations
        ),
        companions=tuple(
            evolve(
                one,
                loop=own[one.stage].get(one.loop, one.loop),
                aligned=tuple((own[one.stage].get(n, n), align) for n, align in one.aligned),
            )
            for one in entry.companions
        ),
    )


def _renamed(order: DomainOrder, names: Mapping[str, str]) -> DomainOrder:
    def record(given: Split | Fuse) -> Split | Fuse:
        if isinstance(given, Split):
            return evolve(given, old=now(given.old), outer=now(given.outer), inner=now(given.inner))
        return evolve(given, inner=now(given.inner), outer=now(given.outer), fused=now(given.fused))

    def now(name: str) -> str:
        return names.get(name, name)

    return evolve(
        order,
        splits=tuple(map(record, order.splits)),
        loops=tuple(evolve(loop, name=now(loop.name)) for loop in order.loops),
        partitions=tuple(evolve(one, loop=now(one.loop)) for one in order.partitions),
        prefetches=tuple(
            evolve(one, at=now(one.at), origin=now(one.origin)) for one in order.prefetches
        ),
    )
