"""Runs a loop program one statement at a time, in plain Python: the oracle of the lowering passes.

Each buffer is a dictionary from coordinates (before flattening) or flat indices (after) to values.
Every access must be inside its buffer: within the extents of an allocation, or after flattening
within the product of its sizes; in an array of the caller, at one of its places. An element that
was never stored holds garbage, one of two values, so that two runs show whether a program uses it.

The interpreter calculates as CPU code does: bounds of loops, sizes, comparisons of coordinates and
scalar indices in 64 bits, everything else in the bits of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import IntEnum
from functools import cache, reduce
from math import prod
from operator import itemgetter
from typing import Any, NoReturn, TypeAlias

import numpy as np
from attrs import define, field

from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import (
    Allocate,
    Assert,
    Barrier,
    Block,
    For,
    If,
    ParallelFor,
    Prefetch,
    Provide,
    Recall,
    Statement,
    Store,
    TupleAssignment,
    updated,
)
from spaces.backend.ir.vectors import (
    AnyLane,
    Broadcast,
    Load,
    MaskedLoad,
    Ramp,
    Shuffle,
    VectorReduce,
)
from spaces.backend.llvm.indices import lane_terms, scaled, step_of, terms_of
from spaces.model.expressions.bit_counts import VALUE, bit_count
from spaces.model.expressions.definitions import SAYING
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Variable
from spaces.model.expressions.intrinsics import BIT_COUNTS
from spaces.model.expressions.types import Int32, Int64, Type
from spaces.model.formulas.algebra import INTEGERS, read

Cells = dict[Any, Any]


class OutsideError(AssertionError):
    """A program touches an element that none of its buffers has."""


class Stopped(Exception):
    """An assert of a program failed, with a message and values."""


class _Form(IntEnum):
    """The form of a number: an index or size in 64 bits, or a value of its type."""

    INDEX = 0
    VALUE = 1


_Key: TypeAlias = tuple[Expr, _Form]
_Step: TypeAlias = tuple[Callable[..., Any], Callable[[list[Any]], Sequence[Any]]]
"""The function of a node, and the function that picks its operands from the values before it."""

_LEAST, _MOST = Int64.min_value, Int64.max_value
_IN_64_BITS = frozenset(("add", "sub", "mul", "div", "mod", "min", "max"))
_COMPARISONS = frozenset(("lt", "le", "gt", "ge", "eq", "ne"))


@define
class _Buffer:
    """The cells of a buffer, and the places where it may be touched."""

    name: str
    type: Type | None
    cells: Cells
    holds: Callable[[Any], bool]
    place: Callable[[Sequence[int]], Any] = field(default=tuple)
    is_complete: bool = False
    """Whether only the existing cells may be touched."""
    bytes: int = 0
    """The bytes of flat memory that the program allocates."""


def run_program(
    program: LoopProgram,
    sizes: Mapping[str, Any],
    memory: Mapping[str, Cells],
    places: Mapping[str, Collection[Any]] | None = None,
    negative: bool = False,
) -> dict[str, Cells]:
    """The contents of the caller's arrays after a run that begins with ``memory``.

    Args:
        program: a program; after flattening it has :class:`~spaces.backend.ir.statements.Store`.
        sizes: the values of its free variables.
        memory: the cells of each of the caller's arrays.
        places: the places at which the program may write each array; an array without places may be
            written anywhere.
        negative: which of the two garbage values memory holds.

    Raises:
        OutsideError: it reads or writes outside of its memory.
        Stopped: a requirement of its values does not hold.
    """
    types = {buffer.name: buffer.type for buffer in program.buffers}
    outputs = {buffer.name for buffer in program.buffers if buffer.is_output}
    buffers = {}
    for name, cells in memory.items():
        allowed = None if places is None else places.get(name)
        holds = allowed.__contains__ if allowed is not None else lambda at: True
        is_image = name not in outputs and name in types
        own = cells if is_image else dict(cells)
        buffers[name] = _Buffer(name, types.get(name), own, holds, is_complete=is_image)
    run = _Run(dict(sizes), buffers, negative, is_flat(program))
    run.statement(program.body)
    return {name: run.buffers[name].cells for name in memory}


def is_flat(program: LoopProgram) -> bool:
    """Whether its memory is flat."""
    return not any(isinstance(s, Provide) for s in walk_nodes(program.body))


class _Run:
    def __init__(
        self,
        variables: dict[str, Any],
        buffers: dict[str, _Buffer],
        negative: bool,
        is_flat: bool,
    ) -> None:
        self.variables = variables
        self.is_flat = is_flat
        self.buffers = buffers
        self.negative = negative
        self._steps: dict[_Key, list[_Step]] = {}
        self._terms: dict[Expr, list[tuple[int, Expr]]] = {}

    def statement(self, node: Statement) -> None:
        match node:
            case Block(body=body):
                for part in body:
                    self.statement(part)
            case For() | ParallelFor():
                self._loop(node)
            case If():
                taken = node.body if self.condition(node.condition) else node.otherwise
                if taken is not None:
                    self.statement(taken)
            case Allocate():
                self._allocate(node)
            case Provide() | Store():
                self._stored([updated(node)])
            case TupleAssignment(body=parts):
                self._stored(parts)
            case Prefetch(at=at):
                for place in at:
                    self.index(place)  # the element need not exist
            case Recall(key=key, extents=extents, body=body):
                for number in (*key, *extents):
                    self.value(number)
                self.statement(body)  # nothing is kept
            case Barrier():
                pass  # threads run one after another
            case Assert(message=message, values=values):
                raise Stopped(message, tuple(self.value(v) for v in values))
            case _:
                raise TypeError(f"{node} is no statement of a loop program")

    def _loop(self, loop: For | ParallelFor) -> None:
        low, extent = self.index(loop.min), self.index(loop.extent)
        hidden: dict[str, Any] = {}
        absent: dict[str, _Buffer] = {}
        if isinstance(loop, ParallelFor):  # its body sees only the names that it declares
            unused = set(self.variables) - {v.name for v in loop.variables}
            hidden = {name: self.variables.pop(name) for name in unused}
            others = set(self.buffers) - set(loop.buffers)
            absent = {name: self.buffers.pop(name) for name in others}
        shadowed = self.variables.get(loop.var.name)
        iterations = range(low, low + extent)
        for i in reversed(iterations) if isinstance(loop, ParallelFor) else iterations:
            self.variables[loop.var.name] = i
            self.statement(loop.body)
        self.variables.pop(loop.var.name, None)
        if shadowed is not None:
            self.variables[loop.var.name] = shadowed
        self.variables.update(hidden)
        self.buffers.update(absent)

    def _allocate(self, node: Allocate) -> None:
        kept = self.buffers.get(node.buffer)
        self.buffers[node.buffer] = self._storage(node)
        self.statement(node.body)
        del self.buffers[node.buffer]
        if kept is not None:
            self.buffers[node.buffer] = kept

    def _storage(self, node: Allocate) -> _Buffer:
        """New memory, full of garbage; memory of another buffer if it lies within one."""
        if not self.is_flat:
            return self._box(node)
        width = node.type.bytes
        size = prod(max(0, self.index(size)) for size in node.sizes) * width
        if node.within:
            size = self.buffers[node.within].bytes

        def holds(at: int) -> bool:
            return at >= 0 and (at + 1) * width <= size

        return _Buffer(node.buffer, node.type, {}, holds, bytes=size)

    def _box(self, node: Allocate) -> _Buffer:
        """Memory by coordinates; along a folded dimension, by coordinates modulo the fold."""
        lows, extents = (tuple(map(self.index, ends)) for ends in (node.mins, node.extents))
        folds = tuple(None if fold is None else self.index(fold) for fold in node.folds)

        def place(at: Sequence[int]) -> tuple[int, ...]:
            folded = zip(at, lows, folds, strict=True)
            return tuple(x - low if fold is None else x % fold for x, low, fold in folded)

        def holds(at: tuple[int, ...]) -> bool:
            return all(0 <= x < extent for x, extent in zip(at, extents, strict=True))

        return _Buffer(node.buffer, node.type, {}, holds, place)

    def _stored(self, stores: Sequence[Provide | Store]) -> None:
        """Stores several values; evaluates all values and places before the first store."""
        found: list[tuple[_Buffer, list[Any], list[Any]]] = []
        for node in stores:
            value = self.value(node.value)
            if isinstance(node, Provide):
                buffer = self.buffers[node.func]
                found.append((buffer, [buffer.place([self.index(a) for a in node.args])], [value]))
                continue
            places = self._places(node.index)
            if node.index.type.lanes == 1:
                places, value = [places], [value]
            elif not isinstance(value, list):
                raise TypeError(f"{node} stores a scalar in lanes")
            kept = [True] * len(places) if node.mask is None else self.value(node.mask)
            lanes = [at for at, keep in zip(places, kept, strict=True) if keep]
            values = [v for v, keep in zip(value, kept, strict=True) if keep]
            found.append((self.buffers[node.buffer], lanes, values))
        for buffer, places, values in found:
            for at, value in zip(places, values, strict=True):
                if not buffer.holds(at):
                    _outside(buffer, at)
                buffer.cells[at] = value

    def _read(self, name: str, at: Any) -> Any:
        buffer = self.buffers[name]
        if at in buffer.cells:
            return buffer.cells[at]
        if buffer.is_complete or not buffer.holds(at):
            _outside(buffer, at)
        return self._garbage(buffer.type)

    def _garbage(self, type: Type | None) -> Any:
        if type is None:
            raise OutsideError("an undeclared buffer is read before it is stored")
        if type.is_bool:
            return int(self.negative)
        if type.is_float:
            return -7919.0 if self.negative else 7919.0
        return type.min_value + 3 if self.negative else type.max_value - 5

    def index(self, root: Expr) -> int:
        """The value of a scalar index, bound or size."""
        return int(self._evaluated((root, _Form.INDEX)))

    def value(self, root: Expr) -> Any:
        """A number, or a list with one number for each lane."""
        return self._evaluated((root, _Form.VALUE))

    def condition(self, root: Expr) -> bool:
        """A condition, in which coordinates do not overflow."""
        if isinstance(root, Op) and root.type.lanes == 1:
            if root.name in ("and", "or", "not"):
                parts = [self.condition(a) for a in root.args]
                return bool(INTEGERS.operators[root.name](*parts))
            if root.name in _COMPARISONS and all(
                a.type == Int32 and not a.loads for a in root.args
            ):
                return bool(INTEGERS.operators[root.name](*map(self.index, root.args)))
        return bool(self.value(root))

    def _places(self, index: Expr) -> Any:
        """A flat index, or one for each lane. Terms that lanes share and products with strides have
        64 bits, all others 32.
        """
        lanes = index.type.lanes
        if lanes == 1:
            if index not in self._terms:
                self._terms[index] = terms_of(index)
            return self._sum(self._terms[index])
        step = step_of(index)
        if step is not None and isinstance(index, Ramp):
            base = self._sum(terms_of(index.base))
            return [base + lane * step for lane in range(lanes)]
        if isinstance(index, Shuffle):
            return _picked([self._places(part) for part in index.parts], index.picks)
        shared, varying = lane_terms(index)
        base = self._sum(shared)
        totals, products = [0] * lanes, [base] * lanes
        for sign, term in varying:
            part, scale = scaled(term)
            values = self.value(part)
            if scale is None:
                totals = [Int32.wrap(t + sign * v) for t, v in zip(totals, values, strict=True)]
            else:
                by = sign * self.index(scale)
                products = [p + by * v for p, v in zip(products, values, strict=True)]
        return [p + total for p, total in zip(products, totals, strict=True)]

    def _sum(self, terms: list[tuple[int, Expr]]) -> int:
        return sum(sign * self.index(term) for sign, term in terms)

    def _evaluated(self, root: _Key) -> Any:
        steps = self._steps.get(root)
        if steps is None:
            steps = self._steps[root] = self._planned(root)
        if len(steps) == 1:  # a number or a variable
            return steps[0][0]()
        done: list[Any] = []
        for meaning, children in steps:
            done.append(meaning(*children(done)))
        return done[-1]

    def _planned(self, root: _Key) -> list[_Step]:
        """The nodes of an expression, each after its children, prepared for many evaluations."""
        positions: dict[_Key, int] = {}
        steps: list[_Step] = []
        stack = [root]
        while stack:
            key = stack[-1]
            if key in positions:
                stack.pop()
                continue
            needs = _needs(key)
            missing = [need for need in needs if need not in positions]
            if missing:
                stack += missing
                continue
            steps.append((self._meaning(*key), _at([positions[need] for need in needs])))
            positions[key] = len(positions)
            stack.pop()
        return steps

    def _meaning(self, node: Expr, form: _Form) -> Callable[..., Any]:
        """The function from the values of a node's children to its value."""
        if form is _Form.INDEX:
            return self._index_meaning(node)
        lanes = node.type.lanes
        match node:
            case Const(value=value):
                return lambda: value if node.type.is_float else int(value)
            case Variable(name=name):
                wrap = _wrap(node.type)
                return lambda: wrap(self.variables[name])
            case Ramp():
                numbers = range(lanes)
                return lambda base, stride: [Int32.wrap(base + i * stride) for i in numbers]
            case Broadcast():
                return lambda value: [value] * lanes
            case Shuffle(picks=picks):
                return lambda *parts: _picked(parts, picks)
            case Call(target=name):
                return lambda *at: self._read(name, self.buffers[name].place(at))
            case Load() | MaskedLoad():
                return lambda *mask: self._loaded(node, *mask)
            case AnyLane():
                return any
            case VectorReduce(operator=operator):
                wrap, combine = _wrap(node.type), INTEGERS.operators[operator]
                return lambda values: reduce(lambda a, b: wrap(combine(a, b)), values)
        return _in_lanes(node)

    def _index_meaning(self, node: Expr) -> Callable[..., Any]:
        match node:
            case Const(value=value):
                return lambda: int(value)
            case Variable(name=name):
                return lambda: self.variables[name]
            case Op(name="select"):
                return lambda condition, a, b: a if condition else b
            case Op(name=name) if name in _IN_64_BITS and node.type == Int32:
                apply = INTEGERS.operators[name]
                return lambda a, b: _within_64_bits(apply(a, b))
        return lambda value: value

    def _loaded(self, node: Load | MaskedLoad, mask: list[int] | None = None) -> Any:
        places = self._places(node.index)
        if node.type.lanes == 1:
            return self._read(node.buffer, places)
        if mask is None:
            return [self._read(node.buffer, at) for at in places]
        lanes = zip(places, mask, strict=True)
        return [self._read(node.buffer, at) if keep else 0 for at, keep in lanes]


