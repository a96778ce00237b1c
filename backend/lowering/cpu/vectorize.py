"""Execute vectorized loops as vectors: their variable becomes a ramp, one lane an iteration."""

from __future__ import annotations

from typing import TypeAlias

from attrs import evolve

from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import (
    Allocate,
    Assert,
    Block,
    For,
    If,
    Statement,
    Store,
    TupleAssignment,
    Update,
    block,
)
from spaces.backend.ir.vectors import AnyLane, Load, VectorReduce
from spaces.backend.ir.walk import map_own
from spaces.backend.lowering.cpu.keep_sums import has_all_lanes
from spaces.backend.lowering.cpu.widen import Widening, is_vector
from spaces.backend.lowering.passes import named
from spaces.model.expressions.expr import Const, Expr, Op, Variable, constant, walk
from spaces.model.expressions.rewrite import rewrite, substitute
from spaces.model.expressions.types import Bool, Int32
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.reductions.associative import identity


@named("vectorize")
def vectorize(program: LoopProgram) -> LoopProgram:
    """The program without vectorized loops.

    Where a guard varies between lanes, whole vectors run if all lanes pass it, else vectors with a
    mask of the lanes that pass. A statement without vector form, such as a sum into one element,
    runs lane by lane. Storage inside a vectorized loop gets an innermost dimension with one element
    for each lane.
    """
    widenings: dict[_Lane, Widening] = {}
    return evolve(program, body=_vectorized(program.body, widenings))


def _touches_one_place(statement: Statement) -> bool:
    """Whether it loads or stores memory that all lanes share. If no lane is active, it must not
    run.
    """
    return any(
        (isinstance(part, Store) and not is_vector(part.index))
        or any(isinstance(n, Load) for n in walk(*part.expressions))
        for part in walk_nodes(statement)
    )


_Lane: TypeAlias = tuple[Variable, Expr, int, Expr | None]
"""The variable, first iteration, number and mask of lanes."""


def _vectorized(statement: Statement, widenings: dict[_Lane, Widening]) -> Statement:
    statement = map_children(statement, lambda s: _vectorized(s, widenings))
    if not isinstance(statement, For) or statement.kind is not LoopKind.VECTORIZED:
        return statement
    loop = evolve(statement, kind=LoopKind.SERIAL)
    if not isinstance(loop.extent, Const) or loop.extent.value < 2:
        return loop
    return _Lanes(loop, int(loop.extent.value), widenings).statement(loop.body)


