"""Funcs of several values, by Halide and by the reference."""

from __future__ import annotations

import numpy as np
import pytest

from spaces import evaluate, parse_schedule
from tests.backend.halide.peer import assert_agrees
from tests.backend.test_tuples import PIXELS, SWAPS_ON_CPU, nearest, swaps


@pytest.mark.parametrize("text", SWAPS_ON_CPU)
def test_values_change_places(text: str) -> None:
    algorithm = swaps()
    sizes = {"out": [(0, 21), (0, 9)]}
    assert_agrees(algorithm, parse_schedule(text, algorithm), {"input": PIXELS}, sizes)


def test_argmin_and_argmax_as_outputs() -> None:
    algorithm = nearest()
    text = "out.vectorize(x, 4); argmin.compute_at(out, y); argmax.compute_root()"
    sizes = {"out": [(1, 21), (0, 9)]}
    assert_agrees(algorithm, parse_schedule(text, algorithm), {"input": PIXELS}, sizes)


def test_argmin_is_halides() -> None:
    """Halide's own inline reductions, not this library's definitions of them, on windows with
    ties.
    """
    hl = pytest.importorskip("halide")
    source = hl.Buffer(PIXELS)
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    r = hl.RDom([(0, 5), (0, 2)])
    low, high = hl.argmin(source[x + r.x, y + r.y]), hl.argmax(source[x + r.x, y + r.y])
    f[x, y] = (low[0], low[1], low[2], high[0], high[1])
    theirs = f.realize([12, 7])
    ours = evaluate(nearest(), {"input": PIXELS}, sizes={"out": [12, 7]})
    for found, wanted in zip(theirs, ours.values(), strict=True):
        np.testing.assert_array_equal(np.array(found), wanted)
