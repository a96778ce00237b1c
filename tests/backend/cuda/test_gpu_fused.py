"""Kernels of fused Funcs, executed in several thread orders."""

from __future__ import annotations

import numpy as np
import pytest

from spaces.backend.compile_gpu import compile_gpu_unchecked
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.obligations.records import Proven
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt8
from spaces.model.writing.text import parse_schedule
from tests.backend.cuda.gpu_runs import check, check_values

X, Y = Var("x"), Var("y")
SM_80 = device("sm_80")
IMAGE = np.random.default_rng(0).integers(0, 256, (60, 60), np.uint8)


def three() -> Pipeline:
    """Three Funcs with unequal required regions, one of them with an update; two read a fourth
    Func.
    """
    image = ImageParam(UInt8, 2, "image")
    p, f, g, h, out = Func("p"), Func("f"), Func("g"), Func("h"), Func("out")
    p[X, Y] = cast(Int32, image[X, Y]) * 3 + X
    f[X, Y] = p[X, Y] * 2
    f[X, Y] = f[X, Y] * f[X, Y] + image[X, Y]
    g[X, Y] = cast(Int32, image[X + 1, Y]) + X
    h[X, Y] = p[X, Y + 1] - Y
    out[X, Y] = f[X, Y] + f[X + 2, Y + 1] * g[X, Y] + g[X, Y + 2] - h[X + 1, Y - 1] * h[X, Y]
    return pipeline(out)


THREE = three()
ROOT = "".join(
    f"{func}.compute_root().gpu_tile(x, y, xi, yi, 8, 4, GuardWithIf)\n" for func in "fgh"
)
UPDATED = ROOT + "f.update(0).gpu_tile(x, y, xi, yi, 8, 4, GuardWithIf)\n"
INSIDE = "out.gpu_tile(x, y, xi, yi, 8, 4)\n" + "".join(
    f"{func}.compute_at(out, x).gpu_threads(x, y)\n" for func in "fgh"
)
TEXTS = (
    ROOT + "p.compute_root()\nh.compute_with(f, x)",
    ROOT + "p.compute_root()\nh.compute_with(f, xi)",
    ROOT + "p.compute_root()\nh.compute_with(g, xi)\nf.compute_with(g, xi)",
    ROOT + "p.compute_root()\nh.compute_with(f, xi)\nf.compute_with(g, x)",
    ROOT + "p.compute_root()\nh.compute_with(f, x, LoopAlignStrategy::AlignEnd)",
    UPDATED + "p.compute_root()\nh.compute_with(f.update(0), xi)",
    UPDATED + "p.compute_root()\nf.compute_with(h, xi)\nf.update(0).compute_with(h, xi)",
    UPDATED + "p.compute_root()\nf.compute_with(h, xi)\nf.update(0).compute_with(h, x)",
    INSIDE + "p.compute_root()\nf.compute_with(h, x)",
    INSIDE + "p.compute_at(out, x).gpu_threads(x, y)\nh.compute_with(f, x)\ng.compute_with(f, x)",
    "out.gpu_tile(x, y, xi, yi, 8, 4)\nf.compute_at(out, xi)\nh.compute_at(out, xi)\n"
    "h.compute_with(f, y)\ng.compute_at(out, xi).compute_with(h, x)\np.compute_at(out, x)",
)


@pytest.mark.parametrize("text", TEXTS)
def test_fused_kernels_give_the_references_bits(text: str) -> None:
    chosen = parse_schedule(text, THREE)
    verdict = verify(THREE, chosen, SM_80)
    assert isinstance(verdict, CheckedSchedule), str(verdict)
    assert all(isinstance(p.outcome, Proven) for p in prove(verdict).proofs)
    compiled = compile_gpu_unchecked(THREE, chosen)
    for width, height in ((19, 12), (33, 5)):
        sizes = {"out": [(1, width), (1, height)], "image": [(-8, 60), (-8, 60)]}
        check_values(compiled, {"image": IMAGE}, sizes)


def pair() -> Pipeline:
    """Two Funcs with equal required regions that read a third Func."""
    image = ImageParam(UInt8, 2, "image")
    p, f, h, out = Func("p"), Func("f"), Func("h"), Func("out")
    p[X, Y] = cast(Int32, image[X, Y]) * 3 + X
    f[X, Y] = p[X, Y] * 2 - p[X + 2, Y]
    h[X, Y] = p[X, Y + 1] - Y
    out[X, Y] = f[X, Y] * h[X, Y]
    return pipeline(out)


PAIR = pair()
GRIDS = "".join(f"{func}.compute_root().gpu_tile(x, y, xi, yi, 8, 4)\n" for func in "fh")


@pytest.mark.parametrize(
    "text",
    [
        "h.compute_with(f, xi)\np.compute_at(f, x).gpu_threads(x, y)",
        "h.compute_with(f, x)\np.compute_at(f, x).gpu_threads(x)",
        "h.compute_with(f, xi)\np.compute_at(f, xi)",
    ],
)
def test_a_func_that_both_read_is_computed_in_their_kernel(text: str) -> None:
    chosen = parse_schedule(GRIDS + text, PAIR)
    verdict = verify(PAIR, chosen, SM_80)
    assert isinstance(verdict, CheckedSchedule), str(verdict)
    assert all(isinstance(p.outcome, Proven) for p in prove(verdict).proofs)
    check(PAIR, chosen, {"image": IMAGE}, {"out": [(1, 19), (1, 12)], "image": [(-8, 60)] * 2})


def test_one_kernel_is_launched_for_both() -> None:
    apart = ROOT + "p.compute_root()\nout.gpu_tile(x, y, xi, yi, 8, 4)"
    for text, launches in ((apart, 4), (apart + "\nh.compute_with(f, x)", 3)):
        compiled = compile_gpu_unchecked(THREE, parse_schedule(text, THREE))
        assert compiled.source.count("__global__") == launches


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ROOT + "p.compute_root()\nh.compute_with(f, y)",
         "lies inside the block loop f.y, because of h.compute_with(f, y)"),
        (ROOT + "p.compute_root()\nh.compute_with(f, yi)",
         "lies inside the thread loop f.yi, because of h.compute_with(f, yi)"),
        ("f.compute_root().gpu_blocks(y, x)\nh.compute_root().gpu_blocks(y)\nh.compute_with(f, y)"
         "\ng.compute_root()\np.compute_root()",
         "The block loop x of f (f.gpu_blocks(x, y)) lies inside the block loop f.y, because of h"),
        ("f.compute_root().gpu_tile(x, y, xi, yi, 8, 4, GuardWithIf)\n"
         "h.compute_root().tile(x, y, xi, yi, 8, 4, GuardWithIf).gpu_blocks(x, y).gpu_threads(yi)\n"
         "h.compute_with(f, yi)\ng.compute_root()\np.compute_root()",
         "lies inside the thread loop f.yi, because of h.compute_with(f, yi)"),
        (ROOT.replace("f.compute_root().gpu_tile(x, y, xi, yi, 8, 4", "f.compute_root()"
         ".tile(x, y, xi, yi, 8, 4") + "p.compute_root()\nh.compute_with(f, x)", "their kinds are"),
    ],
)  # fmt: skip
def test_grids_are_fused_as_a_whole(text: str, said: str) -> None:
    verdict = verify(THREE, parse_schedule(text, THREE), SM_80)
    assert not isinstance(verdict, CheckedSchedule)
    assert said in str(verdict)
