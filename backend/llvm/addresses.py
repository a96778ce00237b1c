"""The addresses of elements: each is emitted once, in the scope that first needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from attrs import define, field
from llvmlite import ir

from spaces.backend.ir.vectors import Ramp, Shuffle
from spaces.backend.llvm.indices import IndexTerm, lane_terms, scaled, step_of, terms_of
from spaces.backend.llvm.insertion_point import InsertionPoint
from spaces.backend.llvm.operators import literal
from spaces.backend.llvm.runtime.blocks import I64, Value, i32, i64
from spaces.model.expressions.expr import Const, Expr
from spaces.model.expressions.types import Type

_NOWHERE = -1
"""The depth of what varies nowhere in the function."""


class EmittedValues(Protocol):
    """The values inside a function (``Expressions``), as far as addresses need them."""

    here: InsertionPoint
    entry: InsertionPoint
    buffers: dict[str, Value]
    types: Mapping[str, Type]

    def index(self, expr: Expr) -> Value:
        """A scalar coordinate in 64 bits."""

    def value(self, expr: Expr) -> Value:
        """The value of an expression in its own type."""

    def is_fixed(self, expr: Expr) -> bool:
        """Whether an expression varies nowhere in the function."""


@define
class Addresses:
    """The addresses of elements inside one function.

    Attributes:
        values: the values of indices, and where code goes.
        entry_buffers: those whose address is known at the start of the function.
    """

    values: EmittedValues
    entry_buffers: frozenset[str]
    _depths: dict[str, int] = field(init=False, factory=dict)
    """For each variable of a loop, how many loops are around its body."""
    _scopes: list[dict[Any, Value]] = field(init=False, factory=lambda: [{}])
    _read: dict[Any, Value] = field(init=False, factory=dict)
    """Those that depend on values in memory."""

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A part of the function that may not run: addresses emitted in it are forgotten."""
        self._scopes.append({})
        yield
        self._scopes.pop()

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """The body of a loop over the variable ``name``."""
        outside = self._depths.get(name)
        self._depths[name] = 1 + max(self._depths.values(), default=0)
        yield
        if outside is None:
            del self._depths[name]
        else:
            self._depths[name] = outside

    def forget_memory(self) -> None:
        """Forgets the addresses that depend on values in memory, which may have changed."""
        self._read = {}

    def of_element(self, buffer: str, index: Expr) -> Value:
        """The address of the element at a scalar index."""
        return self._moved(buffer, terms_of(index))

    def of_lanes(self, buffer: str, index: Expr) -> Callable[[int], Value]:
        """The address of each lane; terms that all lanes share move the pointer once, except for
        numbers, which fold into the accesses. LLVM takes a pointer moved by a number out of the
        loop and brings the number back into each access, in a time that grows with the square of
        the accesses.
        """
        values = self.values
        memory, build, type = values.here.memory, values.here.builder, values.types[buffer]
        step = step_of(index)
        if isinstance(index, Ramp) and step is not None:
            base = self.of_element(buffer, index.base)
            return lambda lane: memory.address(base, i64(lane * step), type)
        if isinstance(index, Shuffle):
            parts = [self.of_lanes(buffer, part) for part in index.parts]
            count, picks = index.parts[0].type.lanes, index.picks
            return lambda lane: parts[picks[lane] // count](picks[lane] % count)
        shared, varying = lane_terms(index)
        if not varying:
            base = self._moved(buffer, shared)
            return lambda lane: base
        base, number = self._moved_but_number(buffer, shared)

        def at(place: Value) -> Value:
            lane = memory.address(base, place, type)
            return memory.address(lane, i64(number), type) if number else lane

        total: Value | None = None
        products: list[tuple[int, Value, Value]] = []
        for sign, term in varying:
            part, scale = scaled(term)
            if scale is not None:
                products.append((sign, values.value(part), values.index(scale)))
            else:
                total = literal(index.type, 0) if total is None else total
                total = (build.add if sign > 0 else build.sub)(total, values.value(part))
        if len(products) + (total is not None) > 1:
            places = self._wide_places(total, products)
            return lambda lane: at(build.extract_element(places, i32(lane)))

        def address(lane: int) -> Value:
            if total is not None:
                return at(memory.widen_lane(total, lane))
            ((sign, part, scale),) = products
            place = build.mul(memory.widen_lane(part, lane), scale, flags=["nsw"])
            return at(place if sign > 0 else build.neg(place))

        return address

    def _wide_places(self, total: Value | None, products: list[tuple[int, Value, Value]]) -> Value:
        """The places of all lanes at once, in 64 bits: processors multiply vectors faster than they
        take several coordinates of each lane out of them.
        """
        build, memory = self.values.here.builder, self.values.here.memory
        coordinates = total if total is not None else products[0][1]
        wide = ir.VectorType(I64, coordinates.type.count)
        places = ir.Constant(wide, None) if total is None else build.sext(total, wide)
        for sign, part, scale in products:
            factors = memory.broadcast(scale, wide)
            product = build.mul(build.sext(part, wide), factors, flags=["nsw"])
            places = (build.add if sign > 0 else build.sub)(places, product, flags=["nsw"])
        return places

    def _moved(self, buffer: str, terms: list[IndexTerm]) -> Value:
        """A buffer's address moved by terms. Numbers come last, so that they fold into the
        access.
        """
        address, number = self._moved_but_number(buffer, terms)
        if number == 0:
            return address
        key = (address, number)
        for known in self._scopes:
            if key in known:
                return known[key]
        found = self.values.here.memory.address(address, i64(number), self.values.types[buffer])
        self._scopes[-1][key] = found
        return found

    def _moved_but_number(self, buffer: str, terms: list[IndexTerm]) -> tuple[Value, int]:
        """A buffer's address moved by the terms that are no numbers, and the sum of the numbers.

        Terms that never vary come first and move it once, at the function's start. Then come those
        of outer loops, and last those of the innermost one: LLVM moves an address out of the loops
        in which it does not vary, but does not reorder the sums.
        """
        moving: dict[int, list[IndexTerm]] = {}
        number = 0
        for sign, term in terms:
            if isinstance(term, Const):
                number += sign * int(term.value)
            else:
                moving.setdefault(self._depth(term), []).append((sign, term))
        values, at_entry = self.values, buffer in self.entry_buffers
        type, point = values.types[buffer], values.entry if at_entry else values.here
        fixed = moving.pop(_NOWHERE, [])
        address = self._offset(values.buffers[buffer], fixed, type, point, at_entry)
        for depth in sorted(moving):
            address = self._offset(address, moving[depth], type, values.here, False)
        return address, number

    def _depth(self, term: Expr) -> int:
        """How many loops are around the innermost one in which a term varies. Nothing moves what
        memory holds.
        """
        if self.values.is_fixed(term):
            return _NOWHERE
        if term.loads:
            return len(self._depths) + 1
        return max((self._depths.get(name, 0) for name in term.names), default=0)

    def _offset(
        self, base: Value, terms: list[IndexTerm], type: Type, point: InsertionPoint, at_entry: bool
    ) -> Value:
        if not terms:
            return base
        key = (base, *terms)
        scope = self._scopes[0 if at_entry else -1]
        if any(term.loads for _, term in terms):
            scope = self._read
        for known in (*self._scopes, self._read):
            if key in known:
                return known[key]
        total: Value | None = None
        for sign, term in terms:
            part = self.values.index(term)
            if total is None:
                total = part if sign > 0 else point.builder.neg(part)
            else:
                combine = point.builder.add if sign > 0 else point.builder.sub
                total = combine(total, part, flags=["nsw"])
        scope[key] = point.memory.address(base, total, type)
        return scope[key]
