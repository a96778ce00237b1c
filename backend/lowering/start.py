"""The first step: a loop nest becomes a loop program."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from attrs import evolve, frozen

from spaces.backend.ir.node import map_children
from spaces.backend.ir.program import BufferParameter, LoopProgram, ScalarParameter
from spaces.backend.ir.statements import (
    EMPTY,
    Allocate,
    Assert,
    For,
    If,
    Invoke,
    Provide,
    Recall,
    Statement,
    Timed,
    TupleAssignment,
    Update,
    block,
)
from spaces.backend.ir.walk import map_all
from spaces.backend.lowering.analyses.data_indices import wrapping
from spaces.backend.lowering.analyses.hints import ALL_BUT_HINTS, is_hinted
from spaces.backend.lowering.analyses.likely_strides import LikelyStrides
from spaces.backend.lowering.analyses.size_checks import size_checks
from spaces.backend.lowering.analyses.updates import updates_of
from spaces.backend.lowering.prefetch import prefetches
from spaces.backend.lowering.ring_buffers import with_coordinate
from spaces.model.algorithm.foreign import foreign_code
from spaces.model.algorithm.pipeline import Pipeline, size_variable
from spaces.model.algorithm.required import required
from spaces.model.algorithm.undefined import is_nothing
from spaces.model.expressions.definitions import expanded
from spaces.model.expressions.expr import Call, Expr, component_names, constant, logical
from spaces.model.expressions.rewrite import rewrite, substitute
from spaces.model.expressions.types import Int32, Type
from spaces.model.nest import loopnest
from spaces.model.nest.bounds import Bounds
from spaces.model.nest.loopnest import Compute, HoistedStorage, Loop, LoopNest, NestNode, Produce
from spaces.model.recursion import deeper
from spaces.model.schedules.reductions.accumulation import operand_of
from spaces.model.writing.serialize import to_json

UNTIMED: Mapping[str, int] = MappingProxyType({})
"""No Func is timed."""


def start(nest: LoopNest, timed: Mapping[str, int] = UNTIMED) -> LoopProgram:
    """The program of a loop nest: ``Provide`` and ``Call`` over coordinates, guards as ``If``.

    Args:
        nest: the loop nest.
        timed: the Funcs whose time a run counts, each with how many visits have one that is timed.
    """
    pipeline = nest.pipeline
    sizes = sizes_of_tuples(pipeline)
    program = LoopProgram(
        name=pipeline.name,
        buffers=tuple(_parameters(nest)),
        scalars=tuple(ScalarParameter(s.name, s.type) for s in pipeline.scalars),
        size_checks=size_checks(nest),
        body=_statements(nest.body, _Made(nest.bounds, timed)),
        assumptions=tuple(map(expanded, nest.assumptions)),
        hinted=is_hinted(v for f in pipeline.functions for s in f.stages for v in s.values),
    )
    return program if not sizes else _renamed(program, sizes)


def _parameters(nest: LoopNest) -> Iterator[BufferParameter]:
    """The images and the arrays of outputs."""
    pipeline, likely = nest.pipeline, LikelyStrides(nest)
    for i in pipeline.images:
        steps = pipeline.steps(i.name, i.dimensions)
        found = likely.of(i.name, steps)
        yield BufferParameter(i.name, i.type, i.dimensions, False, steps, likely_steps=found)
    for f in map(pipeline.function, pipeline.outputs):
        steps = pipeline.steps(f.name, len(f.args))
        found = likely.of(f.name, steps)
        for buffer, type in zip(f.buffers, f.types, strict=True):
            yield BufferParameter(buffer, type, len(f.args), True, steps, likely_steps=found)


@frozen
class _Made:
    """What a program is made of besides the nodes of the nest: the bounds, and the timed Funcs."""

    bounds: Bounds
    timed: Mapping[str, int]


def _statements(nodes: tuple[NestNode, ...], made: _Made) -> Statement:
    return block(*(_statement(node, made) for node in nodes))


def _recall(func: str, key: tuple[Expr, ...], body: Statement, bounds: Bounds) -> Statement:
    """The statement that computes a memoized Func only if its values are not kept."""
    stored = bounds.allocations[func]
    computed = (func, to_json(bounds.pipeline), to_json(bounds.schedule))
    identity = hashlib.sha256("\0".join(computed).encode()).digest()
    return Recall(identity, key, stored.buffers, stored.types, stored.extents, body)


def _invoked(node: Produce, bounds: Bounds) -> Statement:
    """The call of the foreign code that computes the box of a Func."""
    pipeline = bounds.pipeline
    function = pipeline.function(node.func)
    code = foreign_code(function.stages[0].values)
    assert code is not None
    ends = [(i.min, i.max) for i in node.box if i.min is not None and i.max is not None]
    assert len(ends) == len(node.box), "verify refuses boxes without limits"
    given, scalars = [], dict[int, Expr]()
    for one in code.arguments:
        if isinstance(one, str):
            given.append((*_array(one, bounds), *_held(one, bounds)))
        else:
            arrays = sum(len(buffers) for buffers, *_ in given)
            scalars[arrays + len(scalars)] = expanded(one)
    mins = tuple(low for low, _ in ends)
    extents = tuple(high - low + constant(1, Int32) for low, high in ends)
    given.append((function.buffers, function.types, mins, extents))
    return Invoke(
        code.symbol,
        arrays=tuple(name for buffers, *_ in given for name in buffers),
        types=tuple(type for _, types, *_ in given for type in types),
        counts=tuple(len(mins) for buffers, _, mins, _ in given for _ in buffers),
        outputs=len(function.buffers),
        mins=tuple(low for buffers, _, mins, _ in given for _ in buffers for low in mins),
        extents=tuple(e for buffers, _, _, extents in given for _ in buffers for e in extents),
        scalars=tuple(scalars.values()),
        places=tuple(scalars),
    )


def _array(name: str, bounds: Bounds) -> tuple[tuple[str, ...], tuple[Type, ...]]:
    """The arrays of a Func or image, and their types."""
    if bounds.pipeline.is_image[name]:
        return (name,), (bounds.pipeline.image(name).type,)
    function = bounds.pipeline.function(name)
    return function.buffers, function.types


def _held(name: str, bounds: Bounds) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The coordinates that the array of a Func or image holds: mins and extents."""
    stored = bounds.allocations.get(name)
    if stored is not None:
        return stored.mins, stored.extents
    pipeline = bounds.pipeline
    is_image = pipeline.is_image[name]
    count = pipeline.image(name).dimensions if is_image else len(pipeline.function(name).args)
    mins = tuple(size_variable(name, "min", d) for d in range(count))
    return mins, tuple(size_variable(name, "extent", d) for d in range(count))


