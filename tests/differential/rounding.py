"""How far outputs may be from the reference where a verdict says that floats are combined in
another order: sums by the magnitudes that are summed, all else that depends on them without limit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from spaces import CheckedSchedule, Expr, Pipeline, evaluate
from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.expr import Call, Op, walk
from spaces.model.expressions.functions import abs as magnitude
from spaces.model.formulas.algebra import evaluate as number
from tests.differential.subjects import Subject

Tolerance = NDArray[Any] | float | None
"""The greatest difference from the reference, for each element or for all; None is any."""

EXACTLY: Tolerance = 0.0


def tolerances(verdict: CheckedSchedule, subject: Subject, size: int) -> dict[str, Tolerance]:
    """The tolerance of each output that the reference gives, by the name of its buffer."""
    pipeline = subject.pipeline
    functions = [pipeline.function(name) for name in pipeline.outputs]
    rounded = {one.func for one in verdict.rounding}
    found: dict[str, Tolerance] = {}
    for function in functions:
        depends = _reached(pipeline, function.name) & rounded
        tolerance = EXACTLY if not depends else None
        if depends == {function.name} and len(function.types) == 1:
            tolerance = _of_sums(subject, function, size)
        found.update(dict.fromkeys(function.buffers, tolerance))
    return found


def is_close(found: Any, wanted: NDArray[Any], tolerance: Tolerance) -> bool:
    """Whether an output is the reference's, up to a tolerance and to the bits of a NaN."""
    if tolerance is None:
        return True
    if isinstance(tolerance, float) and tolerance == 0:
        return np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f")
    with np.errstate(all="ignore"):
        near = np.abs(found.astype(np.float64) - wanted.astype(np.float64)) <= tolerance
    same = (found == wanted) | ((found != found) & (wanted != wanted))
    return bool(np.all(near | same | ~np.isfinite(tolerance)))


def spread(tolerance: Tolerance, like: NDArray[Any]) -> NDArray[Any]:
    """The tolerance of each element; infinite where any difference is allowed."""
    number = math.inf if tolerance is None else tolerance
    return np.broadcast_to(np.asarray(number, np.float64), like.shape)


def _reached(pipeline: Pipeline, name: str) -> set[str]:
    """A Func and all that it reads, directly or not."""
    found, waiting = set(), [name]
    known = {f.name: f for f in pipeline.functions}
    while waiting:
        one = waiting.pop()
        if one in known and one not in found:
            found.add(one)
            waiting.extend(known[one].callees)
    return found


def _of_sums(subject: Subject, function: Function, size: int) -> Tolerance:
    """Twice the number of terms, times the rounding of one, times the sum of their magnitudes."""
    stages = [_magnitudes(function, stage, i) for i, stage in enumerate(function.stages)]
    if any(stage is None for stage in stages):
        return None
    changed = evolve(function, stages=tuple(s for s in stages if s is not None))
    functions = (changed if f.name == function.name else f for f in subject.pipeline.functions)
    pipeline = evolve(subject.pipeline, functions=tuple(functions))
    sums = evaluate(pipeline, subject.images, sizes=subject.sizes(size))[function.name]
    values = _numbers(subject, size)
    terms = 1 + sum(
        math.prod(int(number(r.extent, values)) for r in stage.rvars)
        for stage in function.stages[1:]
    )
    rounding = np.finfo(sums.dtype).eps
    return np.asarray(2 * terms * rounding * sums.astype(np.float64))


def _numbers(subject: Subject, size: int) -> Mapping[str, int]:
    return {
        f"{buffer}.{part}.{d}": value
        for buffer, ranges in subject.sizes(size).items()
        for d, limits in enumerate(ranges)
        for part, value in zip(("min", "extent"), limits, strict=True)
    } | {s.name: int(s.default or 0) for s in subject.pipeline.scalars}


def _magnitudes(function: Function, stage: Stage, index: int) -> Stage | None:
    """A stage that sums magnitudes; None where it is no sum, or reads its Func besides."""
    (value,) = stage.values
    if index == 0:
        return evolve(stage, values=(magnitude(value),))
    if not isinstance(value, Op) or value.name != "add":
        return None
    for own, term in (value.args, value.args[::-1]):
        is_own = isinstance(own, Call) and own.target == function.name and own.args == stage.args
        if is_own and not _reads(function.name, term, *stage.predicates, *stage.args):
            return evolve(stage, values=(Op(value.type, "add", (own, magnitude(term))),))
    return None


def _reads(name: str, *roots: Expr) -> bool:
    return any(isinstance(node, Call) and node.target == name for node in walk(*roots))
