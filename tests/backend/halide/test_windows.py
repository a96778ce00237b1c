"""Sliding windows in nested and parallel tiled forms: the library computes as many values as
Halide.

Halide's trace gives its stores; a run of the loop nest gives the library's stores. The tests
compare values with the reference and prove every schedule for all sizes.
"""

import contextlib
import io
import re
from math import prod

import numpy as np
import pytest

from spaces import prove, verify
from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import constant
from spaces.model.expressions.types import Int32
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from tests.backend.halide.peer import bridge
from tests.model.nest.nest_interpreter import run_nest

X, Y = Var("x"), Var("y")
PLACE = {"im": [(-80, 160), (-80, 160)], "g": (16, 24)}
SIZES = {"g.min.0": 0, "g.min.1": 0, "g.extent.0": 16, "g.extent.1": 24}


def rows() -> Pipeline:
    """Sums of three rows of a Func."""
    image, f, g = ImageParam(Int32, 2, "im"), Func("f"), Func("g")
    f[X, Y] = image[X, Y] * 2
    g[X, Y] = f[X, Y - 1] + f[X, Y] + f[X, Y + 1]
    return pipeline(g)


def corners() -> Pipeline:
    """Windows along both dimensions."""
    image, f, g = ImageParam(Int32, 2, "im"), Func("f"), Func("g")
    f[X, Y] = image[X, Y] * 2
    g[X, Y] = f[X - 1, Y - 1] + f[X, Y] + f[X + 1, Y + 1]
    return pipeline(g)


def upside_down() -> Pipeline:
    """Rows that the consumer reads from the last to the first."""
    image, f, g = ImageParam(Int32, 2, "im"), Func("f"), Func("g")
    f[X, Y] = image[X, Y] * 2
    g[X, Y] = f[X, -Y - 1] + f[X, 1 - Y]
    return pipeline(g)


def sums() -> Pipeline:
    """Rows of sums."""
    image, f, g = ImageParam(Int32, 2, "im"), Func("f"), Func("g")
    r = RDom([(0, 3)], "r")
    f[X, Y] = constant(0, Int32)
    f[X, Y] += image[X + r.x, Y]
    g[X, Y] = f[X, Y - 1] + f[X, Y + 1]
    return pipeline(g)


def count_halides_stores(built: Pipeline, chosen: Schedule) -> int:
    """The number of values of f that Halide stores."""
    peer = bridge.build(built, chosen)
    peer.algorithm.funcs["f"].trace_stores()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        peer.realize({"im": np.zeros((160, 160), np.int32)}, sizes=PLACE)
    return len(re.findall(r"^Store f\b", printed.getvalue(), re.MULTILINE))


STRIPS = "g.split(y, y, yi, 8).parallel(y)"
TILES = "g.tile(x, y, xi, yi, 8, 8).parallel(y)"
PAIRS = "split(yi, yi, yii, 2).reorder(yii, x, yi, y).unroll(yii)"
TILED = "split(y, y, yi, 2).reorder(yi, x, y)"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (rows, f"{STRIPS}\nf.store_at(g, y).compute_at(g, yi)"),
        (rows, f"{STRIPS}\nf.store_at(g, y).compute_at(g, yi).fold_storage(y, 4)"),
        (rows, f"{TILES}\nf.store_at(g, x).compute_at(g, yi)"),
        (rows, f"{STRIPS}.{PAIRS}\nf.store_at(g, y).compute_at(g, yi).{TILED}.unroll(yi)"),
        (rows, f"{STRIPS}.{PAIRS}\nf.store_at(g, y).compute_at(g, yi).{TILED}.fold_storage(y, 4)"),
        (rows, f"g.split(y, y, yi, 2)\nf.store_root().compute_at(g, y).{TILED}"),
        (corners, "f.store_root().compute_at(g, x)"),
        (corners, f"{TILES}\nf.store_at(g, x).compute_at(g, xi)"),
        (corners, f"{STRIPS}\nf.store_at(g, y).compute_at(g, x)"),
        (upside_down, "f.store_root().compute_at(g, y)"),
        (upside_down, "f.store_root().compute_at(g, y).fold_storage(y, 4, false)"),
        (upside_down, f"{STRIPS}\nf.store_at(g, y).compute_at(g, yi)"),
        (sums, "f.store_root().compute_at(g, y)"),
        (sums, f"{STRIPS}\nf.store_at(g, y).compute_at(g, yi).update().reorder(x, y, r)"),
    ],
)
def test_as_many_values_as_halide(make: object, text: str) -> None:
    assert callable(make)
    built: Pipeline = make()
    chosen = parse_schedule(text, built)
    verdict = verify(built, chosen, device("cpu"))
    assert isinstance(verdict, CheckedSchedule), str(verdict)
    _, computed = run_nest(loop_nest(built, chosen), SIZES, lambda _, at: at[0] + at[1])
    assert computed - prod((16, 24)) == count_halides_stores(built, chosen)
    report = prove(verdict)
    assert len(report.proven) == len(report.proofs)
    image = np.random.default_rng(1).integers(0, 99, (160, 160), np.int32)
    compiled = compile_cpu(verdict)
    for extents in ((16, 24), (9, 11)):
        sizes = {**PLACE, "g": extents}
        wanted = evaluate(built, {"im": image}, sizes=sizes)["g"]
        ours = compiled.run({"im": image}, sizes=sizes)["g"]
        assert np.array_equal(ours, wanted)
