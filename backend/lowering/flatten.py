"""Replace accesses at coordinates by accesses to flat memory: strides, and folds as modulo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from attrs import evolve, field, frozen

from spaces.backend.ir.identities import coordinate
from spaces.backend.ir.node import map_children
from spaces.backend.ir.program import BufferParameter, LoopProgram
from spaces.backend.ir.sizes import times
from spaces.backend.ir.statements import (
    Allocate,
    BufferDimension,
    If,
    Invoke,
    Prefetch,
    Provide,
    Statement,
    Store,
)
from spaces.backend.ir.vectors import Load
from spaces.backend.ir.walk import map_own
from spaces.backend.lowering.analyses.conditions import conjuncts
from spaces.backend.lowering.passes import named
from spaces.constraints.reasoning.formulas import all_of
from spaces.model.expressions.expr import Call, Const, Expr, Op, Variable, constant
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Int32
from spaces.model.formulas.simplify import Simplifier
from spaces.model.recursion import deeper


@frozen
class Layout:
    """The places of a buffer's elements: first coordinate, stride and fold of each dimension."""

    mins: tuple[Expr, ...]
    strides: tuple[Expr, ...]
    folds: tuple[Expr | None, ...]

    is_scratch: bool

    def index(self, args: tuple[Expr, ...], simplify: Simplifier) -> Expr:
        """The flat index of the element at ``args``.

        In scratch, coordinates count from the first one of its box, which mostly cancels. In
        buffers of the caller, the index adds the terms that vary with the coordinates first and the
        fixed terms last, so that the fixed part can move to the pointer.
        """
        moving: Expr = constant(0, Int32)
        fixed: Expr = constant(0, Int32)
        for arg, low, stride, fold in zip(args, self.mins, self.strides, self.folds, strict=True):
            if fold is not None:
                arg = Op(Int32, "mod", (arg, fold))
            elif self.is_scratch:
                arg = simplify(arg - low)
            else:
                fixed = coordinate("add", fixed, times(low, stride))
            moving = coordinate("add", moving, times(arg, stride))
        return coordinate("sub", moving, fixed)

    def where(self, strides: Mapping[str, Expr]) -> Layout:
        """The layout with numbers for the strides of some names."""
        return evolve(self, strides=tuple(_named_in(strides, s) for s in self.strides))


@named("flatten")
def flatten(program: LoopProgram) -> LoopProgram:
    """The program with ``Load`` and ``Store`` in place of ``Call`` and ``Provide``."""
    return _flattened(program, lambda node, layout: ())


@named("flatten")
def flatten_with_dimensions(program: LoopProgram) -> LoopProgram:
    """The flat program. Its allocations keep their dimensions, which tell the coordinates of each
    place in memory.
    """
    return _flattened(program, _dimensions)


_Kept: TypeAlias = Callable[[Allocate, Layout], tuple[BufferDimension, ...]]
"""The dimensions that a flat allocation keeps."""


def _flattened(program: LoopProgram, kept: _Kept) -> LoopProgram:
    known = strides_in(all_of(program.assumptions))
    layouts = {b.name: _parameter(b).where(known) for b in program.buffers}
    return evolve(program, body=_Flattening(layouts, kept, Simplifier()).statement(program.body))


def _dimensions(node: Allocate, layout: Layout) -> tuple[BufferDimension, ...]:
    """The dimensions of an allocation; along a folded one, coordinates count modulo its fold."""
    places = zip(layout.mins, node.extents, layout.strides, layout.folds, strict=True)
    return tuple(
        BufferDimension(low if fold is None else constant(0, Int32), extent, stride)
        for low, extent, stride, fold in places
    )


def _parameter(buffer: BufferParameter) -> Layout:
    def variables(part: str) -> tuple[Expr, ...]:
        numbers = range(buffer.dimensions)
        return tuple(Variable(Int32, f"{buffer.name}.{part}.{d}") for d in numbers)

    strides = tuple(
        variable if step is None else constant(step, Int32)
        for step, variable in zip(buffer.steps, variables("stride"), strict=True)
    )
    return Layout(variables("min"), strides, (None,) * buffer.dimensions, is_scratch=False)


@frozen
class _Flattening:
    layouts: Mapping[str, Layout]
    kept: _Kept
    simplify: Simplifier
    done: dict[Expr, Expr] = field(factory=dict)

    def statement(self, statement: Statement) -> Statement:
        match statement:
            case Allocate(buffer=name):
                layout = _allocated(statement)
                inner = _Flattening({**self.layouts, name: layout}, self.kept, self.simplify)
                return evolve(
                    statement,
                    mins=(),
                    extents=(),
                    folds=(),
                    order=(),
                    dimensions=self.kept(statement, layout),
                    body=deeper(inner.statement, statement.body),
                )
            case If(condition=condition) if known := strides_in(condition):
                layouts = {name: layout.where(known) for name, layout in self.layouts.items()}
                inside = _Flattening(layouts, self.kept, self.simplify)
                otherwise = statement.otherwise
                return If(
                    condition,
                    inside.statement(statement.body),
                    None if otherwise is None else self.statement(otherwise),
                )
            case Prefetch(buffer=name, at=at):
                return Prefetch(name, (self._index(name, tuple(self.value(a) for a in at)),))
            case Invoke():
                mins = tuple(map(self.value, statement.mins))
                places = zip(statement.arrays, statement.parts(mins), strict=True)
                return evolve(
                    statement,
                    mins=mins,
                    extents=tuple(map(self.value, statement.extents)),
                    scalars=tuple(map(self.value, statement.scalars)),
                    strides=tuple(
                        stride for name in statement.arrays for stride in self.layouts[name].strides
                    ),
                    offsets=tuple(self._index(name, at) for name, at in places),
                )
            case Provide(func=name, args=args, value=value, update=update):
                index = self._index(name, tuple(self.value(a) for a in args))
                return Store(name, index, self.value(value), update=update)
            case _:
                return map_children(map_own(statement, self.value), self.statement)

    def value(self, value: Expr) -> Expr:
        return rewrite(value, self._load, self.done)

    def _load(self, node: Expr) -> Expr:
        if isinstance(node, Call):
            return Load(node.type, node.target, self._index(node.target, node.args))
        return node

    def _index(self, name: str, args: tuple[Expr, ...]) -> Expr:
        return self.layouts[name].index(args, self.simplify)


def strides_in(condition: Expr) -> dict[str, Expr]:
    """The strides that a condition fixes, by name."""
    found: dict[str, Expr] = {}
    for part in conjuncts(condition):
        match part:
            case Op(name="eq", args=(Variable(name=name), Const() as number)):
                if ".stride." in name:
                    found[name] = number
    return found


def _named_in(strides: Mapping[str, Expr], stride: Expr) -> Expr:
    return strides.get(stride.name, stride) if isinstance(stride, Variable) else stride


def _allocated(node: Allocate) -> Layout:
    stride: Expr = constant(1, Int32)
    strides = [stride] * len(node.extents)
    for d in node.order:
        strides[d] = stride
        stride = times(node.extents[d], stride)
    return Layout(node.mins, tuple(strides), node.folds, is_scratch=True)
