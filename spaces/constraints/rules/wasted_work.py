"""Advice on schedules that compute the same again, or let most lanes of a vector or warp rest.

Such a schedule is legal, and computes the right values. Advice that depends on sizes uses the
estimates.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from functools import partial, reduce

from spaces.constraints.rules.directive_text import (
    bound_directive,
    level_directive,
    split_directive,
)
from spaces.constraints.rules.gpu_kernels import kernels_of
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import stage_name
from spaces.constraints.rules.rule import Check, Quantity, advice_rule, check
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.counts import extent_of
from spaces.model.nest.splits import loop_dimensions
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.domain_order import LoopKind, Split

_ONE = constant(1, Int32)

_LANES = (LoopKind.VECTORIZED, LoopKind.GPU_THREAD)


@advice_rule(
    "advice.computed-again",
    "A Func inside a loop that does not move its region wastes work if each iteration computes "
    "more values than it uses, because every iteration computes the same values.",
    "An iteration computes all that it reads, and all of a `bound`; nothing is kept for the next "
    "one [RK13 3.2].",
    values=Quantity("values that each iteration computes", "values"),
    used=Quantity("iterations of the reader in each of them", "iterations"),
    visits=Quantity("iterations that compute the same values", "iterations"),
)
def computed_again(view: NestView, func: str) -> Iterator[Check]:
    """At most one check, for a Func inside loops that do not move its region."""
    if view.records.is_inlined(func):
        return
    placement, entry = view.placement(func), view.records.entry(func)
    again = _loops_without_effect(view, func)
    extents, path = _fixed_extents(view, func), placement.path
    if not again or not extents or len(extents) < len(placement.function.args):
        return
    values, visits = _product(view, extents.values(), ()), _product(view, _iterations(again), path)
    reader, used = _most_used(view, func)
    outer = path[: len(path) - len(again)]
    place = f"{outer[-1].func}.{outer[-1].loop}" if outer else "root"
    bounds = [bound_directive(func, bound) for bound in entry.bounds]
    remedy = "Compute {func} at {place}"
    if bounds:
        remedy += ", or leave out {bounds}, which asks for all of it each time"
    yield Check(
        func,
        (visits <= _ONE) | (values <= used),
        "{directive} computes the same {values} values of {func} again in each of {visits} "
        "iterations of {loop}, for {used} iterations of {reader} each time.",
        remedy + ".",
        loop=entry.compute.loop,
        values={
            "directive": level_directive(func, "compute", entry.compute),
            "values": values,
            "visits": visits,
            "loop": f"{again[0].func}.{again[0].loop}",
            "used": used,
            "reader": reader,
            "place": place,
            "bounds": ", ".join(bounds),
        },
    )


@advice_rule(
    "advice.whole-dimension",
    "A loop that walks along a dimension and computes all of a Func along it in each iteration "
    "wastes work if that is more than the iteration uses, because others compute the same values.",
    "Fused loops walk along two dimensions at a time, and the region is a box [RK13 4.2].",
    extent=Quantity("coordinates along the dimension", "coordinates"),
    used=Quantity("iterations of the reader in each of them", "iterations"),
)
def whole_dimension(view: NestView, func: str) -> Iterator[Check]:
    """One check for each dimension that the innermost loop around a Func walks along in vain."""
    if view.records.is_inlined(func) or not view.placement(func).path:
        return
    placement, entry = view.placement(func), view.records.entry(func)
    loop, path = placement.path[-1], placement.path
    if placement.storage.slides or _loops_without_effect(view, func):
        return
    extents, (reader, used) = _fixed_extents(view, func), _most_used(view, func)
    for dimension in _walked_in_vain(view, func, loop):
        if dimension not in extents:
            continue
        yield Check(
            func,
            (loop.extent <= _ONE) | (extents[dimension] <= used),
            "{directive} computes all {extent} coordinates of {func} along {dimension} in each "
            "iteration of {loop}, for {used} iterations of {reader} each time.",
            "Compute {func} at {place}, or at a loop whose iterations need a part of {dimension}.",
            loop=entry.compute.loop,
            values={
                "directive": level_directive(func, "compute", entry.compute),
                "extent": extents[dimension],
                "dimension": dimension,
                "loop": f"{loop.func}.{loop.loop}",
                "used": used,
                "reader": reader,
                "place": f"{path[-2].func}.{path[-2].loop}" if len(path) > 1 else "root",
            },
        )


def _walked_in_vain(view: NestView, func: str, loop: LoopVar) -> Iterator[str]:
    """The dimensions of a Func along which a loop does not move the region that is computed, though
    the stage of the loop reads there at coordinates that move with the loop.
    """
    placement = view.placement(func)
    stage = view.placement(loop.func).function.stages[loop.stage]
    order = view.records.entry(loop.func).stages[loop.stage]
    walked = set(loop_dimensions(stage, order)[loop.loop])
    calls = [call for call in stage.calls if call.target == func]
    pairs = zip(placement.function.args, placement.storage.target, strict=True)
    for d, (dimension, interval) in enumerate(pairs):
        ends = [end for end in (interval.min, interval.max) if end is not None]
        is_fixed = not any(loop.var.name in end.names for end in ends)
        if is_fixed and any(not walked.isdisjoint(call.args[d].names) for call in calls):
            yield dimension


def _fixed_extents(view: NestView, func: str) -> dict[str, Expr]:
    """How much a visit computes along each dimension, where that is the same in all visits."""
    placement = view.placement(func)
    moving = {loop.var.name for loop in placement.path}
    extents = {
        arg: extent_of(i.min, i.max, view.nest.simplify)
        for arg, i in zip(placement.function.args, placement.storage.target, strict=True)
        if i.min is not None and i.max is not None
    }
    return {arg: extent for arg, extent in extents.items() if moving.isdisjoint(extent.names)}


def _loops_without_effect(view: NestView, func: str) -> tuple[LoopVar, ...]:
    """The innermost loops around a Func, outermost first, that do not move what it computes."""
    placement = view.placement(func)
    if not placement.path or placement.storage.slides:
        return ()
    ends = (end for i in placement.storage.target for end in (i.min, i.max) if end is not None)
    names = frozenset[str]().union(*(end.names for end in ends))
    count = 0
    while count < len(placement.path) and placement.path[-1 - count].var.name not in names:
        count += 1
    return placement.path[len(placement.path) - count :]


def _most_used(view: NestView, func: str) -> tuple[str, Expr]:
    """The stage that reads a Func in the most iterations of one visit, and how many."""
    depth = len(view.placement(func).path)
    readers = [use for use in view.nest.levels.uses(func) if use[0] != func]
    counts = [
        _product(view, _iterations(view.paths(name)[stage][depth:]), view.paths(name)[stage])
        for name, stage in readers
    ]
    return stage_name(*readers[0]), view.simplify(reduce(fn.max, counts))


def _iterations(loops: Iterable[LoopVar]) -> list[Expr]:
    return [loop.extent for loop in loops]


def _product(view: NestView, numbers: Iterable[Expr], loops: tuple[LoopVar, ...]) -> Expr:
    """The largest product of some numbers while loops run."""
    return view.simplify(
        reduce(operator.mul, (view.largest(number, loops) for number in numbers), _ONE)
    )


@advice_rule(
    "advice.idle-lanes",
    "A split by more than twice the iterations of its loop wastes lanes of a vectorized inner loop "
    "or a thread loop, because most of them have no iteration.",
    "The last tile of a split has as many iterations as its factor.",
    factor=Quantity("factor of the split", "iterations"),
    extent=Quantity("iterations of the loop that it splits", "iterations"),
)
def idle_lanes(view: NestView, func: str) -> Iterator[Check]:
    """One check for each split that makes a vectorized loop or a thread loop."""
    if view.records.is_inlined(func):
        return
    placement = view.placement(func)
    for stage, traversal in enumerate(placement.stages):
        order = view.records.entry(func).stages[stage]
        for index, step in enumerate(traversal.steps):
            record = step.record
            if not isinstance(record, Split) or record.inner not in order.names:
                continue
            if order.kind(record.inner) not in _LANES:
                continue
            extent = view.largest(step.first[1], (*placement.path, *traversal.loops))
            factor = step.second[1]
            is_vector = order.kind(record.inner) is LoopKind.VECTORIZED
            yield check(
                func,
                factor <= extent * 2,
                "{directive} makes {factor} {lanes} of {loop}, which has {extent} iterations: the "
                "other {lanes} do nothing.",
                "Split by {extent} or less, or take a longer loop for them.",
                stage=stage,
                loop=record.old,
                directive=partial(split_directive, view.records, func, stage, index),
                factor=factor,
                lanes="lanes" if is_vector else "threads",
                extent=extent,
            )


@advice_rule(
    "advice.partial-warp",
    "A kernel of several blocks with less than half as many threads as a warp wastes lanes, "
    "because no two blocks share a warp.",
    "CUDA C++ Programming Guide, SIMT architecture: a warp has 32 threads of one block.",
    threads=Quantity("threads of a block", "threads"),
    warp=Quantity("threads of a warp", "threads"),
    blocks=Quantity("blocks of the kernel", "blocks"),
)
def partial_warp(view: NestView, func: str) -> Iterator[Check]:
    """One check for each kernel that the Func begins."""
    for gpu, kernel in kernels_of(view, func):
        path = view.paths(kernel.func)[kernel.stage]
        blocks = _product(view, kernel.grid, path)
        threads, warp = view.simplify(kernel.threads_per_block), gpu.warp_threads
        yield check(
            func,
            (threads * 2 >= warp) | (blocks * threads <= warp),
            "A block of the kernel of {stage_name} has {threads} threads, and a warp of {device} "
            "{warp}: in each of {blocks} blocks the other lanes do nothing.",
            "Give blocks at least {warp} threads, for instance by larger tiles.",
            stage=kernel.stage,
            stage_name=stage_name(kernel.func, kernel.stage),
            threads=threads,
            device=gpu.name,
            warp=warp,
            blocks=blocks,
        )


RULES = (computed_again, whole_dimension, idle_lanes, partial_warp)
