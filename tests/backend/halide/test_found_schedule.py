"""Schedules that Halide's autoschedulers write, read as schedules of this library."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("halide", reason="the extra `halide` is not installed")

from spaces.apps.catalog import APPS
from spaces.backend.halide.autoschedule import AUTOSCHEDULERS, autoscheduled, gpu_autoscheduled
from spaces.backend.halide.bridge import HalidePipeline, build
from spaces.backend.halide.found_schedule import found_schedule
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Float32
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.writing.text import parse_schedule
from tests.enumerate.pipelines import blur, chain, row_sums

PIPELINES = {
    "blur": blur,
    "chain": chain,
    "row_sums": row_sums,
    "unsharp": APPS["unsharp"].pipeline,
    "sgemm": APPS["sgemm"].pipeline,
}


def _loops(peer: HalidePipeline) -> str:
    """The loop nest, without the numbers that Halide gives to names."""
    return re.sub(r"\$\d+|\bv\d+", "", peer.loop_nest())


def _same(text: str, written: str, pipe: Pipeline) -> bool:
    return found_schedule(text, pipe) == parse_schedule(written, pipe)


QUICK = [(p, a) for p in PIPELINES for a in AUTOSCHEDULERS if (p, a) != ("unsharp", "Adams2019")]


@pytest.mark.parametrize(("name", "autoscheduler"), QUICK)
def test_halide_makes_the_loops_that_its_autoscheduler_made(name: str, autoscheduler: str) -> None:
    pipe = PIPELINES[name]()
    found = autoscheduled(pipe, autoscheduler, 2)
    assert _loops(build(pipe, found.schedule)) == _loops(found.peer)


def test_schedules_for_gpus() -> None:
    """Halide's Li2018 has no serial loop between threads, so its loops are the same here."""
    pipe = blur(1024, 1024)
    found = gpu_autoscheduled(pipe, "Li2018", 108)
    assert _loops(build(pipe, found.schedule)) == _loops(found.peer)
    assert verify(pipe, found.schedule, device("sm_80"))
    found = gpu_autoscheduled(pipe, "Anderson2021", 108)
    assert verify(pipe, found.schedule, device("sm_80"))


def test_loops_between_thread_loops_are_outside_of_them() -> None:
    text = """
        Var xi("xi");
        blur_y
            .split(x, x, xi, 32, TailStrategy::ShiftInwards)
            .compute_root()
            .reorder(xi, y, x)
            .gpu_blocks(x)
            .split(xi, xo, xi, 16, TailStrategy::GuardWithIf)
            .gpu_threads(xi)
            .split(y, y, yi, 8, TailStrategy::ShiftInwards)
            .gpu_threads(yi);
    """
    loops = found_schedule(text, blur()).of("blur_y").stages[0].loops
    assert [loop.name for loop in loops] == ["x", "y", "xo", "yi", "xi"]
    assert [loop.kind is LoopKind.GPU_THREAD for loop in loops] == [False, False, False, True, True]


@pytest.mark.parametrize(
    "text",
    [
        "blur_x.compute_root()\n    .split(x,x,xi,8,GuardWithIf)\n;\nblur_y.parallel(y)\n;\n",
        "blur_x.compute_root()\n    .split(x,x,xi,8,GuardWithIf)\nblur_y.parallel(y)\n;\n",
        "Func blur_x = pipeline.get_func(1);\n{\n    Var x = blur_x.args()[0];\n    blur_x\n"
        "        .compute_root()\n        .split(x, x, xi, 8, TailStrategy::GuardWithIf);\n}\n"
        "blur_y.parallel(y);",
        "// found\nblur_x.compute_root()\n    .split(x, x, xi, 8, TailStrategy::GuardWithIf)\n"
        "    .reorder({xi, x, y});\nblur_y.parallel(y);\n",
    ],
)
def test_each_manner_of_writing(text: str) -> None:
    written = "blur_x.compute_root().split(x, x, xi, 8, TailStrategy::GuardWithIf)"
    assert _same(text, f"{written}\nblur_y.parallel(y)", blur())


def test_names_that_halide_changes() -> None:
    """A dot, a name that C++ reserves, and one that has a meaning in Halide."""
    first, kept, r = Var("_0"), Var("float"), RDom([(0, 8)], "r")
    image, total = ImageParam(Float32, 2, "image"), Func("total")
    total[first, kept] = 0.0
    total[first, kept] += image[first, r]
    pipe = pipeline(total, estimates={total: [64, 64], image: [64, 8]})
    halide = (
        "total.parallel(float_)\ntotal.update(0)\n    .reorder(v_0, r_x)\n    .parallel(float_);"
    )
    ours = "total.parallel(float)\ntotal.update(0).reorder(_0, r.x).parallel(float)"
    assert _same(halide, ours, pipe)
    li = "total.update(0)\n    .reorder(v_0,r$x)\n    .parallel(float_);"
    assert _same(li, "total.update(0).reorder(_0, r.x).parallel(float)", pipe)


def test_partial_results_get_their_name() -> None:
    pipe = row_sums()
    li = (
        "sums.update(0)\n    .split(r$x,r1,r2,56,GuardWithIf)\n;\n"
        "sums_intm = sums.update(0)\n    .rfactor({{r1,u}})\n    .compute_root()\n;\n"
        "sums_intm.update()\n    .reorder(u,r2)\n"
    )
    ours = (
        "sums.update(0).split(r.x, r1, r2, 56, TailStrategy::GuardWithIf).rfactor(r1, u)"
        ".compute_root()\nsums_intm.update(0).reorder(u, r2)"
    )
    assert _same(li, ours, pipe)


@pytest.mark.parametrize("level", ["xo", "y"])
def test_loops_at_which_a_func_is_computed_stay_where_they_are(level: str) -> None:
    text = """
        blur_y.split(x, x, xi, 32).reorder(xi, y, x).gpu_blocks(x)
            .split(xi, xo, xi, 16).gpu_threads(xi).split(y, y, yi, 8).gpu_threads(yi);
        blur_x.compute_at(blur_y, LEVEL);
    """
    found = found_schedule(text.replace("LEVEL", level), blur())
    names = [loop.name for loop in found.of("blur_y").stages[0].loops]
    stays = names.index("xo") > names.index("yi")
    assert stays == (level == "xo")


def test_a_func_that_is_called_like_the_copy_of_an_image_is_no_copy() -> None:
    image, same = ImageParam(Float32, 1, "image"), Func("image_im")
    x = Var("x")
    same[x] = image[x] * 2.0
    pipe = pipeline(same, estimates={same: [64], image: [64]})
    assert _same("image_im.parallel(x);", "image_im.parallel(x)", pipe)
    assert _same("image_im$1.compute_root();\nimage_im.parallel(x);", "image_im.parallel(x)", pipe)


def test_copies_of_images_are_left_out() -> None:
    copied = (
        "input_im.compute_root()\n    .split(_0,v1,v2,64,ShiftInwards)\n;\nblur_y.parallel(y)\n;"
    )
    assert _same(copied, "blur_y.parallel(y)", blur())


def test_an_output_lies_as_its_array_does() -> None:
    assert _same("blur_y.reorder_storage(y, x).parallel(y);", "blur_y.parallel(y)", blur())