_HOISTED = "{}.hoisted"
"""The name of the buffer that holds the memory hoisted for a Func."""


def _statement(node: NestNode, made: _Made) -> Statement:
    bounds = made.bounds
    match node:
        case Loop(var=var):
            body = block(*prefetches(bounds, var), _statements(node.body, made))
            return For(var.var, var.min, var.extent, var.kind, body, var.partition)
        case Produce(func=func) if bounds.pipeline.function(func).is_opaque:
            body = _invoked(node, bounds)
            return body if node.key is None else _recall(func, node.key, body, bounds)
        case Produce():
            body = _statements(node.body, made)
            if node.key is not None:
                body = _recall(node.func, node.key, body, bounds)
            every = made.timed.get(node.func)
            return body if every is None else Timed(node.func, every, body)
        case HoistedStorage():
            return _hoisted(node, made)
        case loopnest.Allocate():
            return _allocate(node, made)
        case Compute():
            updates = updates_of(bounds, node.func, node.stage)
            statement = block(*_assertions(*node.args, *node.values), _assignment(node, updates))
            for predicate in reversed(node.predicates):
                chosen = If(_by_array(expanded(predicate)), statement)
                statement = block(*_assertions(predicate), chosen)
            for guard in reversed(node.guards):
                statement = If(guard.condition, statement)
            return statement


def _assertions(*computed: Expr) -> Iterator[Statement]:
    """Assertions for the requirements of the expressions that a statement computes."""
    for one in required(*computed):
        values = tuple(_by_array(expanded(value)) for value in one.values)
        failing = Assert(one.message, values)
        yield If(_by_array(expanded(logical("not", one.condition))), failing)


