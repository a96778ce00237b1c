"""Whether the results of two schedules of a pipeline are the same, but for rounding."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from backend.arguments import Array
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import walk

ROUNDING = 1e-4
"""How far floats may differ, relative to the largest one: a schedule may combine them in another
order, and constants of inlined Funcs are rounded by the compiler.
"""

NEAR = 1e-3
"""How far values may differ, relative to the largest one, but integers by one in any case, if
integers are computed from floats: a float that is almost a whole number may be rounded to either
side, and the result may be the index of a table.
"""

NEAR_SHARE = 0.05
"""The share of values that may differ so far."""

DECIDED_OTHERWISE = 1e-5
"""The share of values that may be any others if integers or truth values are computed from floats:
a comparison of floats that are almost equal may go either way.
"""


@frozen
class Tolerance:
    """The share of the values of an output that may be others, beyond the rounding of floats.

    Attributes:
        near: the share that may differ by :data:`NEAR`.
        any: the share that may have any other value.
    """

    near: float = 0.0
    any: float = 0.0


EXACT = Tolerance()
"""Integers bit for bit, as in strict float mode."""


def tolerance(pipeline: Pipeline) -> Tolerance:
    """What schedules of a pipeline may change in fast float mode: nothing but the last digits of
    floats, unless integers or truth values are computed from floats.
    """
    roots = (e for f in pipeline.functions for stage in f.stages for e in stage.expressions)
    rounds = any(
        not node.type.is_float and any(child.type.is_float for child in node.children)
        for node in walk(*roots)
    )
    return Tolerance(NEAR_SHARE, DECIDED_OTHERWISE) if rounds else EXACT


def disagreement(name: str, found: Array, wanted: Array, allowed: Tolerance = EXACT) -> str:
    """How an output differs from what it must be, as a sentence; empty if it does not.

    Args:
        name: the output.
        found: its values.
        wanted: what they must be.
        allowed: what may differ.
    """
    differs = ~((found == wanted) | ((found != found) & (wanted != wanted)))
    if differs.any() and wanted.dtype.kind in "fiu":
        is_float = wanted.dtype.kind == "f"
        largest = float(np.abs(wanted[np.isfinite(wanted)].astype(np.float64)).max(initial=0.0))
        if is_float:
            differs[differs] = _beyond(found[differs], wanted[differs], ROUNDING * largest)
        if differs.mean() <= allowed.near:
            most = max(NEAR * largest, 0.0 if is_float else 1.0)
            differs[differs] = _beyond(found[differs], wanted[differs], most)
    count = int(differs.sum())
    if count <= allowed.any * wanted.size:
        return ""
    first = tuple(int(i) for i in np.argwhere(differs)[0])
    return (
        f"{count} of {wanted.size} values of {name} differ from those of the trusted schedule: at "
        f"{list(reversed(first))}, innermost first, {found[first]} instead of {wanted[first]}."
    )


def _beyond(found: Array, wanted: Array, most: float) -> Array:
    """Where values differ by more than ``most``, or are not both numbers."""
    beyond: Array = ~(np.abs(found.astype(np.float64) - wanted.astype(np.float64)) <= most)
    return beyond
