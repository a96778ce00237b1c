"""Expressions as LLVM values: each is emitted once, in the scope that first needs it.

A scalar int32 coordinate has two forms. As a *value* it has 32 bits and wraps. As an *index* (a
loop bound or part of an address) it has 64 bits and never overflows, as coordinates must not; this
also lets LLVM turn indices into pointer increments. Regions may reach beyond the ends of int32, so
a quotient or minimum that occurs in an index is calculated in 64 bits also for its value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from functools import cached_property, partial
from typing import TypeAlias

from attrs import define, field
from llvmlite import ir

from spaces.backend.ir.statements import Store, updated
from spaces.backend.ir.vectors import (
    AnyLane,
    Broadcast,
    Load,
    MaskedLoad,
    Ramp,
    Shuffle,
    VectorReduce,
)
from spaces.backend.llvm.addresses import Addresses
from spaces.backend.llvm.exact import ExactConditions
from spaces.backend.llvm.float_ranges import UNKNOWN, float_range
from spaces.backend.llvm.indices import lane_terms, scaled, step_of, terms_of
from spaces.backend.llvm.insertion_point import InsertionPoint
from spaces.backend.llvm.instructions import instruction
from spaces.backend.llvm.operators import literal, llvm_type
from spaces.backend.llvm.runtime.blocks import I32, I64, Value, i64
from spaces.backend.llvm.words import local_bytes
from spaces.model.expressions.expr import Cast, Const, Expr, Op, Variable, walk
from spaces.model.expressions.operators import COMPARISONS, LOGIC
from spaces.model.expressions.types import Int32, Int64, Type


class Form(Enum):
    """The form of a coordinate."""

    VALUE = "value"
    INDEX = "index"

    __hash__ = object.__hash__  # Enum hashes the name each time


Key: TypeAlias = tuple[Expr, Form]

_WIDEST = 8
"""The bytes of the widest element."""

_INDEX_OPERATORS = ("add", "sub", "mul", "div", "mod", "min", "max", "select")
_NOTHING: frozenset[str] = frozenset()
_WITHOUT_OVERFLOW = {"add": "add", "sub": "sub", "mul": "mul"}


@define
class Expressions:
    """The values of expressions inside one function.

    Attributes:
        here: where new code goes.
        entry: the end of the function's first block, for values that never vary.
        variables: loop variables, sizes and int32 scalars in 64 bits, other scalars as they are.
        buffers: the address of each buffer in scope.
        types: the element type of each buffer.
        coordinates: operations that never overflow, also where their value is used.
    """

    here: InsertionPoint
    entry: InsertionPoint
    variables: dict[str, Value]
    buffers: dict[str, Value]
    types: Mapping[str, Type]
    coordinates: frozenset[Expr] = frozenset()
    _fixed_names: frozenset[str] = field(init=False)
    _scopes: list[dict[Key, Value]] = field(init=False)
    _read: dict[Key, Value] = field(init=False, factory=dict)
    _readers: dict[str, list[Key]] = field(init=False, factory=dict)
    """The keys of ``_read`` that a write to a buffer makes invalid."""
    _sources: dict[Expr, frozenset[str]] = field(init=False, factory=dict)
    _addresses: Addresses = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._fixed_names = frozenset(self.variables)
        self._addresses = Addresses(self, frozenset(self.buffers))
        self._scopes = [{}]

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A part of the function that may not run: values emitted in it are forgotten after it."""
        self.forget_memory()
        self._scopes.append({})
        with self._addresses.scope():
            yield
        self._scopes.pop()
        self.forget_memory()

    @contextmanager
    def inside(self, name: str, index: Value) -> Iterator[None]:
        """The body of a loop over the variable ``name``: a part of the function, like
        :meth:`scope`.
        """
        outside = self.variables.get(name)
        self.variables[name] = index
        with self._addresses.inside(name), self.scope():
            yield
        if outside is None:
            del self.variables[name]
        else:
            self.variables[name] = outside

    def forget_memory(self) -> None:
        """Forgets all values read from memory: the next statement reads them again."""
        self._read, self._readers = {}, {}
        self._addresses.forget_memory()

    def forget(self, buffer: str) -> None:
        """Forgets the values read from one buffer, because they may have changed."""
        for key in self._readers.pop(buffer, ()):
            self._read.pop(key, None)
        self._addresses.forget_memory()

    def index(self, expr: Expr) -> Value:
        """A scalar coordinate in 64 bits."""
        return self._emit((expr, Form.INDEX))

    def value(self, expr: Expr) -> Value:
        """The value of an expression in its own type."""
        return self._emit((expr, Form.VALUE))

    def condition(self, expr: Expr) -> Value:
        """A scalar condition, in which coordinates do not overflow. A condition on sizes and
        parameters alone is calculated with mathematical integers, whatever their size.
        """
        if not isinstance(expr, Op) or expr.type.lanes > 1:
            return self.value(expr)
        if self.is_fixed(expr) and not expr.has_floats:
            return self._exact.emit(expr)
        if expr.name in LOGIC or (expr.name == "select" and expr.type.is_bool):
            parts = [self.condition(a) for a in expr.args]
            return self.here.operators.op(expr.name, expr.type, (expr.type,), parts)
        if expr.name in COMPARISONS and all(a.type == Int32 and not a.loads for a in expr.args):
            ends = [self.index(a) for a in expr.args]
            return self.here.operators.op(expr.name, expr.type, (Int64,), ends)
        return self.value(expr)

    def ready(self, store: Store) -> Callable[[], None]:
        """Evaluates the value, scalar or vector, and the address of a store. Returns a function
        that emits the store; with a mask, only in its lanes.
        """
        if store.update is not None and store.update.shared:
            return self._in_one_step(store, store.update.operator)
        store = updated(store)
        buffer, index, value, mask = store.buffer, store.index, store.value, store.mask
        held, memory = self.value(value), self.here.memory
        step = step_of(index)
        if mask is not None:
            lanes = self.value(mask)
            if step == 1 and isinstance(index, Ramp):
                address = self.address(buffer, index.base)
                return partial(memory.store_masked, buffer, address, held, value.type, lanes)
            addresses, kept = self._addresses.of_lanes(buffer, index), (lanes, self._spare)
            return partial(memory.store_lanes, buffer, held, value.type, addresses, kept)
        if step in (0, 1):
            base = index.base if isinstance(index, Ramp) else index
            return partial(memory.store, buffer, self.address(buffer, base), held, value.type)
        addresses = self._addresses.of_lanes(buffer, index)
        return partial(memory.store_lanes, buffer, held, value.type, addresses)

    def _in_one_step(self, store: Store, operator: str) -> Callable[[], None]:
        """Updates one element in an atomic step, because other threads may update it too."""
        held, memory = self.value(store.value), self.here.memory
        address = self.address(store.buffer, store.index)
        return partial(memory.update, store.buffer, address, operator, held, store.value.type)

    def address(self, buffer: str, index: Expr) -> Value:
        """The address of the element at a scalar index."""
        return self._addresses.of_element(buffer, index)

    def _emit(self, wanted: Key) -> Value:
        """Emits ``wanted`` after everything that it needs, without recursion: expressions may be
        deep.
        """
        stack = [wanted]
        begun: set[Key] = set()
        while stack:
            key = stack[-1]
            if self._known(key) is not None:
                stack.pop()
                continue
            if key not in begun:
                begun.add(key)
                stack.extend(n for n in reversed(self._needs(key)) if self._known(n) is None)
                continue
            stack.pop()
            fixed = self.is_fixed(key[0])
            scope = self._scopes[0] if fixed else self._scopes[-1]
            if key[0].loads:
                scope = self._read
                for buffer in self._buffers_of(key[0]):
                    self._readers.setdefault(buffer, []).append(key)
            scope[key] = self._node(key, self.entry if fixed else self.here)
        value = self._known(wanted)
        assert value is not None
        return value

    def _known(self, key: Key) -> Value | None:
        if key in self._read:
            return self._read[key]
        for scope in reversed(self._scopes):
            if key in scope:
                return scope[key]
        return None

    def _buffers_of(self, expr: Expr) -> frozenset[str]:
        """The buffers that an expression reads."""
        for node in walk(expr, known=self._sources):
            found = frozenset((node.buffer,)) if isinstance(node, Load | MaskedLoad) else _NOTHING
            if node.loads:
                found = found.union(*(self._sources[child] for child in node.children))
            self._sources[node] = found
        return self._sources[expr]

    def is_fixed(self, expr: Expr) -> bool:
        """Whether a scalar is the same throughout the function."""
        return not expr.loads and expr.names <= self._fixed_names

    def _needs(self, key: Key) -> list[Key]:
        """The values that a node needs before it is emitted."""
        node, form = key
        if form is Form.INDEX:
            match node:
                case Const() | Variable():
                    return []
                case Op(name="select", args=(condition, a, b)):
                    return [(condition, Form.VALUE), (a, Form.INDEX), (b, Form.INDEX)]
                case Op(name=name) if name in _INDEX_OPERATORS:
                    return [(a, Form.INDEX) for a in node.args]
                case _:
                    return [(node, Form.VALUE)]
        if node in self.coordinates:
            return [(node, Form.INDEX)]
        if isinstance(node, MaskedLoad):
            part = Load(node.type, node.buffer, node.index)
            return [*self._needs((part, form)), (node.mask, Form.VALUE)]
        special = instruction(node) if node.type.lanes > 1 else None
        if special is not None:
            return [(c, Form.VALUE) for c in special.operands]
        if not isinstance(node, Load):
            return [(c, Form.VALUE) for c in node.children]
        if isinstance(node.index, Shuffle):
            loads = (Load(node.type, node.buffer, part) for part in node.index.parts)
            return [need for load in loads for need in self._needs((load, form))]
        if step_of(node.index) is not None:
            base = node.index.base if isinstance(node.index, Ramp) else node.index
            return [(t, Form.INDEX) for _, t in terms_of(base)]
        shared, varying = lane_terms(node.index)
        parts = [scaled(term) for _, term in varying]
        wide = [*(t for _, t in shared), *(scale for _, scale in parts if scale is not None)]
        return [(t, Form.INDEX) for t in wide] + [(t, Form.VALUE) for t, _ in parts]

    def _node(self, key: Key, point: InsertionPoint) -> Value:
        node, form = key
        if form is Form.INDEX:
            return self._index_node(node, point)
        if node in self.coordinates:
            return point.builder.trunc(self._child(node, Form.INDEX), I32)
        special = instruction(node) if node.type.lanes > 1 else None
        if special is not None:
            operands = [self._child(c) for c in special.operands]
            return point.operators.intrinsic(special.intrinsic, llvm_type(node.type), *operands)
        match node:
            case Const():
                return literal(node.type, node.value)
            case Variable():
                held = self.variables[node.name]
                return point.builder.trunc(held, I32) if node.type == Int32 else held
            case Load():
                return self._load(node, point)
            case MaskedLoad():
                return self._masked_load(node, point)
            case AnyLane(lanes=lanes):
                bits = point.builder.bitcast(self._child(lanes), ir.IntType(lanes.type.lanes))
                return point.builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))
            case VectorReduce(operator=operator, lanes=lanes):
                return point.operators.reduced(operator, lanes.type, self._child(lanes))
            case Broadcast(value=Const() as single):
                return literal(node.type, single.value)
            case Broadcast():
                return point.memory.broadcast(self._child(node.value), llvm_type(node.type))
            case Ramp():
                return self._ramp(node, point)
            case Shuffle(parts=parts, picks=picks):
                return point.memory.shuffle([self._child(p) for p in parts], picks)
            case Cast():
                limits = float_range(node.value) if node.value.type.is_float else UNKNOWN
                value = self._child(node.value)
                return point.operators.convert(node.value.type, node.type, value, limits)
            case Op():
                args = [self._child(a) for a in node.args]
                kinds = [a.type for a in node.args]
                return point.operators.op(node.name, node.type, kinds, args)
        raise TypeError(f"{type(node).__name__} cannot be compiled: `{node}`")

    def _child(self, expr: Expr, form: Form = Form.VALUE) -> Value:
        value = self._known((expr, form))
        assert value is not None
        return value

    def _index_node(self, node: Expr, point: InsertionPoint) -> Value:
        match node:
            case Const(value=value):
                return i64(int(value))
            case Variable(name=name):
                return self.variables[name]
            case Op(name="select", args=(condition, a, b)):
                arms = self._child(a, Form.INDEX), self._child(b, Form.INDEX)
                return point.builder.select(self._child(condition), *arms)
            case Op(name=name) if name in _INDEX_OPERATORS:
                args = [self._child(a, Form.INDEX) for a in node.args]
                if name in _WITHOUT_OVERFLOW:
                    return getattr(point.builder, name)(*args, flags=["nsw"])
                return point.operators.op(name, Int64, (Int64,), args)
        return point.builder.sext(self._child(node), I64)

    def _ramp(self, node: Ramp, point: InsertionPoint) -> Value:
        kind = llvm_type(node.type)
        base = point.memory.broadcast(self._child(node.base), kind)
        lanes = range(node.type.lanes)
        if isinstance(node.stride, Const):
            steps = [ir.Constant(I32, lane * int(node.stride.value)) for lane in lanes]
            return point.builder.add(base, ir.Constant(kind, steps))
        numbers = ir.Constant(kind, [ir.Constant(I32, lane) for lane in lanes])
        stride = point.memory.broadcast(self._child(node.stride), kind)
        return point.builder.add(base, point.builder.mul(stride, numbers))

    def _load(self, node: Load, point: InsertionPoint) -> Value:
        memory, step = point.memory, step_of(node.index)
        if step is None:
            addresses = self._addresses.of_lanes(node.buffer, node.index)
            return memory.load_lanes(node.buffer, node.type, addresses)
        base = node.index.base if isinstance(node.index, Ramp) else node.index
        address = self.address(node.buffer, base)
        if step == 0:
            return memory.load(node.buffer, address, node.type)
        return memory.load_strided(node.buffer, address, node.type, step)

    def _masked_load(self, node: MaskedLoad, point: InsertionPoint) -> Value:
        memory, step, mask = point.memory, step_of(node.index), self._child(node.mask)
        if step in (1, -1) and isinstance(node.index, Ramp):
            address = self.address(node.buffer, node.index.base)
            return memory.load_masked(node.buffer, address, node.type, step, mask)
        addresses = self._addresses.of_lanes(node.buffer, node.index)
        return memory.load_lanes(node.buffer, node.type, addresses, (mask, self._zeros))

    @cached_property
    def _exact(self) -> ExactConditions:
        """The conditions that never vary."""
        return ExactConditions(self.entry.operators, self.variables)

    @cached_property
    def _zeros(self) -> Value:
        """The address from which inactive lanes load."""
        place = local_bytes(self.entry.builder, _WIDEST)
        self.entry.builder.store(i64(0), place, align=8)
        return place

    @cached_property
    def _spare(self) -> Value:
        """The address to which inactive lanes store."""
        return local_bytes(self.entry.builder, _WIDEST)
