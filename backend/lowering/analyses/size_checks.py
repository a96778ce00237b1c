"""The conditions that a program puts on the sizes of its images and outputs, and the promises of
its pipeline.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import reduce

from spaces.backend.ir.program import SizeCheck
from spaces.model.algorithm.pipeline import Pipeline, size_variable
from spaces.model.algorithm.predicates import limits_nothing
from spaces.model.expressions.definitions import expanded
from spaces.model.expressions.expr import Const, Expr, constant, walk
from spaces.model.expressions.types import Int32
from spaces.model.formulas.interval import Interval
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.float_limits import float_limits
from spaces.model.nest.largest import largest
from spaces.model.nest.loopnest import LoopNest
from spaces.model.nest.splits import factor_expr, resolved_tails, tail_of_writes
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.domain_order import Fuse, Split, Tail
from spaces.model.schedules.explicit_bounds import declared
from spaces.model.schedules.schedule import StageOf


def size_checks(nest: LoopNest) -> tuple[SizeCheck, ...]:
    """The conditions that must hold in a call, each once, without those that always hold."""
    found = (
        *_promises(nest.pipeline),
        *_least_extents(nest),
        *_declared(nest),
        *_bounded_storage(nest),
        *_fused(nest),
        *_inside("output", nest.outputs, nest),
        *_inside("image", nest.inputs, nest),
        *_alike(nest.pipeline),
        *_floats(nest),
    )
    return tuple(dict.fromkeys(found))


def _promises(pipeline: Pipeline) -> Iterator[SizeCheck]:
    """The promises about integers; the code that takes the arguments checks promises about
    floats.
    """
    for promise in pipeline.promises:
        if not any(n.type.is_float for n in walk(promise.condition)):
            yield SizeCheck(expanded(promise.condition), promise.message)


def _least_extents(nest: LoopNest) -> Iterator[SizeCheck]:
    """A dimension that shifts its last tile inwards must be at least as large as one tile."""
    for name in nest.pipeline.outputs:
        function = nest.pipeline.function(name)
        for index, order in enumerate(nest.schedule.of(name).stages):
            stage = function.stages[index]
            tails = resolved_tails(stage, order, is_update=index > 0)
            for record, tail in zip(order.splits, tails, strict=True):
                if not isinstance(record, Split) or record.old not in function.args:
                    continue
                if tail_of_writes(tail) is not Tail.SHIFT_INWARDS:
                    continue
                d = function.args.index(record.old)
                yield SizeCheck(
                    size_variable(name, "extent", d) >= factor_expr(record.factor),
                    f"{name}.{record.old} is split by {record.factor} with the tail "
                    f"{tail}, so dimension {d} of output {name} must have at least "
                    f"{record.factor} elements; give a larger output, a smaller factor, or the "
                    f"tail guard_with_if.",
                )


def _declared(nest: LoopNest) -> Iterator[SizeCheck]:
    """The required region of a Func lies within its declared bounds."""
    for name, placement in nest.placements.items():
        args, simplify = placement.function.args, nest.simplify
        _, limits = declared(args, nest.schedule.of(name), placement.demanded, simplify)
        for claim in limits:
            low, high = claim.required.min, claim.required.max
            if low is None or high is None:
                continue
            text = (
                f"The pipeline needs {name} outside of its bounds along {args[claim.d]}; give it "
                "wider bounds, or pass an output of another size."
            )
            for excess in (claim.low - low, high - claim.high):
                most = _most(excess, placement.path, simplify)
                if most is not None and not simplify.at_most(most, constant(0, Int32)):
                    yield SizeCheck(most <= constant(0, Int32), text)


def _bounded_storage(nest: LoopNest) -> Iterator[SizeCheck]:
    """The stored region of a Func fits its ``bound_storage``."""
    for name, placement in nest.placements.items():
        args, simplify = placement.function.args, nest.simplify
        loops = placement.path[: placement.store_depth]
        for bound in nest.schedule.of(name).storage_bounds:
            d = args.index(bound.dimension)
            most = _most(placement.storage.needed(d), loops, simplify)
            if most is not None and not simplify.at_most(most, constant(bound.extent, Int32)):
                yield SizeCheck(
                    most <= constant(bound.extent, Int32),
                    f"The storage of {name} is bounded by {bound.extent} along {bound.dimension}, "
                    "but more is needed; give it a larger bound, or ask for a smaller output.",
                )


def _most(size: Expr, loops: tuple[LoopVar, ...], simplify: Simplifier) -> Expr | None:
    """The largest value of ``size`` while ``loops`` run; None if no limit is known before."""
    most = largest(simplify(size), loops, simplify)
    return None if any(loop.var.name in most.names for loop in loops) else most


def _fused(nest: LoopNest) -> Iterator[SizeCheck]:
    """An int32 can count the iterations of fused loops. Loops fused first come first, so that no
    check multiplies more than two extents that may be large.
    """
    most = constant(Int32.max_value, Int32)
    for name, placement in nest.placements.items():
        simplify = nest.simplify
        for traversal in placement.stages:
            for step in traversal.steps:
                if not isinstance(step.record, Fuse):
                    continue
                ends = [
                    _most(extent, placement.path, simplify)
                    for _, extent in (step.first, step.second)
                ]
                if any(end is None for end in ends):
                    continue
                iterations = reduce(operator.mul, (end for end in ends if end is not None))
                if not simplify.at_most(iterations, most):
                    yield SizeCheck(
                        iterations <= most,
                        f"{name}.{step.record.fused} has more than {most} iterations, and an "
                        f"{Int32} cannot count them; ask for a smaller output, or do not fuse "
                        f"{step.record.outer} and {step.record.inner}.",
                    )


def _inside(
    kind: str, boxes: dict[str, tuple[Interval, ...]], nest: LoopNest
) -> Iterator[SizeCheck]:
    """Each element of a buffer that the program touches must lie in the buffer."""
    verb = "computes" if kind == "output" else "reads"
    for name, box in boxes.items():
        for d, interval in enumerate(box):
            low, high = interval.min, interval.max
            if low is None or high is None:
                continue
            first = size_variable(name, "min", d)
            last = first + size_variable(name, "extent", d) - 1
            where = f"dimension {d} of {kind} {name}"
            advice = (
                f"tails of the schedule reach there, or updates of the algorithm; give {name} "
                f"a size that the split factors divide and that holds all that is written, or "
                f"choose the tail guard_with_if or shift_inwards."
                if kind == "output"
                else f"pass an array that covers them (sizes= says where it begins), ask for a "
                f"smaller output, or give {name} a boundary condition."
            )
            for condition, end in ((first <= low, "before"), (high <= last, "beyond")):
                simple = nest.simplify(condition)
                if not (isinstance(simple, Const) and simple.value):
                    text = f"The pipeline {verb} elements of {where} {end} its range: {advice}"
                    yield SizeCheck(condition, text + _without_limits(nest, name, d))


def _without_limits(nest: LoopNest, buffer: str, dimension: int) -> str:
    """A sentence about conditions under which a buffer is read, if no limit of the coordinates
    follows from them; empty if there are none.
    """
    found: list[str] = []
    for function in nest.pipeline.functions:
        for index, stage in enumerate(function.stages):
            names = {n for c in stage.calls if c.target == buffer for n in c.args[dimension].names}
            found += (
                f" {StageOf(function.name, index)} reads {buffer} only where `{predicate}`, but no "
                f"limit of the coordinates follows from this condition, so all of the domain "
                f"counts: add conditions that compare sums, or put the "
                f"coordinate into clamp(..., low, high)."
                for predicate in stage.predicates
                if not names.isdisjoint(predicate.names)
                and limits_nothing(predicate, nest.simplify)
            )
    return "".join(dict.fromkeys(found))


def _floats(nest: LoopNest) -> Iterator[SizeCheck]:
    """The floats from which a call computes regions are numbers within limits."""
    for condition in (one for name in nest.placements for one in float_limits(nest.bounds, name)):
        yield SizeCheck(
            condition,
            "The pipeline computes regions from a float that is not a number, too large, or a "
            "divisor near 0; pass other parameters.",
        )


def _alike(pipeline: Pipeline) -> Iterator[SizeCheck]:
    """The arrays of one Tuple lie at the same coordinates."""
    for f in map(pipeline.function, pipeline.outputs):
        for buffer in f.buffers[1:]:
            for d in range(len(f.args)):
                for part in ("min", "extent"):
                    first, other = (size_variable(b, part, d) for b in (f.buffers[0], buffer))
                    yield SizeCheck(
                        first == other,
                        f"{f.buffers[0]} and {buffer} hold the values of one Tuple, so dimension "
                        f"{d} of both must begin at the same coordinate and have as many elements.",
                    )
