"""The first step: a loop nest becomes a loop program, with what it requires of its buffers."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from backend.lowering.hints import ALL_BUT_HINTS, is_hinted
from backend.lowering.prefetch import prefetches
from backend.lowering.sizes import product
from backend.lowering.statements import EMPTY, block, map_all, map_bodies
from backend.lowering.updates import updates_of
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
    Stop,
    Together,
    Update,
)
from spaces.model import loopnest
from spaces.model.accumulation import operand_of
from spaces.model.definitions import expanded
from spaces.model.domain_order import Split, Tail
from spaces.model.explicit_bounds import declared
from spaces.model.expr import Call, Const, Expr, component_names, constant, logical, walk
from spaces.model.loopnest import Compute, HoistedStorage, Loop, LoopNest, Node, Produce
from spaces.model.pipeline import Function, Pipeline, size_variable
from spaces.model.placement import Bounds
from spaces.model.regions import Interval, Ranges
from spaces.model.required import required
from spaces.model.rewrite import rewrite, substitute
from spaces.model.simplify import Simplifier
from spaces.model.splits import factor_expr, resolved_tails, tail_of_writes
from spaces.model.traversal import loop_ranges
from spaces.model.types import Int32
from spaces.model.undefined import is_nothing


def start(nest: LoopNest) -> LoopProgram:
    """The program of a loop nest: ``Provide`` and ``Call`` over coordinates, guards as ``If``."""
    pipeline = nest.pipeline
    images = (
        BufferParameter(i.name, i.type, i.dimensions, False, pipeline.steps(i.name, i.dimensions))
        for i in pipeline.images
    )
    outputs = (
        BufferParameter(buffer, type, len(f.args), True, pipeline.steps(f.name, len(f.args)))
        for f in map(pipeline.function, pipeline.outputs)
        for buffer, type in zip(f.buffers, f.types, strict=True)
    )
    sizes = _sizes_of_tuples(pipeline)
    program = LoopProgram(
        name=pipeline.name,
        buffers=(*images, *outputs),
        scalars=tuple(ScalarParameter(s.name, s.type) for s in pipeline.scalars),
        requirements=(*_promises(pipeline), *_requirements(nest), *_alike(pipeline)),
        body=_statements(nest.body, nest.bounds),
        assumptions=tuple(map(expanded, nest.assumptions)),
        hinted=is_hinted(v for f in pipeline.functions for s in f.stages for v in s.values),
    )
    return program if not sizes else _renamed(program, sizes)


def _statements(nodes: tuple[Node, ...], bounds: Bounds) -> Statement:
    return block(*(_statement(node, bounds) for node in nodes))


_HOISTED = "{}.hoisted"
"""The buffer whose memory the storage of a Func takes."""


def _statement(node: Node, bounds: Bounds) -> Statement:
    match node:
        case Loop(var=var):
            body = block(*prefetches(bounds, var), _statements(node.body, bounds))
            return For(var.var, var.min, var.extent, var.kind, body, var.partition)
        case Produce():
            return _statements(node.body, bounds)
        case HoistedStorage():
            return _hoisted(node, bounds)
        case loopnest.Allocate():
            return _allocate(node, bounds)
        case Compute():
            updates = updates_of(bounds, node.func, node.stage)
            statement = block(*_stops(node), _assignment(node, updates))
            for predicate in reversed(node.predicates):
                statement = If(_by_array(expanded(predicate)), statement)
            for guard in reversed(node.guards):
                statement = If(guard.condition, statement)
            return statement


def _stops(node: Compute) -> Iterator[Statement]:
    """Where what a computation requires does not hold, the program stops."""
    for one in required(*node.args, *node.values):
        values = tuple(_by_array(expanded(value)) for value in one.values)
        stop = Stop(one.message, values)
        yield If(_by_array(expanded(logical("not", one.condition))), stop)


def _assignment(node: Compute, updates: tuple[Update, ...]) -> Statement:
    """What a computation stores, if anything; from here on the components of a Tuple are arrays of
    their own. Those that are updated take no notice of each other, and need not change together.
    """
    args = tuple(_by_array(expanded(a)) for a in node.args)
    names = component_names(node.func, len(node.values))
    if updates:
        operands = (
            _by_array(expanded(operand_of(value, update.operator, node.func), ALL_BUT_HINTS))
            for value, update in zip(node.values, updates, strict=True)
        )
        parts = zip(names, operands, updates, strict=True)
        return block(*(Provide(name, args, operand, update) for name, operand, update in parts))
    stored = tuple(
        Provide(name, args, _by_array(expanded(value, ALL_BUT_HINTS)))
        for name, value in zip(names, node.values, strict=True)
        if not is_nothing(value)
    )
    changes = tuple(p for p in stored if p.value is not Call(p.value.type, p.func, args))
    if len(changes) == 1:
        return changes[0]
    return Together(changes) if changes else EMPTY


def _by_array(value: Expr) -> Expr:
    """The value with every read of a component naming the array that holds it."""

    def named(node: Expr) -> Expr:
        if isinstance(node, Call) and node.component is not None:
            return Call(node.type, node.buffer, node.args)
        return node

    return rewrite(value, named)


def _hoisted(node: HoistedStorage, bounds: Bounds) -> Statement:
    """The memory for each component, one inside the other."""
    names = component_names(node.func, len(node.types))
    statement = _within(frozenset(names), _statements(node.body, bounds))
    for name, type in reversed(tuple(zip(names, node.types, strict=True))):
        statement = Allocate(
            buffer=_HOISTED.format(name),
            type=type,
            memory=node.memory,
            elements=product(node.extents),
            body=statement,
            mins=tuple(constant(0, Int32) for _ in node.extents),
            extents=node.extents,
            folds=tuple(None for _ in node.extents),
            order=tuple(range(len(node.extents))),
        )
    return statement


def _within(buffers: frozenset[str], statement: Statement) -> Statement:
    """The statement with the storage of a Func in the memory hoisted for it."""
    inside = map_bodies(statement, lambda inner: _within(buffers, inner))
    if isinstance(inside, Allocate) and inside.buffer in buffers:
        return evolve(inside, within=_HOISTED.format(inside.buffer))
    return inside


def _allocate(node: loopnest.Allocate, bounds: Bounds) -> Statement:
    """An allocation for each component, one inside the other."""
    statement = _statements(node.body, bounds)
    for name, type in reversed(tuple(zip(node.buffers, node.types, strict=True))):
        statement = Allocate(
            buffer=name,
            type=type,
            memory=node.memory,
            elements=product(node.extents),
            body=statement,
            mins=node.mins,
            extents=node.extents,
            folds=node.folds,
            order=node.order,
        )
    return statement


def _tuples(pipeline: Pipeline) -> Iterator[Function]:
    """The outputs that are Tuples."""
    functions = (pipeline.function(name) for name in pipeline.outputs)
    return (f for f in functions if len(f.types) > 1)


def _sizes_of_tuples(pipeline: Pipeline) -> dict[str, Expr]:
    """The sizes of a Tuple that is an output are those of the array of its first component."""
    return {
        size_variable(f.name, part, d).name: size_variable(f.buffers[0], part, d)
        for f in _tuples(pipeline)
        for d in range(len(f.args))
        for part in ("min", "extent")
    }


def _renamed(program: LoopProgram, names: dict[str, Expr]) -> LoopProgram:
    """The program with variables replaced."""
    return evolve(
        program,
        requirements=tuple(
            evolve(r, condition=substitute(r.condition, names)) for r in program.requirements
        ),
        assumptions=tuple(substitute(a, names) for a in program.assumptions),
        body=map_all(program.body, lambda expr: substitute(expr, names)),
    )


def over_arrays(pipeline: Pipeline, conditions: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Conditions on the sizes of outputs and images as programs write them: of their arrays."""
    names = _sizes_of_tuples(pipeline)
    return tuple(substitute(expanded(c), names) for c in conditions)


