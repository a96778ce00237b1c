"""Patterns for GPUs: which loops are blocks, threads, and values of a thread."""

from __future__ import annotations

import shutil

import attrs
import numpy as np
import pytest

import spaces
from spaces import Options, ScheduleSpace
from spaces.apps.catalog import APPS
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.reference import evaluate
from spaces.cost.batch import Batch
from spaces.cost.gpu.occupancy import OccupancyModel
from spaces.enumerate.space.patterns.builder import Maker, Shape
from spaces.enumerate.space.patterns.gpu import (
    blocks,
    grid,
    thread_blocks,
    thread_boxes,
    thread_registers,
    threads,
)
from spaces.enumerate.space.patterns.menus import fits, func_menus
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import Schedule

SM80 = spaces.device("sm_80")
MENUS = {"row": (32, 64), "tile": (4, 8), "block": (2, 4)}
LINE = Shape("f", 0, ("x",), (), ("x",), MENUS)
PLANE = Shape("f", 0, ("x", "y"), (), ("x", "y"), MENUS)
LAYERS = Shape("f", 0, ("x", "y", "c", "n"), (), ("x", "n"), MENUS)
BATCH = Shape("f", 0, ("c", "x", "y", "n"), (), ("c", "x", "y"), MENUS)
SUMS = Shape("f", 1, ("x", "y"), ("r.x", "r.y"), ("x", "y"), MENUS, sums=True)

WRITTEN = {
    LoopKind.SERIAL: "",
    LoopKind.UNROLLED: "unrolled ",
    LoopKind.GPU_BLOCK: "block ",
    LoopKind.GPU_THREAD: "thread ",
}


def shown(maker: Maker, shape: Shape) -> str:
    """The loops of a pattern, outermost first."""
    pattern = maker(shape)
    loops = () if pattern is None else pattern.order.loops
    return ", ".join(WRITTEN[loop.kind] + loop.name for loop in loops)


@pytest.mark.parametrize(
    ("maker", "shape", "loops"),
    [
        (blocks, LAYERS, "block n, block x, thread nt, thread xt, c, y"),
        (grid, LAYERS, "block c, block n, block x, thread nt, thread xt"),
        (grid, PLANE, ""),  # as blocks
        (thread_blocks, LINE, ""),
        (thread_blocks, PLANE, "block y, block x, thread yt, thread xt, unrolled yb"),
        (thread_blocks, LAYERS, "block c, block n, block x, thread nt, thread xt, unrolled nb"),
        (
            thread_blocks,
            SUMS,
            "block y, block x, thread yt, thread xt, r.y, r.x, unrolled yb",
        ),
        (thread_boxes, PLANE, ""),
        (
            thread_boxes,
            BATCH,
            "block n, block x, block c, thread yt, thread xt, thread ct, unrolled yb",
        ),
        (threads, SUMS, "thread y, thread x, r.y, r.x"),
        (thread_registers, SUMS, "r.y, r.x, unrolled y, unrolled x"),
    ],
)
def test_loops(maker: Maker, shape: Shape, loops: str) -> None:
    assert shown(maker, shape) == loops


def test_what_is_unrolled_whole_in_a_kernel_is_computed_in_a_thread() -> None:
    pipe = APPS["conv_layer"].pipeline()
    menu = func_menus(pipe, SM80, Options.medium(SM80), Schedule(()))["conv"]
    orders = menu.inner["thread_registers"]
    block, thread = LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD
    assert not fits(orders, [block])
    assert fits(orders, [block, thread])


def small_convolution() -> spaces.Pipeline:
    """Sums of 3 x 3 pixels of 8 channels, for 64 channels."""
    x, y, c = spaces.Var("x"), spaces.Var("y"), spaces.Var("c")
    image = spaces.ImageParam(spaces.Int32, 3, "image")
    weights = spaces.ImageParam(spaces.Int32, 4, "weights")
    conv, out = spaces.Func("conv"), spaces.Func("out")
    r = spaces.RDom([(0, 8), (0, 3), (0, 3)], "r")
    conv[c, x, y] = 0
    conv[c, x, y] += weights[c, r.x, r.y, r.z] * image[r.x, x + r.y, y + r.z]
    out[c, x, y] = spaces.max(conv[c, x, y], 0)
    sizes = {out: [64, 256, 256], image: [8, 258, 258], weights: [64, 8, 3, 3]}
    return spaces.pipeline(out, estimates=sizes)


