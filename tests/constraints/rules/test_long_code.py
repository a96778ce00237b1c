"""How many operations unrolled loops make, for the advice on code that takes long to compile."""

from __future__ import annotations

import pytest

from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Int32
from spaces.model.writing.text import parse_schedule

X, Y = Var("x"), Var("y")
CPU = device("cpu")


def _sums() -> Pipeline:
    """The output has four operations and reads: two reads, a sum and a product."""
    image, g, out = ImageParam(Int32, 2, "image"), Func("g"), Func("out")
    g[X, Y] = image[X * 2, Y]
    out[X, Y] = (g[X, Y] + g[X + 1, Y]) * 3
    return pipeline(out, estimates={out: [128, 128], image: [260, 128]})


@pytest.mark.parametrize(
    ("text", "copies"),
    [
        ("out.unroll(x, 25).unroll(y, 40)", None),  # 4,000 operations
        ("out.unroll(x, 11).unroll(y, 91)", 1001),
        ("g.compute_root()\nout.unroll(x, 25).unroll(y, 40)", None),
    ],
)
def test_copies_times_operations(text: str, copies: int | None) -> None:
    pipe = _sums()
    verdict = verify(pipe, parse_schedule(text, pipe), CPU)
    assert verdict, str(verdict)
    found = [one for one in verdict.advice if one.rule == "advice.long-code"]
    assert [one.values for one in found] == (
        [] if copies is None else [found[0].values | {"copies": copies, "operations": 4}]
    )
