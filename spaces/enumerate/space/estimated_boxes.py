"""What spaces know of sizes: the box of each Func, and the extents of RVars, at the estimates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from attrs import evolve, field, frozen

from spaces.model.algorithm.pipeline import Function, Pipeline, Stage
from spaces.model.expressions.expr import Const
from spaces.model.formulas.algebra import INTEGERS, FormulaError, evaluate, read_all
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.bounds import Bounds
from spaces.model.schedules.schedule import ROOT, Schedule

LARGER = 15
"""By how many values a vector may go over the end of an output."""


@frozen
class EstimatedBoxes:
    """Boxes at the estimates.

    Attributes:
        boxes: for each Func, by dimension, its (min, extent) when all Funcs are computed at root.
            Empty without estimates.
        constant: for each Func the dimensions whose extents are then the same for all sizes.
        reads_on: whether the pipeline would read beyond the end of an image if its outputs were a
            little larger: no boundary condition and no room keeps it inside.
    """

    boxes: Mapping[str, Mapping[str, tuple[int, int]]] = field(eq=False)
    constant: Mapping[str, frozenset[str]] = field(eq=False, factory=dict)
    reads_on: bool = False

    def extent(self, func: str, dimension: str) -> int | None:
        """The extent of one dimension of a Func; None if it is unknown."""
        box = self.boxes.get(func, {}).get(dimension)
        return None if box is None else box[1]

    def knows(self, function: Function) -> bool:
        """Whether the extents of all dimensions of a Func are known."""
        return set(function.args) <= set(self.boxes.get(function.name, {}))


@lru_cache(maxsize=64)
def sizes_of(pipeline: Pipeline) -> EstimatedBoxes:
    """The boxes of a pipeline's Funcs and reduction domains at its estimates."""
    default = Schedule.default(pipeline)
    outputs = set(pipeline.outputs)
    read = {f.name for f in pipeline.functions if pipeline.consumers(f.name)} | outputs
    root = default.with_funcs(
        evolve(f, compute=ROOT, store=ROOT) if f.name in read else f for f in default.funcs
    )
    try:
        bounds = Bounds(pipeline, root)
    except UnboundedError:
        return EstimatedBoxes({})
    boxes: dict[str, dict[str, tuple[int, int]]] = {}
    constant: dict[str, frozenset[str]] = {}
    for name, placed in bounds.placements.items():
        ends = {
            dimension: (interval.min, bounds.simplify(interval.max - interval.min + 1))
            for dimension, interval in zip(placed.function.args, placed.required, strict=True)
            if interval.min is not None and interval.max is not None
        }
        rvars = [rvar for stage in placed.function.stages for rvar in stage.rvars]
        extents = [(dimension, extent) for dimension, (_, extent) in ends.items()]
        extents += ((rvar.name, rvar.extent) for rvar in rvars)
        varying = {one for one, extent in extents if not isinstance(extent, Const)}
        constant[name] = frozenset(dict(extents)) - varying
        ends |= {rvar.name: (rvar.min, rvar.extent) for rvar in rvars}
        boxes[name] = {}
        for dimension, (low, extent) in ends.items():
            try:
                box = read_all((low, extent), pipeline.sizes(), INTEGERS)
            except FormulaError:
                continue
            boxes[name][dimension] = (int(box[0]), int(box[1]))
    return EstimatedBoxes(boxes, constant, _reads_on(bounds))


def _reads_on(bounds: Bounds) -> bool:
    """Whether an image ends before what larger outputs would read."""
    pipeline = bounds.pipeline
    sizes = pipeline.sizes()
    numbers: dict[str, Any] = {**pipeline.scalar_defaults(), **sizes}
    larger = numbers | {
        name: sizes[name] + LARGER
        for output in pipeline.outputs
        for name in (f"{output}.extent.{d}" for d in range(len(pipeline.function(output).args)))
        if name in sizes
    }
    for image, box in bounds.inputs.items():
        for d, interval in enumerate(box):
            end = sizes.get(f"{image}.min.{d}", 0) + sizes.get(f"{image}.extent.{d}", 0)
            if interval.max is None:
                return True
            try:
                (last,) = read_all((interval.max,), larger, INTEGERS)
            except FormulaError:
                continue
            if last >= end:
                return True
    return False


def rvar_extents(pipeline: Pipeline, stage: Stage) -> dict[str, int]:
    """The extents of the RVars of a stage that the estimates tell."""
    sizes = pipeline.sizes()
    known = (r for r in stage.rvars if r.extent.names <= sizes.keys() and not r.extent.loads)
    return {r.name: int(evaluate(r.extent, sizes)) for r in known}
