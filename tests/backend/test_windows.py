"""Windows slide only where what is left out was there before; on the CPU and on GPUs.

In each of these pipelines one coordinate of a Func moves with two loops, and the inner loop runs
through other rows in each iteration of the outer one.
"""

from __future__ import annotations

import numpy as np
import pytest

from spaces.backend.access import AccessMode
from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.emulator import Emulator
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Int32
from spaces.model.writing.text import parse_schedule

W, X, Y = Var("w"), Var("x"), Var("y")
PIXELS = np.random.default_rng(38).integers(-999, 999, (40, 40), dtype=np.int32)
ROW_BY_ROW = "m.compute_at(f, y); s.compute_at(m, y).store_root();"
TILES = (
    "f.split(x, xo, xi, 4, TailStrategy::GuardWithIf)"
    ".split(y, yo, yi, 4, TailStrategy::GuardWithIf).reorder({order}, xo, yo)"
    ".gpu_blocks(xo, yo).gpu_threads(xi); "
)


def diagonal() -> Pipeline:
    """``f`` walks down the diagonal of ``m``."""
    s, m, f = Func("s"), Func("m"), Func("f")
    s[W, Y] = W + 10 * Y + 1
    m[W, Y] = s[W, Y] * 2
    f[Y] = m[Y, Y] + m[Y + 1, Y]
    return pipeline(f)


def sheared() -> Pipeline:
    """``f`` reads two rows of ``m``, one place further for each row."""
    image = ImageParam(Int32, 2, "im")
    s, m, f = Func("s"), Func("m"), Func("f")
    s[X, Y] = image[X, Y] * 3
    m[X, Y] = s[X, Y] + s[X + 1, Y]
    f[X, Y] = m[X + Y, Y] + m[X + Y, Y + 1]
    return pipeline(f)


def sheared_values(width: int, height: int) -> np.ndarray:
    """What ``sheared`` computes; arrays have y first."""
    m = 3 * (PIXELS[:, :-1] + PIXELS[:, 1:])
    return np.array(
        [[m[y, x + y] + m[y + 1, x + y] for x in range(width)] for y in range(height)], np.int32
    )


def legal(algorithm: Pipeline, text: str, on: str) -> CheckedSchedule:
    """The verdict, with all its proofs."""
    verdict = verify(algorithm, parse_schedule(text, algorithm), device(on))
    assert isinstance(verdict, CheckedSchedule), verdict
    report = prove(verdict)
    assert (report.refuted, report.unknown) == ((), ())
    return verdict


@pytest.mark.parametrize("mode", list(AccessMode))
def test_rows_along_a_diagonal(mode: AccessMode) -> None:
    compiled = compile_cpu(legal(diagonal(), ROW_BY_ROW, "cpu"), access_mode=mode)
    found = compiled.run({}, sizes={"f": (6,)})["f"]
    assert list(found) == [6, 50, 94, 138, 182, 226]


@pytest.mark.parametrize("mode", list(AccessMode))
def test_rows_that_are_sheared(mode: AccessMode) -> None:
    compiled = compile_cpu(legal(sheared(), ROW_BY_ROW, "cpu"), access_mode=mode)
    found = compiled.run({"im": PIXELS}, sizes={"f": (16, 12)})["f"]
    np.testing.assert_array_equal(found, sheared_values(16, 12))


@pytest.mark.parametrize("mode", list(AccessMode))
@pytest.mark.parametrize(
    "text",
    [
        f"{TILES.format(order='yi, xi')} m.compute_at(f, yi); s.compute_at(m, y).store_at(f, xi);",
        f"{TILES.format(order='xi, yi')} m.compute_at(f, yi).gpu_threads(x); "
        "s.compute_at(m, y).store_at(f, xo)"
        ".split(x, x, xi, 8, TailStrategy::GuardWithIf).gpu_threads(xi);",
    ],
    ids=["in each thread", "shared by a block"],
)
def test_rows_that_are_sheared_in_kernels(text: str, mode: AccessMode) -> None:
    compiled = compile_gpu(legal(sheared(), text, "sm_80"), access_mode=mode)
    found = compiled.run({"im": PIXELS}, sizes={"f": (16, 12)}, executor=Emulator())["f"]
    np.testing.assert_array_equal(found, sheared_values(16, 12))


@pytest.mark.parametrize("mode", list(AccessMode))
def test_rows_that_slide_in_blocks_of_one_thread(mode: AccessMode) -> None:
    """The block's shared memory is declared once, although none of its code is in thread loops."""
    s, f = Func("s"), Func("f")
    s[X, Y] = X + 10 * Y
    f[X, Y] = s[X, Y] + s[X, Y + 2]
    algorithm = pipeline(f)
    text = (
        "f.split(y, yo, yi, 4, TailStrategy::GuardWithIf).reorder(yi, x, yo).gpu_blocks(x, yo); "
        "s.compute_at(f, yi).store_at(f, x);"
    )
    compiled = compile_gpu(legal(algorithm, text, "sm_80"), access_mode=mode)
    found = compiled.run({}, sizes={"f": (3, 6)}, executor=Emulator())["f"]
    assert found.tolist() == [[2 * x + 20 * y + 20 for x in range(3)] for y in range(6)]
