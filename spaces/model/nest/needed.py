"""Which values the outputs need at certain sizes, whatever the schedule.

Points are followed from the corners of the outputs to what they read: a coordinate that is found
here is one that every schedule computes or reads. There may be others, since only a few points of
each Func are followed, and none through coordinates that depend on data or on parameters that are
not known. So what is found never exceeds the regions that bounds inference finds for a schedule.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from spaces.model.algorithm.pipeline import Function, Pipeline, Stage
from spaces.model.expressions.expr import Expr
from spaces.model.formulas.algebra import ARRAYS, FormulaError, read_all

Column: TypeAlias = NDArray[np.int64] | None
"""The coordinates of some points along one dimension; None where they are not known."""

Points: TypeAlias = tuple[Column, ...]
"""Some points of a Func or image, one column a dimension."""

ValueRange: TypeAlias = tuple[int, int] | None
"""The least and the greatest coordinate that is needed; None where none is known."""

_MOST_ITERATIONS = 256
"""Iterations of a reduction domain that are followed from each point; spread out over it where it
has more.
"""

_MOST_SIGNS = 5
"""Dimensions that a direction combines; along the others no point counts as further out."""


def needed_ranges(
    pipeline: Pipeline, sizes: Mapping[str, int]
) -> dict[str, tuple[ValueRange, ...]]:
    """The coordinates that are needed along each dimension at these sizes, for each output and
    image for which some are known. Some sizes may be unknown.

    An output needs itself, what other outputs read of it, and the places that its updates write.
    """
    search = _NeededPoints(pipeline, sizes)
    for name in pipeline.outputs:
        search.need(name, _corners(name, len(pipeline.function(name).args), sizes))
    for function in reversed(pipeline.functions):
        search.follow(function)
    given = (*pipeline.outputs, *(image.name for image in pipeline.images))
    return {name: search.ranges[name] for name in given if name in search.ranges}


def _corners(output: str, dimensions: int, sizes: Mapping[str, int]) -> Points:
    ends: list[tuple[int | None, ...]] = []
    for d in range(dimensions):
        low, extent = (sizes.get(f"{output}.{part}.{d}") for part in ("min", "extent"))
        if low is None or extent is None or extent < 1:
            ends.append((None,))
        else:
            ends.append((low, low + extent - 1))
    corners = list(itertools.product(*ends))
    return tuple(
        None if end[0] is None else np.array([corner[d] for corner in corners], np.int64)
        for d, end in enumerate(ends)
    )


@define
class _NeededPoints:
    """The points found so far, by Func or image, those of unlike known dimensions apart."""

    pipeline: Pipeline
    sizes: Mapping[str, int]
    points: dict[str, list[Points]] = field(factory=dict)
    ranges: dict[str, tuple[ValueRange, ...]] = field(factory=dict)

    def need(self, name: str, points: Points) -> None:
        """Add points that are read from a Func or image."""
        self.reach(name, points)
        if any(column is not None for column in points) or not points:
            self.points.setdefault(name, []).append(points)

    def reach(self, name: str, points: Points) -> None:
        """Add the coordinates of some points, without following what is computed there."""
        known = self.ranges.get(name, (None,) * len(points))
        self.ranges[name] = tuple(map(_widened, known, points))

    def follow(self, function: Function) -> None:
        """What the stages of a Func read at its points, the last stage first."""
        for stage in reversed(function.stages):
            for points in tuple(_outermost(self.points.get(function.name, ()))):
                self._follow(function, stage, points)

    def _follow(self, function: Function, stage: Stage, points: Points) -> None:
        columns = dict(zip(function.args, points, strict=True))
        at = {name: columns[name] for name in stage.pure_vars}
        running = self._running(stage, {n: c for n, c in at.items() if c is not None})
        if running is None:
            return
        count, values = running
        done: dict[Expr, object] = {}  # a stencil reads many coordinates with parts in common
        if stage is not function.stages[0]:
            self.reach(function.name, self._places(stage.args, values, count, done))
        for call in stage.calls:
            self.need(call.target, self._places(call.args, values, count, done))

    def _running(
        self, stage: Stage, at: dict[str, NDArray[np.int64]]
    ) -> tuple[int, dict[str, object]] | None:
        """How many iterations of a stage are followed, and what variables are in each; None where
        it is not known which iterations run.
        """
        count = max((column.size for column in at.values()), default=1)
        spans: list[NDArray[np.int64]] = []
        most = int(_MOST_ITERATIONS ** (1 / max(1, len(stage.rvars))))
        for rvar in stage.rvars:
            low, extent = (self._number(e) for e in (rvar.min, rvar.extent))
            if low is None or extent is None or extent <= 0:
                return None
            spread = np.linspace(low, low + extent - 1, min(extent, max(2, most)))
            spans.append(spread.astype(np.int64))
        grid = np.meshgrid(*spans, indexing="ij") if spans else []
        iterations = grid[0].size if grid else 1
        values: dict[str, NDArray[np.int64]] = {
            **{name: np.repeat(column, iterations) for name, column in at.items()},
            **{
                r.name: np.tile(g.reshape(-1), count)
                for r, g in zip(stage.rvars, grid, strict=True)
            },
        }
        runs = np.ones(count * iterations, np.bool_)
        for predicate in stage.predicates:
            if predicate.loads:
                continue  # bounds inference takes it to hold wherever it may
            holds = _read(predicate, {**self.sizes, **values}, {})
            if holds is None:
                return None
            runs &= np.asarray(holds, np.bool_)
        kept = {name: column[runs] for name, column in values.items()}
        return (int(runs.sum()), {**self.sizes, **kept}) if runs.any() else None

    def _number(self, expr: Expr) -> int | None:
        found = _read(expr, self.sizes, {})
        return None if found is None else int(found)

    @staticmethod
    def _places(
        coordinates: Iterable[Expr],
        values: Mapping[str, object],
        count: int,
        done: dict[Expr, object],
    ) -> Points:
        found = (_read(coordinate, values, done) for coordinate in coordinates)
        return tuple(None if one is None else _column(one, count) for one in found)


def _read(
    expr: Expr, values: Mapping[str, object], done: dict[Expr, object]
) -> NDArray[np.int64] | None:
    """The values of an expression; None if it is no formula over ``values``. ``done`` keeps those
    of its parts.
    """
    try:
        return np.asarray(read_all((expr,), values, ARRAYS, done)[0])
    except FormulaError:
        return None


def _column(values: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    if values.shape == (count,) and values.dtype == np.int64:
        return values
    return np.array(np.broadcast_to(values, count), np.int64)


def _widened(known: ValueRange, column: Column) -> ValueRange:
    if column is None or not column.size:
        return known
    ends = (int(column.min()), int(column.max()))
    return ends if known is None else (min(known[0], ends[0]), max(known[1], ends[1]))


def _outermost(found: Iterable[Points]) -> Iterator[Points]:
    """The points that lie outermost in some direction. Points with the same known coordinates form
    one group.
    """
    groups: dict[tuple[bool, ...], list[Points]] = {}
    for points in found:
        groups.setdefault(tuple(column is not None for column in points), []).append(points)
    for known, members in groups.items():
        if not any(known):
            yield members[0]
            continue
        dimensions = [d for d, is_known in enumerate(known) if is_known]
        table = np.array([np.concatenate([m[d] for m in members]) for d in dimensions])
        signs = itertools.product((-1, 0, 1), repeat=min(len(dimensions), _MOST_SIGNS))
        directions = np.array([(*s, *(0,) * (len(dimensions) - len(s))) for s in signs])
        chosen = sorted(set(np.argmax(directions @ table, axis=1).tolist()))
        kept = dict(zip(dimensions, table[:, chosen], strict=True))
        yield tuple(kept.get(d) for d in range(len(known)))