def _assignment(node: Compute, updates: tuple[Update, ...]) -> Statement:
    """The stores of a computation, if it has any. From here on, each component of a Tuple is an
    array of its own. Components that are updated in place do not read each other, so they need not
    change together.
    """
    args = tuple(wrapping(_by_array(expanded(a))) for a in node.args)
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
    return TupleAssignment(changes) if changes else EMPTY


def _by_array(value: Expr) -> Expr:
    """The value in which every read of a component names the component's array. Coordinates
    calculated from data wrap.
    """

    def named(node: Expr) -> Expr:
        if isinstance(node, Call) and (
            node.component is not None or any(a.loads for a in node.args)
        ):
            return Call(node.type, node.buffer, tuple(map(wrapping, node.args)))
        return node

    return rewrite(value, named)


def _hoisted(node: HoistedStorage, made: _Made) -> Statement:
    """The hoisted memory of each component, one allocation inside the other."""
    names = component_names(node.func, len(node.types))
    slots = () if node.slots is None else (constant(node.slots, Int32),)
    extents = (*node.extents, *slots)
    statement = _within(frozenset(names), _statements(node.body, made))
    for name, type in reversed(tuple(zip(names, node.types, strict=True))):
        statement = Allocate(
            buffer=_HOISTED.format(name),
            type=type,
            memory=node.memory,
            sizes=extents,
            body=statement,
            mins=tuple(constant(0, Int32) for _ in extents),
            extents=extents,
            folds=tuple(None for _ in extents),
            order=tuple(range(len(extents))),
        )
    return statement


def _within(buffers: frozenset[str], statement: Statement) -> Statement:
    """The statement, with the storage of ``buffers`` in the memory hoisted for them."""
    inside = map_children(statement, lambda inner: _within(buffers, inner))
    if isinstance(inside, Allocate) and inside.buffer in buffers:
        return evolve(inside, within=_HOISTED.format(inside.buffer))
    return inside


def _allocate(node: loopnest.Allocate, made: _Made) -> Statement:
    """An allocation for each component, one inside the other."""
    statement = deeper(_statements, node.body, made)
    slots: tuple[Expr, ...] = ()
    ring = made.bounds.schedule.of(node.func).ring
    if node.slot is not None and ring is not None:
        slots = (constant(ring, Int32),)
        statement = with_coordinate(statement, frozenset(node.buffers), node.slot)
    for name, type in reversed(tuple(zip(node.buffers, node.types, strict=True))):
        statement = Allocate(
            buffer=name,
            type=type,
            memory=node.memory,
            sizes=(*node.extents, *slots),
            body=statement,
            mins=(*node.mins, *(constant(0, Int32) for _ in slots)),
            extents=(*node.extents, *slots),
            folds=(*node.folds, *(None for _ in slots)),
            order=(*node.order, *(len(node.order) for _ in slots)),
        )
    return statement


def sizes_of_tuples(pipeline: Pipeline) -> dict[str, Expr]:
    """For each size of a Tuple that is an output, the size of its first component's array."""
    return {
        size_variable(f.name, part, d).name: size_variable(f.buffers[0], part, d)
        for f in map(pipeline.function, pipeline.outputs)
        if len(f.types) > 1
        for d in range(len(f.args))
        for part in ("min", "extent")
    }


def _renamed(program: LoopProgram, names: dict[str, Expr]) -> LoopProgram:
    """The program with expressions in place of variables."""
    return evolve(
        program,
        size_checks=tuple(
            evolve(r, condition=substitute(r.condition, names)) for r in program.size_checks
        ),
        assumptions=tuple(substitute(a, names) for a in program.assumptions),
        body=map_all(program.body, lambda expr: substitute(expr, names)),
    )


def over_arrays(pipeline: Pipeline, conditions: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Conditions on the sizes of outputs and images, over the names of arrays that programs use."""
    names = sizes_of_tuples(pipeline)
    return tuple(substitute(expanded(c), names) for c in conditions)