def _needs(key: _Key) -> list[_Key]:
    """The nodes whose values a node needs."""
    node, form = key
    match node:
        case Const() | Variable():
            return []
        case Op(name="select", args=(condition, a, b)) if form is _Form.INDEX:
            return [(condition, _Form.VALUE), (a, form), (b, form)]
        case Op(name=name) if form is _Form.INDEX and name in _IN_64_BITS and node.type == Int32:
            return [(a, form) for a in node.args]
    if form is _Form.INDEX:
        return [(node, _Form.VALUE)]
    match node:
        case Load():
            return []
        case MaskedLoad(mask=mask):
            return [(mask, _Form.VALUE)]
        case Call(args=args):
            return [(a, _Form.INDEX) for a in args]
    return [(child, _Form.VALUE) for child in node.children]


def _at(positions: Sequence[int]) -> Callable[[list[Any]], Sequence[Any]]:
    """A function that picks the values at some positions of a list."""
    if len(positions) > 1:
        return itemgetter(*positions)
    first = positions[0] if positions else 0
    return itemgetter(slice(first, first + len(positions)))


def _outside(buffer: _Buffer, at: Any) -> NoReturn:
    raise OutsideError(f"{buffer.name} is touched at {at}, where it has no memory")


def _within_64_bits(value: int) -> int:
    assert _LEAST <= value <= _MOST, f"{value} is more than 64 bits hold"
    return value


