"""What the gate once found: each schedule is legal and computes the reference, or is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from backend.compile import compile_cpu
from backend.reference import evaluate
from spaces.constraints.devices import device
from spaces.constraints.verdict import CheckedSchedule, Verdict
from spaces.constraints.verify import verify
from spaces.model.freeze import pipeline
from spaces.model.func import Func, ImageParam, RDom, Var
from spaces.model.pipeline import Pipeline
from spaces.model.text import parse_schedule
from spaces.model.types import Int32

X, Y = Var("x"), Var("y")
IMAGE = np.random.default_rng(3).integers(-50, 50, (120, 120), dtype=np.int32)
PLACE = ((-50, 120), (-50, 120))


def window_sum() -> Pipeline:
    """A sum over a window in an update stage, read by a stencil."""
    image, total, out = ImageParam(Int32, 2, "input"), Func("total"), Func("out")
    r = RDom([(0, 3)], "r")
    total[X, Y] = X - Y
    total[X, Y] = total[X, Y] * 2 + image[X + r, Y]
    out[X, Y] = total[X, Y] + total[X, Y - 1]
    return pipeline(out)


def chain() -> Pipeline:
    """Three stencils."""
    image = ImageParam(Int32, 2, "input")
    one, two, out = Func("one"), Func("two"), Func("out")
    one[X, Y] = image[X, Y] + image[X, Y + 1]
    two[X, Y] = one[X, Y - 1] * 2 + one[X, Y + 1]
    out[X, Y] = two[X, Y] + two[X + 1, Y]
    return pipeline(out)


def judged(made: Callable[[], Pipeline], text: str) -> Verdict:
    return verify(made(), parse_schedule(text, made()), device("cpu"))


@pytest.mark.parametrize(
    ("made", "text"),
    [
        # The update runs over the end of a box that the pure stage reaches over the start of.
        (
            window_sum,
            "out.reorder(y, x); total.compute_at(out, y).split(y, y, yi, 4);"
            "total.update(0).split(y, y, yi, 4).vectorize(yi);",
        ),
    ],
)
def test_legal_schedules_compute_the_reference(made: Callable[[], Pipeline], text: str) -> None:
    verdict = judged(made, text)
    assert isinstance(verdict, CheckedSchedule), verdict
    compiled = compile_cpu(verdict.pipeline, verdict)
    for width, height in ((16, 8), (9, 5), (31, 13)):
        sizes = {"out": ((-3, width), (2, height)), "input": PLACE}
        found = compiled.run({"input": IMAGE}, sizes=sizes)
        wanted = evaluate(verdict.pipeline, {"input": IMAGE}, sizes=sizes)
        np.testing.assert_array_equal(found["out"], wanted["out"])
