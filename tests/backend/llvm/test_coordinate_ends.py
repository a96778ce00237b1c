"""Regions near the ends of int32, and coordinates calculated in more bits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from spaces import Func, ImageParam, Var, device, parse_schedule, pipeline, verify
from spaces.backend.access import AccessMode
from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Int32
from tests.draw_counts import some

X = Var("x")
LEAST, MOST = Int32.min_value, Int32.max_value

COORDINATES: dict[str, Callable[[], Expr]] = {
    "itself": lambda: X.as_expr(),
    "thirds": lambda: (X // 3) * 2,
    "remainder": lambda: X - X % 4,
    "bits": lambda: X & -8,
    "least": lambda: fn.min(X, 2147483600) - 2147483500,
    "most": lambda: fn.max(X, -2147483600) + 2147483500,
    "saturating_add": lambda: fixed.saturating_add(X, 1000) - 2147483627,
    "saturating_sub": lambda: fixed.saturating_sub(X, 1000) + 2147483627,
    "halving_add": lambda: fixed.halving_add(X, MOST) - 2147483000,
    "choice": lambda: fn.select(X % 2 == 0, X, X - 3),
}
SCHEDULES = [
    "g.compute_root().vectorize(x, 8)",
    "g.compute_root().split(x, xo, xi, 7, TailStrategy::ShiftInwards).unroll(xi)",
    "f.split(x, xo, xi, 16, TailStrategy::GuardWithIf)\ng.compute_at(f, xo).vectorize(x, 4)",
    "f.split(x, xo, xi, 16, TailStrategy::ShiftInwards).vectorize(xi)\ng.compute_at(f, xo)",
    "f.split(x, xo, xi, 64).split(xi, a, b, 16).vectorize(b)\n"
    "g.store_at(f, xo).compute_at(f, a).vectorize(x, 8)",
]
ENDS = [(MOST - 1014, 1015), (MOST - 1020, 1015), (LEAST, 1015), (LEAST + 5, 1001), (-20, 101)]
NOTHING = {"image": np.zeros(1, np.int32)}


def reads_at(coordinate: Expr) -> Pipeline:
    image, g, f = ImageParam(Int32, 1, "image"), Func("g"), Func("f")
    g[X] = X * 2 + image[0] + X // 3
    f[X] = g[coordinate] + X // 4
    return pipeline(f)


def is_small(low: int, extent: int, coordinate: Expr) -> bool:
    """Whether the read elements lie close together, so that they fit in memory."""
    image, f = ImageParam(Int32, 1, "image"), Func("f")
    f[X] = coordinate + image[0]
    found = evaluate(pipeline(f), NOTHING, sizes={"f": [(low, extent)]})["f"]
    return int(found.max()) - int(found.min()) < 10_000


@pytest.mark.parametrize(("name", "text"), some(product(COORDINATES, SCHEDULES)))
def test_regions_near_the_ends_of_int32(name: str, text: str) -> None:
    made = reads_at(COORDINATES[name]())
    checked = verify(made, parse_schedule(text, made), device("cpu"))
    assert checked, str(checked)
    compiled = compile_cpu(checked, access_mode=AccessMode.HARDENED)
    near = [end for end in ENDS if is_small(*end, COORDINATES[name]())]
    assert len(near) >= 3
    for end in near:
        wanted = evaluate(made, NOTHING, sizes={"f": [end]})["f"]
        assert np.array_equal(compiled.run(NOTHING, sizes={"f": [end]})["f"], wanted), end


def test_all_numbers_are_no_limit() -> None:
    made = reads_at(fixed.mul_shift_right(X, MOST, 31))
    text = "g.compute_root()"
    assert "has no limits" in str(verify(made, parse_schedule(text, made), device("cpu")))
