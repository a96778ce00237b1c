"""Whether the results of two schedules of a pipeline are the same, but for rounding.

This file needs NumPy alone, so that it can judge where the rest of the library is not installed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-4
"""How far floats may differ, relative to the largest one: a schedule may combine them in another
order, and constants of inlined Funcs are rounded by the compiler.
"""

NEAR = 1e-3
"""How far values may differ, relative to the largest one, if integers are computed from floats;
integers may always differ by one. A float that is almost a whole number may be rounded to either
side, and the result may be the index of a table.
"""

NEAR_SHARE = 0.05
"""The share of values that may differ by that much."""

DECIDED_OTHERWISE = 1e-5
"""The share of values that may be any others if integers or truth values are computed from floats:
a comparison of floats that are almost equal may go either way.
"""


class Tolerance(NamedTuple):
    """The share of the values of an output that may be others, beyond the rounding of floats.

    Attributes:
        near: the share that may differ by :data:`NEAR`.
        any: the share that may have any other value.
    """

    near: float = 0.0
    any: float = 0.0


EXACT = Tolerance()
"""Integers bit for bit, as in strict float mode."""


def disagreement(
    name: str, found: NDArray[Any], wanted: NDArray[Any], allowed: Tolerance = EXACT
) -> str:
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


def _beyond(found: NDArray[Any], wanted: NDArray[Any], most: float) -> NDArray[Any]:
    """Where values differ by more than ``most``, or are not both numbers."""
    beyond: NDArray[Any] = ~(np.abs(found.astype(np.float64) - wanted.astype(np.float64)) <= most)
    return beyond
