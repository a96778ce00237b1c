"""Reads formulas as machine code: loops over a lattice of values, compiled by LLVM.

The values are arrays that broadcast together, such as the open mesh of a lattice of tile sizes. A
part of a formula may vary along some axes only. Loops over these axes compute it once for each of
their values and keep it in a table. So the loops over the whole lattice have little to do.

Results equal those of :data:`~spaces.model.formulas.algebra.ARRAYS`, bit for bit. Numbers are int64
here as there and wrap beyond it. A constant part (of literals and sizes) beyond int64 has no
reading here: then :class:`~spaces.model.formulas.instructions.NotNativeError` tells the caller to
read arrays of Python's ints instead.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, TypeAlias

import numpy as np
from attrs import field, frozen
from numpy.typing import ArrayLike, NDArray

from spaces.machine_code import CompiledModule, compile_module
from spaces.model.expressions.expr import Call, Expr, Op, Variable, constant, walk
from spaces.model.expressions.types import Bool, Type
from spaces.model.formulas.algebra import INTEGERS, FormulaError, read_all
from spaces.model.formulas.corners import Ends
from spaces.model.formulas.instructions import (
    LANES,
    NUMBER,
    REAL,
    TRUTH,
    Instructions,
    NotNativeError,
    Operand,
    declarations,
    number,
)

Axes: TypeAlias = tuple[int, ...]
"""The axes of a lattice along which a value varies, in order."""

_DTYPES = {TRUTH: np.bool_, NUMBER: np.int64, REAL: np.float64}


def read_native(formula: Expr, values: Mapping[str, ArrayLike]) -> NDArray[Any]:
    """The value of ``formula`` for each element of ``values``, which broadcast together; as bools,
    int64 or float64 in a shape that broadcasts to theirs.

    Raises:
        FormulaError: a parameter has no value, or ``formula`` is not a formula.
        NotNativeError: ``formula`` has numbers that machine code does not calculate with.
    """
    missing = sorted(formula.names - set(values))
    if missing:
        raise FormulaError(f"The parameter {missing[0]} of a formula has no value.")
    arrays = {n: np.asarray(v) for n, v in values.items() if n in formula.names}
    shape = np.broadcast_shapes(*(a.shape for a in arrays.values()))
    known = {n: int(a.item()) for n, a in arrays.items() if a.size == 1}
    varying = {
        name: array.astype(np.int64, copy=False).reshape(
            (1,) * (len(shape) - array.ndim) + array.shape
        )
        for name, array in arrays.items()
        if name not in known
    }
    axes = {
        n: tuple(i for i, length in enumerate(a.shape) if length != 1) for n, a in varying.items()
    }
    if 0 in shape:
        return np.zeros(shape, _DTYPES[_kind(formula.type)])
    short = frozenset(i for i, length in enumerate(shape) if length < LANES)
    at = tuple(sorted(known.items()))
    columns = tuple((name, axes[name], _ends(varying[name])) for name in sorted(axes))
    loops = native_loops(formula, at, columns, short)
    return loops.fill(varying, shape)


def all_hold(conditions: Iterable[Expr], values: Mapping[str, ArrayLike]) -> NDArray[np.bool_]:
    """Where all conditions hold, like :func:`read_native` of each. Conditions that vary along the
    same axes share a table.
    """
    axes = {
        name: frozenset(-i for i, n in enumerate(reversed(np.shape(value))) if n != 1)
        for name, value in values.items()
    }
    groups: dict[frozenset[int], list[Expr]] = {}
    for condition in conditions:
        varying = frozenset().union(*(axes[name] for name in condition.names if name in axes))
        groups.setdefault(varying, []).append(condition)
    parts = (reduce(_both, groups[g]) for g in sorted(groups, key=lambda g: (len(g), sorted(g))))
    always: Expr = constant(True, Bool)
    return read_native(reduce(_both, parts, always), values)


def _both(a: Expr, b: Expr) -> Expr:
    return Op(Bool, "and", (a, b))


@frozen(eq=False)
class _Stage:
    """A nest of loops that fills tables.

    Attributes:
        axes: of the loops, outermost first.
        results: the expressions whose values it stores.
        inputs: the expressions whose values it loads, and the axes of their tables.
    """

    axes: Axes
    results: tuple[Expr, ...]
    inputs: Mapping[Expr, Axes]
    name: str = "fill"


@frozen(eq=False)
class NativeLoops:
    """Machine code that computes a formula over a lattice.

    Attributes:
        formula: the formula.
        stages: the nests of loops, in the order of their execution; the last one stores the value
            of the formula.
    """

    formula: Expr
    stages: tuple[_Stage, ...]
    code: CompiledModule = field(repr=False)

    def fill(
        self, columns: Mapping[str, NDArray[np.int64]], shape: tuple[int, ...]
    ) -> NDArray[Any]:
        """The value of the formula in a lattice of ``shape``; ``columns`` are the values of its
        parameters, each along its own axes.
        """
        tables: dict[Expr, NDArray[Any]] = {}
        for stage in self.stages:
            inputs = [
                np.ascontiguousarray(columns[node.name])
                if isinstance(node, Variable)
                else tables[node]
                for node in stage.inputs
            ]
            lengths = [n if i in stage.axes else 1 for i, n in enumerate(shape)]
            results: list[NDArray[Any]] = [
                np.empty(lengths, _DTYPES[_kind(node.type)]) for node in stage.results
            ]
            tables.update(zip(stage.results, results, strict=True))
            pointers = [table.ctypes.data for table in (*inputs, *results)]
            sizes = [shape[axis] for axis in stage.axes]
            parameters = [ctypes.c_void_p] * len(pointers) + [ctypes.c_int64] * len(sizes)
            function = ctypes.CFUNCTYPE(None, *parameters)(self.code.address(stage.name))
            function(*pointers, *sizes)
        return tables[self.formula]


@lru_cache(maxsize=256)
def native_loops(
    formula: Expr,
    known: tuple[tuple[str, int], ...],
    columns: tuple[tuple[str, Axes, Ends], ...],
    short: frozenset[int],
) -> NativeLoops:
    """The machine code of a formula.

    Args:
        formula: the formula.
        known: the parameters with one value.
        columns: the other parameters, each with the axes along which it varies, and numbers between
            which its values lie.
        short: the axes with fewer values than a vector has lanes.
    """
    plan = _Plan.of(formula, dict(known), columns)
    stages = plan.stages()
    text = declarations(1) + declarations(LANES)
    text += "\n".join(plan.text(stage, short) for stage in stages)
    return NativeLoops(formula, stages, compile_module(text))


def _ends(column: NDArray[np.int64]) -> Ends:
    """Numbers between which all values lie: powers of two, so that many columns share code."""
    low, high = int(column.min()), int(column.max())
    most = (1 << max(abs(low), abs(high)).bit_length()) - 1
    return (min(low, 1) if low >= 0 else -most), most


def _kind(type: Type) -> str:
    if type.is_float and type.bits == 64:
        return REAL
    if type.is_float or type.lanes > 1 or (type.is_uint and type.bits == 64):
        raise NotNativeError(f"Machine code of formulas has no numbers of {type}.")
    return TRUTH if type.is_bool else NUMBER


@frozen(eq=False)
class _Plan:
    """How the parts of a formula are divided among loops.

    Attributes:
        axes: the axes along which each part varies.
        constants: the values of integer parts that do not vary.
        tabled: the parts that vary along fewer axes than a part that needs them.
        ends: of parameters, and of parts whose code is written, the numbers between which their
            values lie; None if unknown.
    """

    formula: Expr
    axes: Mapping[Expr, Axes]
    constants: Mapping[Expr, Operand]
    tabled: tuple[Expr, ...]
    ends: dict[Expr, Ends | None] = field(factory=dict)

    @staticmethod
    def of(
        formula: Expr, known: Mapping[str, int], columns: Iterable[tuple[str, Axes, Ends]]
    ) -> _Plan:
        varying = {name: axes for name, axes, _ in columns}
        limits = {name: ends for name, _, ends in columns}
        axes: dict[Expr, Axes] = {}
        tabled: dict[Expr, None] = {}
        for node in walk(formula):
            _kind(node.type)
            if isinstance(node, Call):
                raise FormulaError(f"`{node}` has no meaning in a formula over integers.")
            own = (varying[name] for name in node.names if name in varying)
            axes[node] = tuple(sorted(frozenset().union(*own)))
            for child in node.children:
                if axes[child] and axes[child] != axes[node] and not isinstance(child, Variable):
                    tabled[child] = None
        fixed = tuple(n for n, own in axes.items() if not own and not n.has_floats)
        numbers = read_all(fixed, known, INTEGERS)
        constants = {n: number(int(v)) for n, v in zip(fixed, numbers, strict=True)}
        ends: dict[Expr, Ends | None] = {
            node: limits[node.name]
            for node in axes
            if isinstance(node, Variable) and node.name in limits
        }
        return _Plan(formula, axes, constants, tuple(tabled), ends)

    def stages(self) -> tuple[_Stage, ...]:
        """The nests of loops, those of few axes first; the last one is for the whole formula."""
        groups: dict[Axes, list[Expr]] = {}
        for node in self.tabled:
            groups.setdefault(self.axes[node], []).append(node)
        stages = [
            self._stage(axes, tuple(groups[axes]), place)
            for place, axes in enumerate(sorted(groups, key=lambda a: (len(a), a)))
        ]
        last = self._stage(self.axes[self.formula], (self.formula,), len(stages))
        return (*stages, last)

    def _stage(self, axes: Axes, results: tuple[Expr, ...], place: int) -> _Stage:
        tabled = frozenset(self.tabled)
        inputs: dict[Expr, Axes] = {}
        seen: set[Expr] = set()
        stack = list(results)
        while stack:
            node = stack.pop()
            if node in seen or not self.axes[node]:
                continue
            seen.add(node)
            is_made_before = node in tabled and self.axes[node] != axes
            if is_made_before or isinstance(node, Variable):
                inputs[node] = self.axes[node]
            else:
                stack.extend(node.children)
        return _Stage(axes, results, inputs, f"fill{place}")

    def text(self, stage: _Stage, short: frozenset[int]) -> str:
        """The nest of a stage as a function in LLVM's language. Its innermost loop goes over
        vectors, if it is not short.
        """
        has_vectors = stage.axes and stage.axes[-1] not in short
        writer = _NestWriter(stage, Instructions(LANES if has_vectors else 1))
        done: dict[Expr, Operand] = {**self.constants}
        for node, operand in writer.open().items():
            done[node] = operand._replace(ends=self.ends[node])
        values = read_all(stage.results, {}, writer.body.reading, done)
        self.ends.update((n, v.ends) for n, v in zip(stage.results, values, strict=True))
        return writer.close(values)


@frozen(eq=False)
class _NestWriter:
    """Writes the function of one stage: ``%t`` are its tables, ``%n`` the lengths of its loops and
    ``%i`` their indices. Where the lanes of the last vector would reach beyond the end of the
    innermost loop, the vector begins earlier, and some results are computed twice.
    """

    stage: _Stage
    body: Instructions

    def open(self) -> dict[Expr, Operand]:
        """Begins the loops; returns the values of the inputs, each loaded in the outermost loop
        that determines it.
        """
        loaded: dict[Expr, Operand] = {}
        lines = self.body.lines
        before = "entry"
        for axis in self.stage.axes:
            lines.append(f"  br label %head{axis}")
            lines.append(f"head{axis}:")
            lines.append(f"  %at{axis} = phi i64 [ 0, %{before} ], [ %next{axis}, %tail{axis} ]")
            lines.append(f"  %last{axis} = sub nuw nsw i64 %n{axis}, {self._lanes(axis)}")
            lines.append(f"  %i{axis} = call i64 @llvm.smin.i64(i64 %at{axis}, i64 %last{axis})")
            before = f"head{axis}"
            for table, (node, axes) in enumerate(self.stage.inputs.items()):
                if axes[-1:] == (axis,):
                    loaded[node] = self._load(table, _kind(node.type), axes)
        return loaded

    def _lanes(self, axis: int) -> int:
        """The values along an axis that an iteration works on at once."""
        return self.body.lanes if axis == self.stage.axes[-1] else 1

    def close(self, results: Sequence[Operand]) -> str:
        """Stores the results and ends the loops and the function."""
        lines = self.body.lines
        stores = []
        first = len(self.stage.inputs)
        for table, (node, value) in enumerate(zip(self.stage.results, results, strict=True), first):
            kind = _kind(node.type)
            place = self._address(table, kind, self.stage.axes)
            stored = self._converted(value, kind)
            in_memory = self._in_memory(kind, self.stage.axes)
            stores.append(
                f"  store {in_memory} {stored.text}, ptr {place.text}, align {_bytes(kind)}"
            )
        lines += stores
        for axis in reversed(self.stage.axes):
            lines += (
                f"  br label %tail{axis}",
                f"tail{axis}:",
                f"  %next{axis} = add nuw nsw i64 %at{axis}, {self._lanes(axis)}",
                f"  %more{axis} = icmp ult i64 %next{axis}, %n{axis}",
                f"  br i1 %more{axis}, label %head{axis}, label %done{axis}",
                f"done{axis}:",
            )
        tables = (f"ptr noalias %t{i}" for i in range(first + len(self.stage.results)))
        lengths = (f"i64 %n{axis}" for axis in self.stage.axes)
        head = (
            f"define void @{self.stage.name}({', '.join((*tables, *lengths))}) nounwind {{\nentry:"
        )
        return "\n".join((head, *lines, "  ret void", "}"))

    def _converted(self, value: Operand, kind: str) -> Operand:
        """A result as its table keeps it; conditions take a byte."""
        if kind == REAL:
            return self.body.real(value)
        if kind == NUMBER:
            return self.body.number(value)
        truth, byte = self.body.truth(value), self._in_memory(TRUTH, self.stage.axes)
        return self.body.add(f"zext {self.body.type(TRUTH)} {truth.text} to {byte}", TRUTH)

    def _address(self, table: int, kind: str, axes: Axes) -> Operand:
        index = "0"
        for axis in axes:
            if index == "0":
                index = f"%i{axis}"
            else:
                rows = self.body.add(f"mul nuw nsw i64 {index}, %n{axis}", NUMBER)
                index = self.body.add(f"add nuw nsw i64 {rows.text}, %i{axis}", NUMBER).text
        element = _MEMORY[kind]
        return self.body.add(f"getelementptr inbounds {element}, ptr %t{table}, i64 {index}", kind)

    def _load(self, table: int, kind: str, axes: Axes) -> Operand:
        """A value of a table; the same in all lanes, if it does not vary along the vector."""
        place, in_memory = self._address(table, kind, axes), self._in_memory(kind, axes)
        value = self.body.add(f"load {in_memory}, ptr {place.text}, align {_bytes(kind)}", kind)
        is_single = in_memory == _MEMORY[kind]
        if kind == TRUTH:
            bit = TRUTH if is_single else self.body.type(TRUTH)
            value = self.body.add(f"trunc {in_memory} {value.text} to {bit}", TRUTH)
        return self.body.splat(value) if is_single else value

    def _in_memory(self, kind: str, axes: Axes) -> str:
        """The type in memory of what an iteration loads or stores in a table along ``axes``."""
        is_vector = self.body.lanes > 1 and axes[-1] == self.stage.axes[-1]
        return f"<{self.body.lanes} x {_MEMORY[kind]}>" if is_vector else _MEMORY[kind]


_MEMORY = {TRUTH: "i8", NUMBER: NUMBER, REAL: REAL}
"""LLVM's types of values in tables; a condition takes a byte."""


def _bytes(kind: str) -> int:
    return 1 if kind == TRUTH else 8