class _Lanes:
    """The lanes of one vectorized loop; with a ``mask``, only the lanes where it holds.

    ``passes`` is the condition of one lane, and ``mask`` is the same condition over all lanes.
    ``is_vector`` says whether all statements so far have a vector form. Unrolling leaves copies of
    a loop; ``widenings`` holds what the expressions of the copies share.
    """

    def __init__(
        self,
        loop: For,
        lanes: int,
        widenings: dict[_Lane, Widening],
        mask: Expr | None = None,
        passes: Expr | None = None,
    ) -> None:
        self.loop = loop
        self.lanes = lanes
        self.mask = mask
        self.passes = passes
        self.widenings = widenings
        key = (loop.var, loop.min, lanes, mask)
        if key not in widenings:
            widenings[key] = Widening(*key)
        self.widen = widenings[key]
        self.is_vector = True

    def statement(self, statement: Statement) -> Statement:
        match statement:
            case Block(body=body):
                return block(*(self.statement(s) for s in body))
            case Store():
                return self._store(statement)
            case TupleAssignment(body=parts):
                wide = [self._store(part) for part in parts if isinstance(part, Store)]
                stores = tuple(part for part in wide if isinstance(part, Store))
                return (
                    TupleAssignment(stores)
                    if len(stores) == len(parts)
                    else self.lane_by_lane(statement)
                )
            case If():
                return self._guard(statement)
            case For():
                low, extent = self.widen(statement.min), self.widen(statement.extent)
                if is_vector(low) or is_vector(extent):
                    return self.lane_by_lane(statement)
                inside = self.statement(statement.body)
                return For(statement.var, low, extent, statement.kind, inside)
            case Allocate():
                return self._allocate(statement)
            case Assert():
                return self._assert(statement)
            case _:
                return self.lane_by_lane(statement)

    def lane_by_lane(self, statement: Statement) -> Statement:
        """The unchanged statement in a loop, once for each lane."""
        self.is_vector = False
        return evolve(self.loop, body=statement)

    def _assert(self, failing: Assert) -> Statement:
        """The assertion of the first lane that fails."""
        if self.mask is None or self.passes is None:
            first = {self.loop.var.name: self.loop.min}
            return Assert(failing.message, tuple(substitute(v, first) for v in failing.values))
        if failing.values:
            return If(AnyLane(Bool, self.mask), evolve(self.loop, body=If(self.passes, failing)))
        return If(AnyLane(Bool, self.mask), failing)

    def _update(self, store: Store, update: Update) -> Statement:
        """One update of one element by the vector reduce of all lanes. Runs lane by lane if each
        lane updates its own element, because two of them may be the same.
        """
        index, value = self.widen(store.index), self.widen(store.value)
        nested = any(is_vector(n) for n in walk(store.index, store.value))
        if is_vector(index) or nested or not is_vector(value):
            return self.lane_by_lane(store)
        if self.mask is not None:
            nothing = identity(update.operator, value.type.element)
            kept = (self.mask, value, self.widen.full(nothing))
            value = Op(value.type, "select", kept)
        return evolve(
            store, index=index, value=VectorReduce(value.type.element, update.operator, value)
        )

    def _store(self, store: Store) -> Statement:
        if store.update is not None:
            return self._update(store, store.update)
        index, value = self.widen(store.index), self.widen(store.value)
        if not is_vector(index):
            return (
                self.lane_by_lane(store) if is_vector(value) else Store(store.buffer, index, value)
            )
        value = self.widen.full(value)
        if self.mask is None or not has_all_lanes(store.buffer):
            return Store(store.buffer, index, value, self.mask)
        held = (self.mask, value, Load(value.type, store.buffer, index))
        return Store(store.buffer, index, Op(value.type, "select", held))

    def _guard(self, guard: If) -> Statement:
        condition = self.widen(guard.condition)
        if not is_vector(condition):
            otherwise = None if guard.otherwise is None else self.statement(guard.otherwise)
            return If(condition, self.statement(guard.body), otherwise)
        if guard.otherwise is not None:
            return self.lane_by_lane(guard)
        some = self._masked(condition, guard) or self.lane_by_lane(guard)
        every = self._in_every_lane(guard.condition)
        return some if every is None else If(every, self.statement(guard.body), some)

    def _masked(self, condition: Expr, guard: If) -> Statement | None:
        """The guarded statement in the lanes that pass the condition; None if a part of it has no
        vector form.

        The mask is computed once, before the statement runs: a lane must not see the stores of
        another lane in its condition.
        """
        mask = condition if self.mask is None else Op(condition.type, "and", (self.mask, condition))
        passes = guard.condition
        if self.passes is not None:
            passes = Op(Bool, "and", (self.passes, passes))
        lanes = _Lanes(self.loop, self.lanes, self.widenings, mask, passes)
        result = lanes.statement(guard.body)
        if not lanes.is_vector:
            return None
        return If(AnyLane(Bool, mask), result) if _touches_one_place(result) else result

    def _in_every_lane(self, condition: Expr) -> Expr | None:
        """A scalar condition that holds only if the given condition holds in each lane; None if
        unknown.

        A comparison of ramps or scalars holds in all lanes if it holds in the first and the last.
        """
        if not isinstance(condition, Op):
            return None
        if condition.name == "and":
            parts = [self._in_every_lane(a) for a in condition.args]
            if parts[0] is None or parts[1] is None:
                return None
            return Op(Bool, "and", (parts[0], parts[1]))
        if condition.name not in ("lt", "le", "gt", "ge"):
            return None
        if not all(self.widen.is_even(a) for a in condition.args):
            return None
        last = self.loop.min + constant(self.lanes - 1, Int32)
        ends = [substitute(condition, {self.loop.var.name: e}) for e in (self.loop.min, last)]
        return Op(Bool, "and", (ends[0], ends[1]))

    def _allocate(self, node: Allocate) -> Statement:
        lane = self.loop.var - self.loop.min

        def in_lane(index: Expr) -> Expr:
            return index * constant(self.lanes, Int32) + lane

        def loads(value: Expr) -> Expr:
            def change(part: Expr) -> Expr:
                if isinstance(part, Load) and part.buffer == node.buffer:
                    return Load(part.type, part.buffer, in_lane(part.index))
                return part

            return rewrite(value, change)

        def spread(part: Statement) -> Statement:
            part = map_own(part, loads)
            if isinstance(part, Store) and part.buffer == node.buffer:
                part = evolve(part, index=in_lane(part.index))
            return map_children(part, spread)

        sizes = tuple(self.widen(size) for size in node.sizes)
        if any(map(is_vector, sizes)):
            return self.lane_by_lane(node)
        body = self.statement(spread(node.body))
        return evolve(node, sizes=(*sizes, constant(self.lanes, Int32)), dimensions=(), body=body)
