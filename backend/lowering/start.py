"""The first step: a loop nest becomes a loop program, with what it requires of its buffers."""

from __future__ import annotations

from collections.abc import Iterator

from backend.lowering.sizes import product
from backend.lowering.statements import block
from backend.program import (
    Allocate,
    BufferParameter,
    For,
    If,
    LoopProgram,
    Provide,
    Requirement,
    ScalarParameter,
    Statement,
)
from spaces.model import loopnest
from spaces.model.explicit_bounds import declared
from spaces.model.expr import Const, constant
from spaces.model.loopnest import Compute, Loop, LoopNest, Node, Produce
from spaces.model.pipeline import Pipeline, size_variable
from spaces.model.regions import Interval, Ranges
from spaces.model.schedule import Split, Tail
from spaces.model.simplify import Simplifier
from spaces.model.splits import factor_expr, resolved_tails
from spaces.model.traversal import loop_ranges
from spaces.model.types import Int32


def start(nest: LoopNest) -> LoopProgram:
    """The program of a loop nest: ``Provide`` and ``Call`` over coordinates, guards as ``If``."""
    pipeline = nest.pipeline
    images = (BufferParameter(i.name, i.type, i.dimensions, False) for i in pipeline.images)
    outputs = (
        BufferParameter(f.name, f.type, len(f.args), True)
        for f in map(pipeline.function, pipeline.outputs)
    )
    return LoopProgram(
        name=pipeline.name,
        buffers=(*images, *outputs),
        scalars=tuple(ScalarParameter(s.name, s.type) for s in pipeline.scalars),
        requirements=_requirements(nest),
        body=_statements(nest.body),
    )


def _statements(nodes: tuple[Node, ...]) -> Statement:
    return block(*(_statement(n) for n in nodes))


def _statement(node: Node) -> Statement:
    match node:
        case Loop(var=var):
            return For(var.var, var.min, var.extent, var.kind, _statements(node.body))
        case Produce():
            return _statements(node.body)
        case loopnest.Allocate():
            return _allocate(node)
        case Compute():
            statement: Statement = Provide(node.func, node.args, node.value)
            for guard in reversed(node.guards):
                statement = If(guard.condition, statement)
            return statement


def _allocate(node: loopnest.Allocate) -> Allocate:
    return Allocate(
        buffer=node.func,
        type=node.type,
        memory=node.memory,
        elements=product(node.extents),
        body=_statements(node.body),
        mins=node.mins,
        extents=node.extents,
        folds=node.folds,
        order=node.order,
    )


def _requirements(nest: LoopNest) -> tuple[Requirement, ...]:
    found = [
        *_least_extents(nest.pipeline, nest),
        *_declared(nest),
        *_inside("output", nest.outputs, nest.simplify),
        *_inside("image", nest.inputs, nest.simplify),
    ]
    return tuple(dict.fromkeys(r for r in found if r.condition is not _TRUE))


_TRUE = Simplifier()(constant(0, Int32) <= constant(0, Int32))


def _least_extents(pipeline: Pipeline, nest: LoopNest) -> Iterator[Requirement]:
    """What shifts its last tile inwards must be at least as large as one tile."""
    for name in pipeline.outputs:
        function = pipeline.function(name)
        for index, order in enumerate(nest.schedule.of(name).stages):
            stage = function.stages[index]
            tails = resolved_tails(stage, order, is_update=index > 0)
            for record, tail in zip(order.splits, tails, strict=True):
                if not isinstance(record, Split) or tail is not Tail.SHIFT_INWARDS:
                    continue
                if record.old not in function.args:
                    continue
                d = function.args.index(record.old)
                yield Requirement(
                    size_variable(name, "extent", d) >= factor_expr(record.factor),
                    f"{name}.{record.old} is split by {record.factor} with the tail "
                    f"shift_inwards, so dimension {d} of output {name} must have at least "
                    f"{record.factor} elements; give a larger output, a smaller factor, or the "
                    f"tail guard_with_if.",
                )


def _declared(nest: LoopNest) -> Iterator[Requirement]:
    """What is required of a Func lies within its bounds."""
    for name, placement in nest.placements.items():
        args, simplify = placement.function.args, nest.simplify
        _, said = declared(args, nest.schedule.of(name), placement.demanded, simplify)
        whole = Ranges(simplify, loop_ranges(placement.path, simplify))
        for claim in said:
            low, high = claim.required.min, claim.required.max
            if low is None or high is None:
                continue
            text = (
                f"{name} is required outside of what its bounds along {args[claim.d]} say; give it "
                "bounds that hold all that is required, or pass an output of another size."
            )
            for excess in (claim.low - low, high - claim.high):
                most = whole.of(simplify(excess)).max
                if most is not None and not simplify.at_most(most, constant(0, Int32)):
                    yield Requirement(most <= constant(0, Int32), text)


def _inside(
    kind: str, boxes: dict[str, tuple[Interval, ...]], simplify: Simplifier
) -> Iterator[Requirement]:
    """What is touched of a buffer must lie in it."""
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
                text = f"The pipeline {verb} elements of {where} {end} its range: {advice}"
                simple = simplify(condition)
                is_known = isinstance(simple, Const) and bool(simple.value)
                yield Requirement(_TRUE if is_known else condition, text)
