"""Lanes that take turns among a few elements, in vectors whose last lanes may be left out."""

from __future__ import annotations

import numpy as np
import pytest

from spaces import Func, ImageParam, Int32, Pipeline, RDom, Var, compile_cpu, device, verify
from spaces import pipeline as freeze
from spaces.backend.reference import evaluate
from spaces.model.writing.text import parse_schedule


def weighted(turns: int) -> Pipeline:
    """Each element adds weights of its place among ``turns``, as a transposed convolution does."""
    x, y = Var("x"), Var("y")
    weights, out, r = ImageParam(Int32, 2, "weights"), Func("out"), RDom([(0, 2)], "r")
    out[x, y] = 0
    out[x, y] += weights[x % turns + turns * r.x, y % turns]
    return freeze(out, name="weighted")


@pytest.mark.parametrize("tail", ["GuardWithIf", "Predicate"])
@pytest.mark.parametrize("turns", [1, 2, 4])
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_lanes_read_the_elements_of_their_turns(turns: int, lanes: int, tail: str) -> None:
    pipeline = weighted(turns)
    text = f"out.update(0).split(x, xo, xi, {lanes}, TailStrategy::{tail}).vectorize(xi)"
    checked = verify(pipeline, parse_schedule(text, pipeline), device("cpu"))
    weights = np.arange(2 * turns * turns, dtype=np.int32).reshape(turns, 2 * turns)
    out = np.zeros((3, 21), np.int32)
    compile_cpu(checked).run({"weights": weights}, out={"out": out})
    wanted = evaluate(pipeline, {"weights": weights}, sizes={"out": [21, 3]})
    np.testing.assert_array_equal(out, wanted["out"])
