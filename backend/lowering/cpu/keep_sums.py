"""Keep sums in registers while a loop adds to them.

An unrolled body adds to several elements of a Func: one in each of some rows. How far rows of an
output lie apart is known when the program runs, so LLVM must assume that a store to one changes the
others: it loads and stores each sum for each term, and each term waits for the store before it. But
elements of different coordinates never share a place. So the loop over the terms adds to small
scratch memory whose places are numbers, which becomes registers. The elements are read before the
loop and written behind it.

LLVM itself keeps sums in registers whose places it knows to differ: one element alone, elements of
one row, and those of scratch memory of known sizes. It does not do so for a vector that a guard
cuts off: each term waits until the masked store before it is in the cache. The scratch memory has a
place for each lane, so there the other lanes keep what they hold, zeros at first, and no mask is
needed (:func:`has_all_lanes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, count
from math import inf
from typing import TypeAlias

from attrs import evolve, field, frozen

from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.sizes import known_elements
from spaces.backend.ir.statements import (
    Allocate,
    Block,
    For,
    If,
    Provide,
    Statement,
    TupleAssignment,
    block,
)
from spaces.backend.ir.walk import buffers_read, buffers_written, map_own
from spaces.backend.lowering.analyses.linear import origin_of
from spaces.backend.lowering.passes import named
from spaces.constraints.reasoning.formulas import all_of
from spaces.model.expressions.expr import Call, Const, Expr, Op, Variable, constant, walk
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Bool, Int32, Type
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import MemoryType

_MOST_BYTES = 2048
"""All vector registers of a core together: 32 of 512 bits. More sums would be stored and loaded for
each term anyway.
"""

_KEPT = ".kept."
"""In the names of such scratch memory."""

_Args: TypeAlias = tuple[Expr, ...]
"""The coordinates of an element."""


def has_all_lanes(buffer: str) -> bool:
    """Whether a buffer has a place for each lane of the vectors that are stored there, also for
    those that a guard switches off, and no other thread knows it.
    """
    return _KEPT in buffer


@named("keep_sums")
def keep_sums(program: LoopProgram) -> LoopProgram:
    """The program in which loops that add to the same few elements in each iteration do so in
    scratch memory of known places.
    """
    return evolve(program, body=_Keeping().statement(program.body))


@frozen
class _AssignedLanes:
    """What runs an assignment for several elements at once.

    Attributes:
        loop: the vectorized loop around it; None for a single element.
        guard: the condition under which it runs inside of that loop; None if it always does.
    """

    loop: For | None = None
    guard: Expr | None = None

    def are_those_of(self, other: _AssignedLanes) -> bool:
        """Whether the same lanes run."""
        mine, others = self.loop, other.loop
        if mine is None or others is None or self.guard != other.guard:
            return mine is others
        return (mine.var, mine.min, mine.extent) == (others.var, others.min, others.extent)


@frozen
class _Element:
    """What one assignment in a loop changes: an element, or one for each iteration of the
    vectorized loop around the assignment.

    Attributes:
        around: the vectorized loop, and the condition on the lanes that change.
    """

    func: str
    type: Type
    args: _Args
    around: _AssignedLanes

    @property
    def vector(self) -> For | None:
        """The vectorized loop."""
        return self.around.loop

    @property
    def lanes(self) -> int:
        """The number of elements."""
        if self.vector is None:
            return 1
        assert isinstance(self.vector.extent, Const)
        return int(self.vector.extent.value)

    @property
    def lane(self) -> Variable | None:
        """What counts the elements."""
        return None if self.vector is None else self.vector.var

    def is_one_a_lane(self) -> bool:
        """Whether another lane has another element."""
        lane = self.lane
        return lane is None or any(_factor(arg, lane) for arg in self.args)

    def for_all(self, assignment: Statement) -> Statement:
        """An assignment in the lanes that change."""
        if self.vector is None:
            return assignment
        guard = self.around.guard
        return evolve(self.vector, body=assignment if guard is None else If(guard, assignment))


@frozen
class _Keeping:
    """The pass inside of some allocations.

    Attributes:
        storage: of each Func that is allocated around.
        numbers: numbers the new scratch memory.
    """

    storage: Mapping[str, Allocate] = field(factory=dict)
    numbers: Iterator[int] = field(factory=count)

    def statement(self, statement: Statement) -> Statement:
        if isinstance(statement, Allocate):
            inside = evolve(self, storage={**self.storage, statement.buffer: statement})
            return map_children(statement, inside.statement)
        if isinstance(statement, For) and statement.kind is LoopKind.SERIAL:
            moving = _moving(statement)
            for func in _summed(statement, moving):
                sums = _Sums(func, moving)
                elements = sums.elements(statement)
                pays = self._fit_registers(elements) and (
                    any(one.around.guard is not None for one in elements)
                    or self._may_overlap(elements)
                )
                if pays and not _vary(runs := sums.runs(), moving):
                    return self._kept(statement, elements, runs)
        return map_children(statement, self.statement)

    def _fit_registers(self, elements: Sequence[_Element]) -> bool:
        """Whether there are elements, each once, and few enough for registers."""
        size = sum(one.lanes * one.type.bytes for one in elements)
        return 0 < size <= _MOST_BYTES and all(
            self._apart(*pair) for pair in combinations(elements, 2)
        )

    def _apart(self, one: _Element, other: _Element) -> bool:
        """Whether two elements, or any of two vectors, differ in a coordinate, and so in their
        places. Along a folded dimension, different coordinates may share a place.
        """
        storage = self.storage.get(one.func)
        folds = (None,) * len(one.args) if storage is None else storage.folds
        if not evolve(one.around, guard=None).are_those_of(evolve(other.around, guard=None)):
            return False
        return any(
            fold is None and _distance(a, b) >= _reach(a, one)
            for a, b, fold in zip(one.args, other.args, folds, strict=True)
        )

    def _may_overlap(self, elements: Sequence[_Element]) -> bool:
        """Whether LLVM does not know that several elements differ: they lie in several rows, and
        how far apart these are follows from sizes of the call.
        """
        storage = self.storage.get(elements[0].func)
        if storage is not None and known_elements(storage.sizes) is not None:
            return False
        row = 0 if storage is None else storage.order[0]
        return len({one.args[:row] + one.args[row + 1 :] for one in elements}) > 1

    def _kept(self, loop: For, elements: Sequence[_Element], runs: Sequence[Expr]) -> Statement:
        """The loop with its elements in scratch memory."""
        func, type = elements[0].func, elements[0].type
        name, size = f"{func}{_KEPT}{next(self.numbers)}", 0
        places: dict[_Args, Expr] = {}
        before, behind = [], []
        for one in elements:
            place: Expr = constant(size, Int32)
            if one.vector is not None:
                place = one.vector.var - one.vector.min + place
            places[one.args], size = place, size + one.lanes
            read = Provide(name, (place,), Call(type, func, one.args))
            written = Provide(func, one.args, Call(type, name, (place,)))
            if one.around.guard is not None:
                nothing = Provide(name, (place,), constant(0, type))
                before.append(evolve(one, around=evolve(one.around, guard=None)).for_all(nothing))
            before.append(one.for_all(read))
            behind.append(one.for_all(written))

        def element(node: Expr) -> Expr:
            if isinstance(node, Call) and node.target == func:
                return Call(type, name, (places[node.args],))
            return node

        def moved(statement: Statement) -> Statement:
            if isinstance(statement, Provide) and statement.func == func:
                place, value = places[statement.args], rewrite(statement.value, element)
                return evolve(statement, func=name, args=(place,), value=value)
            return map_children(map_own(statement, lambda e: rewrite(e, element)), moved)

        body = self.statement(moved(loop))
        first, last = block(*before), block(*behind)
        if runs:
            first, last = If(all_of(runs), first), If(all_of(runs), last)
        extent, whole = constant(size, Int32), block(first, body, last)
        start = constant(0, Int32)
        return Allocate(
            *(name, type, MemoryType.STACK, (extent,), whole),
            mins=(start,),
            extents=(extent,),
            folds=(None,),
            order=(0,),
        )


@frozen
class _Sums:
    """The elements of a Func that a loop changes and reads.

    Attributes:
        func: the Func.
        moving: the variables of the loop and of the serial loops inside.
        changed: what is changed, by coordinates.
        read: what is read, each with the lanes that read it.
        loops: the serial loops around what is changed or read, outermost first; several if they
            differ.
    """

    func: str
    moving: set[str]
    changed: dict[_Args, _Element] = field(factory=dict)
    read: list[tuple[_Args, _AssignedLanes]] = field(factory=list)
    loops: list[tuple[For, ...]] = field(factory=list)

    def elements(self, loop: For) -> list[_Element]:
        """The elements that each iteration of a loop changes. Empty if it changes others at times,
        or reads others, or changes some without reading them.
        """
        if not self._collect(loop, _AssignedLanes(), ()):
            return []
        if {args for args, _ in self.read} != {*self.changed}:
            return []
        same = all(self.changed[args].around.are_those_of(lanes) for args, lanes in self.read)
        return list(self.changed.values()) if same and len(self.loops) == 1 else []

    def runs(self) -> list[Expr]:
        """The conditions that the loops around the elements have iterations. Another loop, as of a
        producer whose window slides, may have none while the elements change.
        """
        (loops,) = self.loops
        extents = (one.extent for one in loops)
        none = constant(0, Int32)
        return [
            Op(Bool, "lt", (none, extent))
            for extent in extents
            if not (isinstance(extent, Const) and int(extent.value) > 0)
        ]

    def _collect(self, statement: Statement, lanes: _AssignedLanes, loops: tuple[For, ...]) -> bool:
        """Adds what a statement changes and reads. False if it may leave some out, or if it does
        more than assign values.
        """
        calls = [
            node
            for node in walk(*statement.expressions)
            if isinstance(node, Call) and node.target == self.func
        ]
        match statement:
            case Provide(func=self.func, args=args, value=value, update=None):
                self._note(calls, lanes, loops)
                one = _Element(self.func, value.type, args, lanes)
                known = self.changed.setdefault(args, one)
                same = known.around.are_those_of(lanes)
                return same and one.is_one_a_lane() and value.type != Bool
            case Provide(update=None):
                if calls:
                    self._note(calls, lanes, loops)
                return True
            case For(kind=LoopKind.VECTORIZED, extent=Const()) if lanes.loop is None:
                lanes = _AssignedLanes(statement)
            case For(kind=LoopKind.SERIAL) if lanes.loop is None:
                loops = (*loops, statement)
            case If(condition=guard, otherwise=None) if self._cuts_off(guard, lanes):
                lanes = evolve(lanes, guard=guard)
            case Block() | TupleAssignment():
                pass
            case _:
                return not any(
                    self.func in (*buffers_read(one), *buffers_written(one))
                    for one in walk_nodes(statement)
                )
        return not calls and all(self._collect(one, lanes, loops) for one in statement.children)

    def _cuts_off(self, guard: Expr, lanes: _AssignedLanes) -> bool:
        """Whether a condition switches off lanes of a vector, the same in each iteration."""
        return lanes.loop is not None and lanes.guard is None and not _vary([guard], self.moving)

    def _note(self, calls: Iterable[Call], lanes: _AssignedLanes, loops: tuple[For, ...]) -> None:
        self.read.extend((call.args, lanes) for call in calls)
        if loops not in self.loops:
            self.loops.append(loops)


def _moving(loop: For) -> set[str]:
    """The variables of a loop and of the serial loops inside."""
    loops = (s for s in walk_nodes(loop) if isinstance(s, For))
    return {one.var.name for one in loops if one.kind is LoopKind.SERIAL}


def _summed(loop: For, moving: set[str]) -> list[str]:
    """The Funcs that a loop assigns to at coordinates that are the same in each iteration."""
    found: dict[str, dict[_Args, bool]] = {}
    for statement in walk_nodes(loop):
        if isinstance(statement, Provide) and _KEPT not in statement.func:
            places = found.setdefault(statement.func, {})
            if statement.args not in places:
                places[statement.args] = not _vary(statement.args, moving)
    return [func for func, places in found.items() if all(places.values())]


def _vary(expressions: Iterable[Expr], moving: set[str]) -> bool:
    """Whether some expression may have another value in another iteration."""
    return any(one.loads or not moving.isdisjoint(one.names) for one in expressions)


def _distance(a: Expr, b: Expr) -> int:
    """How far two coordinates lie apart; 0 if that is not known."""
    one, other = origin_of(a), origin_of(b)
    return abs(one.offset - other.offset) if one.terms == other.terms else 0


def _reach(arg: Expr, element: _Element) -> float:
    """From which distance along a dimension on two vectors have no element in common."""
    lane = element.lane
    if lane is None or lane.name not in arg.names:
        return 1
    factor = _factor(arg, lane)
    return abs(factor) * (element.lanes - 1) + 1 if factor else inf


def _factor(arg: Expr, lane: Variable) -> int:
    """How much a coordinate grows from lane to lane; 0 if not at all, or not evenly."""
    with_lane = [(term, times) for term, times in origin_of(arg).terms if lane.name in term.names]
    return with_lane[0][1] if len(with_lane) == 1 and with_lane[0][0] is lane else 0
