"""Update stages: their points in the order of the reduction domain, the pure Vars as arrays.

Iterations that differ only in pure Vars are independent, because a Func may read itself only with
the same pure Vars in the same places. So NumPy computes all of them at once, and a loop runs over
the points of the reduction domain, ``r.x`` fastest. Two forms need no such loop for the same bits:
an accumulation ``f(i) = f(i) op e`` and an assignment ``f(i) = e``, if neither ``i`` nor ``e``
reads ``f``. NumPy applies both element by element, in order. For a Tuple, each component must have
the form, and all values at a point are computed before one of them is stored.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from attrs import frozen

from spaces.backend.arguments import Array
from spaces.backend.reference.boxes import IntegerBox, Values, box_of, covers, mesh
from spaces.backend.reference.formula import Environment, Formula, Read, prepare
from spaces.backend.reference.requirements import Requirements
from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.expr import Call, Expr, Op, Variable, cast, walk
from spaces.model.expressions.types import Int32

CHUNK = 1 << 22
"""The number of points that are evaluated at once; it limits the memory for a large reduction."""


class OutgrownError(Exception):
    """A stage touches its own Func outside of the box on which the Func is computed."""

    def __init__(self, box: IntegerBox) -> None:
        super().__init__(box)
        self.box = box


def _points(ranges: Sequence[tuple[str, int, int]]) -> int:
    return math.prod(max(0, high - low + 1) for _, low, high in ranges)


@frozen
class Domain:
    """The points of one stage: RVars and the pure Vars, each with its first and last value."""

    reduction: tuple[tuple[str, int, int], ...]
    """RVars, innermost first."""
    pure: tuple[tuple[str, int, int], ...]

    @property
    def reduction_points(self) -> int:
        """Points of the reduction domain; 1 without a domain."""
        return _points(self.reduction)

    @property
    def pure_points(self) -> int:
        """Points of the pure Vars."""
        return _points(self.pure)

    def meshes(self) -> Iterator[dict[str, Array]]:
        """Meshes that form the domain in order; no mesh is much larger than :data:`CHUNK`."""
        pure = tuple(reversed(self.pure))
        if not self.reduction_points:
            return
        if not self.reduction:
            yield mesh(pure)
            return
        *inner, (name, low, high) = self.reduction
        step = max(1, CHUNK // (self.pure_points * _points(inner)))
        for start in range(low, high + 1, step):
            outer = (name, start, min(high, start + step - 1))
            yield mesh((outer, *reversed(inner), *pure))


def where(
    predicates: Sequence[Expr], points: Environment, constants: Environment, read: Read
) -> Environment | None:
    """The points at which all predicates hold, as one-dimensional arrays in their order; None if
    there are no such points. A predicate that reads values is evaluated only at points that pass
    the predicates before it.
    """
    for predicate in predicates:
        (holds,) = Formula((predicate,)).values({**constants, **points}, read)
        shape = np.broadcast_shapes(*(p.shape for p in points.values()))
        kept = np.broadcast_to(holds, shape)
        if not kept.any():
            return None
        if not kept.all():
            points = {name: np.broadcast_to(p, shape)[kept] for name, p in points.items()}
    return points


@frozen
class UpdateRun:
    """One update stage, before it runs on the current values of its Func."""

    function: Function
    stage: Stage
    domain: Domain
    values: Values
    constants: Environment
    read: Read

    def run(self) -> None:
        """Changes the values in place.

        Raises:
            OutgrownError: the Func is read or updated outside of its box.
        """
        # The bulk forms are faster if otherwise only few iterations run at once.
        many = self.domain.reduction_points > self.domain.pure_points
        accumulations = [self._accumulation(c) for c in range(len(self.stage.values))]
        known = [a for a in accumulations if a is not None]
        if many and len(known) == len(accumulations):
            self._accumulate(known)
        elif not self.stage.rvars or (many and self._is_plain):
            self._assign()
        else:
            self._in_order()

    def _kept(self, points: Environment) -> Environment | None:
        """The points of ``points`` at which the predicates hold."""
        return where(self.stage.predicates, points, self.constants, self.read)

    def _meshes(self) -> Iterator[Environment]:
        """The points of the domain at which the predicates hold, in order, many at once."""
        for points in self.domain.meshes():
            kept = self._kept(points)
            if kept is not None:
                yield kept

    def _require(self, env: Environment) -> None:
        Requirements.of(*self.stage.values).check(env, self.read)

    @property
    def _indices(self) -> tuple[Expr, ...]:
        return tuple(cast(Int32, a) for a in self.stage.args)

    @property
    def _roots(self) -> tuple[Expr, ...]:
        return (*self.stage.values, *self._indices)

    @property
    def _is_plain(self) -> bool:
        """Whether neither values nor coordinates nor predicates read the Func itself."""
        return not self._reads_itself(*self._roots, *self.stage.predicates)

    def _reads_itself(self, *roots: Expr) -> bool:
        return any(isinstance(n, Call) and n.target == self.function.name for n in walk(*roots))

    def _accumulation(self, component: int) -> tuple[np.ufunc, Expr] | None:
        """Operation and operand of ``f(i) = f(i) op e``, if a component has this form."""
        value = self.stage.values[component]
        if not isinstance(value, Op) or value.type.is_bool or value.name not in _ACCUMULATIONS:
            return None
        if value.type.is_float and value.name in ("min", "max"):
            return None  # NumPy's choice among NaNs and zeros depends on the order of operands
        first, second = value.args
        if self._is_own_element(first, component):
            operand = second
        elif self._is_own_element(second, component) and value.name != "sub":
            operand = first
        else:
            return None
        if self._reads_itself(operand, *self.stage.args, *self.stage.predicates):
            return None
        return _ACCUMULATIONS[value.name], operand

    def _is_own_element(self, expr: Expr, component: int) -> bool:
        return (
            isinstance(expr, Call)
            and expr.target == self.function.name
            and (expr.component or 0) == component
            and all(a is b for a, b in zip(expr.args, self._indices, strict=True))
        )

    def _accumulate(self, accumulations: Sequence[tuple[np.ufunc, Expr]]) -> None:
        operations = [operation for operation, _ in accumulations]
        formula = Formula((*(operand for _, operand in accumulations), *self._indices))
        for points in self._meshes():
            offsets, values = self._flat(formula, points)
            for operation, array, value in zip(operations, self.values.arrays, values, strict=True):
                operation.at(array.reshape(-1), offsets, value)

    def _assign(self) -> None:
        formula = Formula(self._roots)
        for points in self._meshes():
            offsets, values = self._flat(formula, points)
            for array, value in zip(self.values.arrays, values, strict=True):
                array.reshape(-1)[offsets] = value

    def _flat(self, formula: Formula, points: Environment) -> tuple[Array, list[Array]]:
        """The offset and the values of each point, as one-dimensional arrays in the order of the
        domain.
        """
        self._require({**self.constants, **points})
        found = formula.values({**self.constants, **points}, self.read)
        values, indices = self._parted(found)
        self._check(indices)
        whole = np.broadcast_shapes(*(p.shape for p in points.values()))
        offsets = np.broadcast_to(self.values.offsets(indices), whole)
        return offsets.reshape(-1), [np.broadcast_to(v, whole).reshape(-1) for v in values]

    def _parted(self, found: Sequence[Array]) -> tuple[Sequence[Array], Sequence[Array]]:
        """Splits ``found`` into values, one for each component, and coordinates."""
        count = len(self.stage.values)
        return found[:count], found[count:]

    def _in_order(self) -> None:
        if self.stage.predicates:
            self._point_by_point()
            return
        env = {**self.constants, **mesh(tuple(reversed(self.domain.pure)))}
        names = [name for name, _, _ in reversed(self.domain.reduction)]
        ranges = [range(low, high + 1) for _, low, high in reversed(self.domain.reduction)]
        env.update(
            (name, np.asarray(r.start, np.int32)) for name, r in zip(names, ranges, strict=True)
        )

        def varies(node: Expr) -> bool:
            if isinstance(node, Variable):
                return node.name in names
            return isinstance(node, Call) and node.target == self.function.name

        if not self.domain.reduction_points:
            return  # without points, not even the parts common to all points may be evaluated
        formula = prepare(self._roots, varies, env, self.read)
        for point in itertools.product(*ranges):
            for name, coordinate in zip(names, point, strict=True):
                env[name] = np.asarray(coordinate, np.int32)
            self._require(env)
            self._set(formula.values(env, self.read))

    def _point_by_point(self) -> None:
        """Runs in order where predicates may exclude points. It evaluates nothing for many points
        at once, because an expression may have no value at excluded points.
        """
        pure = mesh(tuple(reversed(self.domain.pure)))
        names = [name for name, _, _ in reversed(self.domain.reduction)]
        ranges = [range(low, high + 1) for _, low, high in reversed(self.domain.reduction)]
        formula = Formula(self._roots)
        for point in itertools.product(*ranges):
            here = {n: np.asarray(i, np.int32) for n, i in zip(names, point, strict=True)}
            kept = self._kept({**pure, **here})
            if kept is not None:
                self._require({**self.constants, **kept})
                self._set(formula.values({**self.constants, **kept}, self.read))

    def _set(self, found: Sequence[Array]) -> None:
        """Stores values, one for each component, at the coordinates after them in ``found``."""
        values, indices = self._parted(found)
        self._check(indices)
        places = [i - low for i, (low, _) in zip(indices, self.values.box, strict=True)]
        for array, value in zip(self.values.arrays, values, strict=True):
            array[tuple(reversed(places))] = value

    def _check(self, indices: Sequence[Array]) -> None:
        box = box_of(indices)
        if box is not None and not covers(self.values.box, box):
            raise OutgrownError(box)


_ACCUMULATIONS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}
