"""Several consecutive stores load an element once, unless one of them writes it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.llvm.codegen import llvm_module
from spaces.backend.lowering.cpu.passes import lower
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt8
from spaces.model.nest.loopnest import loop_nest

X = Var("x")
IMAGE = ImageParam(UInt8, 1, "im")
DATA = np.array([4, 5, 7, 11, 13, 17, 19, 23], np.uint8)


def test_stores_in_a_row_read_an_image_once() -> None:
    out = Func("out")
    out[X] = IMAGE[0] + cast(UInt8, X)
    algorithm = pipeline(out)
    chosen = schedule(algorithm).split("x", "xo", "xi", 4, "round_up").unroll("xi").schedule
    text = llvm_module([*lower(loop_nest(algorithm, chosen)).values()][-1])
    assert len(re.findall(r"= load i8,", text)) == 1
    assert len(re.findall(r"store i8 ", text)) == 4
    found = compile_cpu_unchecked(algorithm, chosen).run({"im": DATA}, sizes={"out": [8]})["out"]
    assert found.tolist() == [4, 5, 6, 7, 8, 9, 10, 11]


@pytest.mark.parametrize("unrolled", [False, True])
def test_stored_elements_are_read_again(unrolled: bool) -> None:
    """Sums in place; each reads the value that the one before has stored."""
    out, r = Func("out"), RDom([(0, 8)], "r")
    out[X] = cast(Int32, IMAGE[X])
    out[0] = out[0] * 2 + cast(Int32, IMAGE[r.x])
    exact = DATA.astype(np.int64)
    for value in DATA:
        exact[0] = exact[0] * 2 + value
    np.testing.assert_array_equal(run(out, unrolled)["out"], exact)


@pytest.mark.parametrize("unrolled", [False, True])
def test_values_that_are_stored_together_are_read_again(unrolled: bool) -> None:
    """Each step computes both values from the values that the step before has stored."""
    out, r = Func("out"), RDom([(0, 8)], "r")
    out[X] = (cast(Int32, IMAGE[X]), 1)
    out[0] = (out[0][1] + r.x, out[0][0] * 2 - out[0][1])
    exact, first, second = DATA.astype(np.int64), 4, 1
    for step in range(8):
        first, second = second + step, first * 2 - second
    exact[0] = first
    found = run(out, unrolled)
    np.testing.assert_array_equal(found["out.0"], exact)
    assert found["out.1"].tolist() == [second, *[1] * 7]


@pytest.mark.parametrize("unrolled", [False, True])
def test_places_that_are_read_are_read_again(unrolled: bool) -> None:
    """Each store may change the index of the next store, and the value there."""
    out, r = Func("out"), RDom([(0, 8)], "r")
    out[X] = cast(Int32, IMAGE[X])
    place = fn.clamp(out[0] % 4, 0, 3)
    out[place] = out[place] + r.x + 1
    exact = DATA.astype(np.int64)
    for step in range(8):
        exact[exact[0] % 4] += step + 1
    assert exact.tolist()[:2] == [5, 40]
    np.testing.assert_array_equal(run(out, unrolled)["out"], exact)


@pytest.mark.parametrize("unrolled", [False, True])
def test_elements_at_stored_places_are_read_again(unrolled: bool) -> None:
    """Each step reads the pixel whose index the step before has stored; the image does not
    change.
    """
    out, r = Func("out"), RDom([(0, 8)], "r")
    out[X] = cast(Int32, IMAGE[X])
    out[0] = cast(Int32, IMAGE[fn.clamp(out[0] % 8, 0, 7)]) + r.x
    exact = DATA.astype(np.int64)
    for step in range(8):
        exact[0] = int(DATA[exact[0] % 8]) + step
    np.testing.assert_array_equal(run(out, unrolled)["out"], exact)


def run(out: Func, unrolled: bool) -> dict[str, NDArray[np.int32]]:
    algorithm = pipeline(out)
    directives = schedule(algorithm)
    if unrolled:
        directives = directives.update(0).unroll("r.x")
    return compile_cpu_unchecked(algorithm, directives.schedule).run(
        {"im": DATA}, sizes={"out": [8]}
    )
