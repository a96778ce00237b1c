"""Values made of floats have the limits of their type, of a ``clamp``, and of their arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spaces import Func, ImageParam, Param, RDom, Var, device, pipeline, prove, schedule, verify
from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.integer_functions import reinterpret
from spaces.model.expressions.types import Float32, Int32, UInt8, UInt32

X, REAL, GAIN = Var("x"), Param(Float32, "real"), Param(UInt8, "gain")
WHOLE = cast(Int32, REAL)
BITS = cast(Int32, reinterpret(Float32, cast(UInt32, 1)))

LIMITED: dict[str, Callable[[], Expr]] = {
    "clamped float": lambda: X + cast(Int32, fn.clamp(REAL * 5, 0, 4)),
    "clamped whole number": lambda: X - fn.clamp(WHOLE, -3, 2),
    "remainder": lambda: X % fn.clamp(WHOLE, 1, 5),
    "narrow": lambda: X + cast(Int32, cast(UInt8, REAL)),
    "whole number": lambda: X + WHOLE,
    "limits by it": lambda: fn.clamp(X, WHOLE, WHOLE + 5),
    "remainder by it": lambda: X % fn.max(1, WHOLE),
    "rounded": lambda: X + cast(Int32, fn.ceil(cast(Float32, 3) / 2)),
    "either": lambda: fn.select(REAL > 1, X, X + 3),
    "either by numbers": lambda: fn.select(fn.sin(cast(Float32, 1)) > REAL, X, X - 2),
}
UNLIMITED: dict[str, Callable[[], Expr]] = {
    "sine": lambda: X + cast(Int32, fn.sin(cast(Float32, 1)) * 4),
    "bits": lambda: X + BITS,
    "numbers alone": lambda: cast(Int32, fn.sin(cast(Float32, 1)) * 4) + 2,
    "times numbers": lambda: X * (cast(Int32, fn.sin(cast(Float32, 1)) * 4) + 2),
}
ESTIMATES = {"out": [(0, 10)], "image": [(-300, 600)]}


def reads_at(coordinate: Expr, with_estimates: bool) -> Pipeline:
    image, g, out = ImageParam(Int32, 1, "image"), Func("g"), Func("out")
    g[X] = image[X] * 3
    out[X] = g[coordinate] + cast(Int32, GAIN)
    return pipeline(out, estimates=ESTIMATES if with_estimates else {})


@pytest.mark.parametrize("with_estimates", [False, True])
@pytest.mark.parametrize("name", LIMITED)
def test_limited_coordinates_are_proven_and_computed(name: str, with_estimates: bool) -> None:
    made = reads_at(LIMITED[name](), with_estimates)
    checked = verify(made, schedule(made).func("g").compute_root().schedule, device("cpu"))
    assert checked, str(checked)
    report = prove(checked)
    assert not (*report.refuted, *report.unknown)
    images = {"image": np.arange(600, dtype=np.int32)}
    compiled = compile_cpu(checked)
    for real in (-1.5, 0.3, 2.7):
        scalars = {s.name: {"real": real, "gain": 7}[s.name] for s in made.scalars}
        ours = compiled.run(images, scalars, sizes=ESTIMATES)["out"]
        assert np.array_equal(ours, evaluate(made, images, scalars, ESTIMATES)["out"])


@pytest.mark.parametrize("with_estimates", [False, True])
@pytest.mark.parametrize("name", UNLIMITED)
def test_what_floats_make_is_refused_in_coordinates(name: str, with_estimates: bool) -> None:
    made = reads_at(UNLIMITED[name](), with_estimates)
    verdict = verify(made, schedule(made).func("g").compute_root().schedule, device("cpu"))
    assert [v.rule for v in verdict.violations] == ["bounds.unbounded"]
    assert "clamp" in str(verdict)


def test_domains_and_conditions_by_floats_are_proven() -> None:
    image, out = ImageParam(Int32, 1, "image"), Func("out")
    r = RDom([(0, fn.clamp(WHOLE, 0, 20))], "r")
    r.where(r.x < WHOLE - 1)
    out[X] = 0
    out[X] += image[r.x] + X
    made = pipeline(out)
    checked = verify(made, schedule(made).schedule, device("cpu"))
    assert checked, str(checked)
    report = prove(checked)
    assert not (*report.refuted, *report.unknown)
    images, sizes = {"image": np.arange(1, 30, dtype=np.int32)}, {"out": [(0, 5)]}
    for real in (-1.5, 4.9, 12.0):
        ours = compile_cpu(checked).run(images, {"real": real}, sizes=sizes)["out"]
        assert np.array_equal(ours, evaluate(made, images, {"real": real}, sizes)["out"])


def test_floats_of_a_loop_are_limits_inside_it() -> None:
    image, g, out, y = ImageParam(Int32, 1, "image"), Func("g"), Func("out"), Var("y")
    g[X] = image[fn.clamp(X, 0, 9)] * 3
    out[X, y] = g[X + cast(Int32, cast(Float32, y) * 1.5)]
    made = pipeline(out)
    inside = schedule(made).func("g").compute_at("out", "y").schedule
    checked = verify(made, inside, device("cpu"))
    assert checked, str(checked)
    report = prove(checked)
    assert not report.refuted
    # The part of the image that a call must give has ends that are made from the floats of the
    # first and the last row. No premise says that a float grows with its row.
    assert [str(one.obligation.statement) for one in report.unknown] == [
        "g reads image(max(min(g.s0.x, 9), 0)) inside the buffer of image."
    ]
    images, sizes = {"image": np.arange(10, dtype=np.int32)}, {"out": [(-3, 9), (-2, 6)]}
    ours = compile_cpu(checked).run(images, sizes=sizes)["out"]
    assert np.array_equal(ours, evaluate(made, images, sizes=sizes)["out"])
    outside = verify(made, schedule(made).func("g").compute_root().schedule, device("cpu"))
    ours = compile_cpu(outside).run(images, sizes=sizes)["out"]
    assert np.array_equal(ours, evaluate(made, images, sizes=sizes)["out"])