def _wrap(type: Type) -> Callable[[Any], Any]:
    if not type.is_float:
        low, mask = type.min_value, (1 << type.bits) - 1
        return lambda value: (int(value) - low & mask) + low
    return float if type.bits == 64 else lambda value: float(np.float32(value))


def _in_lanes(node: Expr) -> Callable[..., Any]:
    """An operator or conversion, lane by lane if there are several lanes."""
    single, lanes = _single(node), node.type.lanes
    if lanes == 1:
        return single

    def each(*parts: Any) -> list[Any]:
        rows = (part if isinstance(part, list) else [part] * lanes for part in parts)
        return [single(*row) for row in zip(*rows, strict=True)]

    return each


@cache
def _bits(name: str, type: Type, value: int) -> int:
    """A count of the bits of a number; its formula is long, and the same numbers come again."""
    return read(bit_count(name, type), {VALUE: value}, INTEGERS)


def _single(node: Expr) -> Callable[..., Any]:
    wrap = _wrap(node.type.element)
    match node:
        case Cast() | Op(name="reinterpret"):
            return wrap
        case Op(name="div") if node.type.is_float:
            return lambda a, b: wrap(a / b)
        case Op(name=name) if name in SAYING:
            return lambda value, *_: wrap(value)
        case Op(name=name) if name in BIT_COUNTS:
            type = node.args[0].type.element
            return lambda value: wrap(_bits(name, type, value))
        case Op(name=name):
            apply = INTEGERS.operators[name]
            return lambda *parts: wrap(apply(*parts))
    raise TypeError(f"{node!r} has no meaning here")


def _picked(parts: tuple[Any, ...], picks: tuple[int, ...]) -> list[Any]:
    joined = [value for part in parts for value in part]
    return [joined[pick] for pick in picks]
