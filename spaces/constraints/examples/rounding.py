"""Directives that combine floats in another order, and neighbors whose results are exact."""

from __future__ import annotations

from spaces.constraints.examples import algorithms
from spaces.constraints.examples.example import exact_on_cpu, on_cpu
from spaces.constraints.examples.starts import SUM
from spaces.model.directives.directives import schedule
from spaces.model.expressions.types import Float32

_SUMS = schedule(algorithms.float_total()).func("s").update(0)
_GREATEST = schedule(algorithms.greatest(Float32)).func("s").update(0)

EXAMPLES = (
    exact_on_cpu("exact.order", _SUMS.rfactor("r.y", "u"), SUM.rfactor("r.y", "u")),
    exact_on_cpu(
        "exact.order",
        _SUMS.atomic().vectorize("r.x"),
        _SUMS.atomic().vectorize("x", 8),
        "vector lanes",
    ),
    exact_on_cpu(
        "exact.order", _SUMS.atomic().parallel("r.y"), SUM.atomic().parallel("r.y"), "threads"
    ),
    exact_on_cpu(
        "exact.order",
        _GREATEST.reorder("r.y", "r.x"),
        _GREATEST.reorder("r.x", "x"),
        "the greatest of floats",
    ),
    on_cpu("advice.rounding", _SUMS.atomic().parallel("r.y"), _SUMS.atomic().parallel("y")),
)
