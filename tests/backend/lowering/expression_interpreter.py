"""Values of expressions of a loop program in plain Python, and the buffers that they are read from.

Each buffer is a dictionary from coordinates (before flattening) or flat indices (after) to values.
Every access must be inside its buffer. An element that was never stored holds garbage, one of two
values, so that two runs show whether a program uses it.

Code of CPUs calculates in the same way: bounds of loops, sizes, comparisons of coordinates and
scalar indices in 64 bits, everything else in the bits of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import cache, reduce
from operator import itemgetter
from typing import Any, NoReturn, TypeAlias

import numpy as np
from attrs import define, field

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
class Buffer:
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


class Values:
    """The values of expressions while a program runs."""

    def __init__(
        self,
        variables: dict[str, Any],
        buffers: dict[str, Buffer],
        negative: bool,
    ) -> None:
        self.variables = variables
        self.buffers = buffers
        self.negative = negative
        self._steps: dict[_Key, list[_Step]] = {}
        self._terms: dict[Expr, list[tuple[int, Expr]]] = {}

    def read(self, name: str, at: Any) -> Any:
        buffer = self.buffers[name]
        if at in buffer.cells:
            return buffer.cells[at]
        if buffer.is_complete or not buffer.holds(at):
            raise_outside(buffer, at)
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

    def places(self, index: Expr) -> Any:
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
            return _picked([self.places(part) for part in index.parts], index.picks)
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
                return lambda *at: self.read(name, self.buffers[name].place(at))
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
        places = self.places(node.index)
        if node.type.lanes == 1:
            return self.read(node.buffer, places)
        if mask is None:
            return [self.read(node.buffer, at) for at in places]
        lanes = zip(places, mask, strict=True)
        return [self.read(node.buffer, at) if keep else 0 for at, keep in lanes]


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


def raise_outside(buffer: Buffer, at: Any) -> NoReturn:
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