def _alike(pipeline: Pipeline) -> Iterator[Requirement]:
    """The arrays of one Tuple lie at the same coordinates."""
    for f in _tuples(pipeline):
        for buffer in f.buffers[1:]:
            for d in range(len(f.args)):
                for part in ("min", "extent"):
                    first, other = (size_variable(b, part, d) for b in (f.buffers[0], buffer))
                    yield Requirement(
                        first == other,
                        f"{f.buffers[0]} and {buffer} hold the values of one Tuple, so dimension "
                        f"{d} of both must begin at the same coordinate and have as many elements.",
                    )


def _promises(pipeline: Pipeline) -> Iterator[Requirement]:
    """What is promised of integers; promises of floats are kept by who takes the arguments."""
    for promise in pipeline.promises:
        if not any(n.type.is_float for n in walk(promise.condition)):
            yield Requirement(expanded(promise.condition), promise.message)


def _requirements(nest: LoopNest) -> tuple[Requirement, ...]:
    found = [
        *_least_extents(nest.pipeline, nest),
        *_declared(nest),
        *_bounded_storage(nest),
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
                if not isinstance(record, Split) or record.old not in function.args:
                    continue
                if tail_of_writes(tail) is not Tail.SHIFT_INWARDS:
                    continue
                d = function.args.index(record.old)
                yield Requirement(
                    size_variable(name, "extent", d) >= factor_expr(record.factor),
                    f"{name}.{record.old} is split by {record.factor} with the tail "
                    f"{tail}, so dimension {d} of output {name} must have at least "
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


def _bounded_storage(nest: LoopNest) -> Iterator[Requirement]:
    """What is stored of a Func fits the storage bounds given for it."""
    for name, placement in nest.placements.items():
        args, simplify = placement.function.args, nest.simplify
        loops = placement.path[: placement.store_depth]
        whole = Ranges(simplify, loop_ranges(loops, simplify))
        for bound in nest.schedule.of(name).storage_bounds:
            d = args.index(bound.dimension)
            most = whole.of(simplify(placement.storage.needed(d))).max
            if most is not None and not simplify.at_most(most, constant(bound.extent, Int32)):
                yield Requirement(
                    most <= constant(bound.extent, Int32),
                    f"The storage of {name} is bounded by {bound.extent} along {bound.dimension}, "
                    "but more is needed; give it a larger bound, or ask for a smaller output.",
                )


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
