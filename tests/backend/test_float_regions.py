"""Pipelines whose regions a call computes from floats."""

from __future__ import annotations

import numpy as np
import pytest

from spaces import (
    Float32,
    Func,
    ImageParam,
    Int32,
    Param,
    Pipeline,
    RDom,
    Var,
    cast,
    clamp,
    compile_cpu,
    device,
    evaluate,
    legal_mask,
    parse_schedule,
    pipeline,
    prove,
    verify,
)
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.preconditions import SizeError

CPU = device("cpu")


def grid(default: float | None = None) -> Pipeline:
    """A histogram with a Param as the width of its bins, read between them."""
    x, y, z, r = Var("x"), Var("y"), Var("z"), RDom([(0, 8)], "r")
    image, width = ImageParam(Float32, 2, "im"), Param(Float32, "width", default=default)
    bins, out = Func("bins"), Func("out")
    bins[x, z] = 0.0
    value = clamp(image[x, r.x], 0.25, 1.0)
    bins[x, cast(Int32, value / width + 5.5)] += value
    place = cast(Int32, clamp(image[x, y], 0.25, 1.0) * (1.0 / width))
    out[x, y] = bins[x, place + 5] + bins[x, place + 6]
    return pipeline(out, estimates={out: [8, 8], image: [8, 8]})


GRID = grid()
TILED = parse_schedule("out.vectorize(x, 4)\nbins.compute_at(out, x)", GRID)
IMAGE = np.random.default_rng(2).uniform(0, 1.2, (8, 8)).astype("f4")
IMAGE[0, :4] = np.nan, np.inf, -np.inf, 1
SIZES = {"out": [8, 8]}


@pytest.fixture(scope="module")
def compiled():
    """Compiled with fast floats: the grid needs strict ones, and has them."""
    return compile_cpu(verify(GRID, TILED, CPU), float_mode=FloatMode.FAST)


@pytest.mark.parametrize("width", [0.25, 0.1, 3.0, -0.2, 0.07, 1e9])
def test_values_are_those_of_the_reference(compiled, width: float) -> None:
    wanted = evaluate(GRID, {"im": IMAGE}, {"width": width}, SIZES)["out"]
    found = compiled({"im": IMAGE}, {"width": width}, SIZES)["out"]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("width", [0.0, np.nan, np.inf, 1e-20])
def test_a_float_without_limits_is_refused(compiled, width: float) -> None:
    with pytest.raises(SizeError, match=r"regions from a float.* <= 1073741824\.0, but width is"):
        compiled({"im": IMAGE}, {"width": width}, SIZES)


def test_regions_are_proven() -> None:
    report = prove(verify(GRID, TILED, CPU))
    assert report.proven == report.proofs


def test_a_default_decides_sizes() -> None:
    """A bound holds for the default, or not; a default without limits makes all illegal."""
    made, text = grid(0.125), "bins.compute_root().bound(z, 0, {})"
    assert verify(made, parse_schedule(text.format(15), made), CPU)
    (found,) = verify(made, parse_schedule(text.format(14), made), CPU).violations
    assert found.rule == "bounds.explicit-too-small"
    assert "the default width = 0.125" in found.message
    structure = parse_schedule(f"{text.format(15)}\nout.split(x, x, xi, n)", made)
    assert legal_mask(made, structure, CPU, {"n": [4, 8, 16]}).tolist() == [True, True, False]
    (found,) = verify(grid(0.0), parse_schedule("", grid(0.0)), CPU).violations[:1]
    assert found.rule == "bounds.floats"
