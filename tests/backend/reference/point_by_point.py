"""Evaluates pipelines one point at a time, on demand: a second reference, which knows no boxes.

The definitions of a Func, in order, give its value at a point. An update runs for one choice of its
pure Vars, over all points of its reduction domain, and stores into a table.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from attrs import define, field

from spaces.backend.arithmetic import convert, operate
from spaces.model.algorithm.pipeline import Function, Pipeline, Stage
from spaces.model.expressions.definitions import expanded
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Variable

Point: TypeAlias = tuple[int, ...]
Values: TypeAlias = tuple[np.ndarray, ...]
Environment: TypeAlias = Mapping[str, Any]


@define
class PointByPoint:
    """The values of a pipeline's Funcs, for images that begin at 0."""

    pipeline: Pipeline
    inputs: Mapping[str, np.ndarray]
    scalars: Environment = field(factory=dict)
    _stored: dict[tuple[str, int, Point], dict[Point, Values]] = field(init=False, factory=dict)
    _running: dict[tuple[str, int, Point], dict[Point, Values]] = field(init=False, factory=dict)
    _defined: dict[tuple[str, Point], Values] = field(init=False, factory=dict)

    def outputs(self, sizes: Mapping[str, tuple[tuple[int, int], ...]]) -> dict[str, np.ndarray]:
        """The values of each output on its range of (first, extent), innermost first."""
        found: dict[str, np.ndarray] = {}
        for name in self.pipeline.outputs:
            function = self.pipeline.function(name)
            for component, type in enumerate(function.types):
                array = np.zeros(tuple(extent for _, extent in reversed(sizes[name])), type.dtype)
                for place in np.ndindex(array.shape):
                    firsts = (first for first, _ in sizes[name])
                    point = tuple(i + low for i, low in zip(reversed(place), firsts, strict=True))
                    array[place] = self._after(function, len(function.stages), point)[component]
                found[function.buffers[component]] = array
        return found

    def _after(self, function: Function, count: int, point: Point) -> Values:
        """The values at a point after the first definitions of a Func."""
        if count == 1:
            key = (function.name, point)
            if key not in self._defined:
                self._defined[key] = self._pure(function, point)
            return self._defined[key]
        stage, stored = function.stages[count - 1], {}
        kept = _kept(function, stage, point)
        run = (function.name, count, kept)
        if run in self._running:
            stored = self._running[run]
        elif run in self._stored:
            stored = self._stored[run]
        else:
            self._running[run] = stored
            self._update(function, stage, dict(_pure(function, stage, point)), count, stored)
            self._stored[run] = self._running.pop(run)
        return stored[point] if point in stored else self._after(function, count - 1, point)

    def _pure(self, function: Function, point: Point) -> Values:
        stage = function.stages[0]
        env = dict(zip(function.args, point, strict=True))
        if not all(self._value(p, function, 0, env) for p in stage.predicates):
            return tuple(np.zeros((), type.dtype) for type in function.types)
        return tuple(self._value(value, function, 0, env) for value in stage.values)

    def _update(
        self,
        function: Function,
        stage: Stage,
        pure: dict[str, int],
        count: int,
        stored: dict[Point, Values],
    ) -> None:
        for env in self._domain(function, stage, pure, count):
            if all(self._value(p, function, count, env) for p in stage.predicates):
                place = tuple(int(self._value(a, function, count, env)) for a in stage.args)
                stored[place] = tuple(self._value(v, function, count, env) for v in stage.values)

    def _domain(
        self, function: Function, stage: Stage, pure: dict[str, int], count: int
    ) -> Iterator[dict[str, int]]:
        ranges = []
        for r in reversed(stage.rvars):
            low, extent = (int(self._value(e, function, count, {})) for e in (r.min, r.extent))
            ranges.append(range(low, low + extent))
        names = [r.name for r in reversed(stage.rvars)]
        for point in itertools.product(*ranges):
            yield {**pure, **dict(zip(names, point, strict=True))}

    def _value(self, expr: Expr, reader: Function, count: int, env: Environment) -> np.ndarray:
        match expr:
            case Const(value=value):
                return np.asarray(value, expr.type.dtype)
            case Variable(name=name):
                known = env[name] if name in env else self.scalars[name]
                return np.asarray(known, expr.type.dtype)
            case Cast(value=value):
                return convert(expr.type, self._value(value, reader, count, env))
            case Op(name="select", args=(condition, first, second)):
                chosen = first if self._value(condition, reader, count, env) else second
                return self._value(chosen, reader, count, env)
            case Call():
                return self._read(expr, reader, count, env)
            case Op(name=name, args=args):
                plain = expanded(expr)
                if plain is not expr:
                    return self._value(plain, reader, count, env)
                operands = [self._value(a, reader, count, env) for a in args]
                return np.asarray(operate(name, expr.type, operands))
        raise TypeError(expr)

    def _read(self, call: Call, reader: Function, count: int, env: Environment) -> np.ndarray:
        place = tuple(int(self._value(a, reader, count, env)) for a in call.args)
        if call.target in self.inputs:
            assert all(i >= 0 for i in place), "an image is read before its first element"
            return np.asarray(self.inputs[call.target][tuple(reversed(place))])
        function = self.pipeline.function(call.target)
        stages = count if function is reader else len(function.stages)
        return self._after(function, stages, place)[call.component or 0]


def _pure(function: Function, stage: Stage, point: Point) -> Iterator[tuple[str, int]]:
    """The pure Vars that stand alone among the coordinates of a stage, at a point."""
    for arg, name, coordinate in zip(stage.args, function.args, point, strict=True):
        if isinstance(arg, Variable) and arg.name == name:
            yield name, coordinate


def _kept(function: Function, stage: Stage, point: Point) -> Point:
    return tuple(coordinate for _, coordinate in _pure(function, stage, point))