def test_sums_are_searched_in_the_registers_of_threads() -> None:
    pipe = small_convolution()
    space = ScheduleSpace(pipe, SM80).of_patterns
    found = spaces.best(spaces.search(space)).best[0].schedule
    text = spaces.format_schedule(found, pipe)
    conv, out = found.of("conv"), found.of("out").stages[0]
    level = next(loop for loop in out.loops if loop.name == conv.compute.loop)
    assert level.kind is LoopKind.GPU_THREAD, text
    kinds = [loop.kind for loop in conv.stages[1].loops]
    assert kinds == [LoopKind.SERIAL] * 3 + [LoopKind.UNROLLED] * 3, text
    assert [loop.kind for loop in out.loops].count(LoopKind.GPU_BLOCK) == 3, text


@pytest.mark.skipif(shutil.which("g++") is None, reason="the emulator needs g++")
def test_sums_in_the_registers_of_threads_are_right() -> None:
    pipe = small_convolution()
    found = spaces.best(spaces.search(ScheduleSpace(pipe, SM80).of_patterns)).best[0].schedule
    rng = np.random.default_rng(0)
    inputs = {
        "image": rng.integers(-99, 99, (130, 18, 8), dtype=np.int32),
        "weights": rng.integers(-99, 99, (3, 3, 8, 64), dtype=np.int32),
    }
    sizes = {"out": [64, 16, 128]}
    verdict = spaces.verify(pipe, found, SM80)
    assert verdict
    ran = compile_gpu(verdict).run(inputs, sizes=sizes)["out"]
    assert (ran == evaluate(pipe, inputs, sizes=sizes)["out"]).all()


@pytest.mark.skipif(shutil.which("g++") is None, reason="the emulator needs g++")
@pytest.mark.parametrize("name", ["blocks", "grid", "thread_blocks"])
def test_kernels_of_a_pattern_compute_all_values(name: str) -> None:
    """Of sizes that no tile divides, with a stage beside it that is read at two places."""
    x, y, c = spaces.Var("x"), spaces.Var("y"), spaces.Var("c")
    image = spaces.ImageParam(spaces.Int32, 3, "image")
    twice, out = spaces.Func("twice"), spaces.Func("out")
    twice[x, y, c] = image[x, y, c] * 2
    out[x, y, c] = twice[x, y, c] + twice[x + 1, y, c] + twice[x, y + 1, c]
    size = [197, 131, 3]
    pipe = spaces.pipeline(out, estimates={out: size, image: [198, 132, 3]})
    options = attrs.evolve(Options.medium(SM80), root=(name,))
    found = spaces.best(spaces.search(ScheduleSpace(pipe, SM80, options))).best[0].schedule
    rng = np.random.default_rng(0)
    inputs = {"image": rng.integers(-99, 99, (3, 132, 198), dtype=np.int32)}
    ran = compile_gpu(spaces.verify(pipe, found, SM80)).run(inputs, sizes={"out": size})["out"]
    assert (ran == evaluate(pipe, inputs, sizes={"out": size})["out"]).all()


def test_values_of_a_thread_share_what_they_read() -> None:
    """Eight values in a column read one weight, which does not depend on y."""
    x, y = spaces.Var("x"), spaces.Var("y")
    weights, out = spaces.ImageParam(spaces.Float32, 1, "weights"), spaces.Func("out")
    out[x, y] = weights[x] * 2.0
    pipe = spaces.pipeline(out, estimates={out: [1024, 1024], weights: [1024]})
    model = OccupancyModel(SM80)

    def moved(text: str) -> float:
        """The cost of loads."""
        batch = Batch.of(pipe, spaces.parse_schedule(text, pipe))
        (stage,) = batch.features.stages
        return float(model._loads(batch.features, stage))

    tiles = "out.split(y, y, yb, 8).gpu_tile(x, y, xt, yt, 32, 8)"
    apart, together = moved(tiles), moved(f"{tiles}.reorder(yb, xt, yt).unroll(yb)")
    assert apart == 8 * together


def test_schedules_with_fused_loops_are_found_in_their_space() -> None:
    """Of four dimensions two are fused in a loop over blocks: a fuse has no factor."""
    x, y, z, w = (spaces.Var(name) for name in "xyzw")
    image, out = spaces.ImageParam("uint8", 4, "image"), spaces.Func("out")
    out[x, y, z, w] = image[x, y, z, w] + 1
    size = [64, 16, 4, 4]
    pipeline = spaces.pipeline(out, estimates={out: size, image: size})
    space = ScheduleSpace(pipeline, SM80, Options.medium(SM80))
    fused = [one for one in space.structures() if "fuse" in str(one.schedule).lower()]
    assert fused
    for structure in fused:
        schedule = structure.at(0)
        assert space.way_to(schedule)[-1].is_complete
