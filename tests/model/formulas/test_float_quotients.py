"""Quotients of floats that are quotients of integers: which ones, and within which limits."""

from __future__ import annotations

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Variable, cast, constant
from spaces.model.expressions.types import Float32, Float64, Int32, UInt16
from spaces.model.formulas.simplify import Simplifier
from spaces.model.writing.text import parse_schedule

N = Variable(Int32, "n")
EXACT = 1 << 24


def simplified(expr: Expr, low: int | None, high: int | None) -> Expr:
    simplify = Simplifier()
    ends = (None if end is None else constant(end, Int32) for end in (low, high))
    simplify.assume("n", *ends)
    return simplify(expr)


def whole(rounded: Expr) -> Expr:
    return cast(Int32, rounded)


REAL = cast(Float32, N)

REWRITTEN = {
    "floor": (whole(fn.floor(REAL / 2.0)), lambda n: n // 2),
    "product": (whole(fn.floor(REAL * 0.125)), lambda n: n // 8),
    "ceil": (whole(fn.ceil(REAL / 4.0)), lambda n: -(-n // 4)),
    "float64": (whole(fn.floor(cast(Float64, N) / cast(Float64, 2.0))), lambda n: n // 2),
    "inside": (whole(fn.floor(REAL / 2.0)) * 2 + 1, lambda n: n // 2 * 2 + 1),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_exact_quotients_become_integer_arithmetic(name: str) -> None:
    expr, value = REWRITTEN[name]
    found = simplified(expr, -EXACT, EXACT)
    assert not found.has_floats
    for n in (-EXACT, -9, -8, -1, 0, 1, 7, 8, EXACT - 1, EXACT):
        assert int(eval(str(found).replace("/", "//"), {"n": n})) == value(n)


def test_floats_that_round_stay() -> None:
    half = whole(fn.floor(REAL / 2.0))
    for low, high in ((None, None), (0, None), (0, EXACT + 1), (-EXACT - 1, 0)):
        assert simplified(half, low, high).has_floats
    # float32(EXACT + 3) is EXACT + 4.
    assert np.float32(EXACT + 3) / 2 != (EXACT + 3) // 2
    for other in (REAL / 3.0, REAL * 3.0, REAL / 1.5, REAL + 1.0):
        assert simplified(whole(fn.floor(other)), 0, 100).has_floats
    truncated = whole(REAL / 2.0)
    assert simplified(truncated, -1, 100).has_floats
    assert not simplified(truncated, 0, 100).has_floats


def test_a_window_slides_along_a_quotient_of_floats() -> None:
    """Half as many rows as are read at floats: bounds are those of integers, also in the call."""
    x, y = Var("x"), Var("y")
    image, f, g = ImageParam(Int32, 2, "im"), Func("f"), Func("g")
    f[x, y] = image[x, y] * 3
    row = whole(fn.floor(cast(Float32, cast(UInt16, y)) / 2.0))
    g[x, y] = f[x, row] + f[x, row + 1]
    built = pipeline(g)
    text = "g.bound(y, 0, 8)\nf.store_root().compute_at(g, y).fold_storage(y, 2)"
    checked = verify(built, parse_schedule(text, built), device("cpu"))
    assert checked, str(checked)
    assert not any(end.has_floats for i in checked.nest.inputs["im"] for end in (i.min, i.max))
    data, sizes = {"im": np.arange(5 * 6, dtype=np.int32).reshape(5, 6)}, {"g": (6, 8)}
    wanted = evaluate(built, data, sizes=sizes)["g"]
    assert (compile_cpu(checked)(data, sizes=sizes)["g"] == wanted).all()
