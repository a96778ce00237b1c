"""Compiled pipelines: every directive, any arrays, and sentences for what does not fit."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps import blur
from backend.arguments import ArgumentError
from backend.compile import CompiledPipeline, SizeError, compile_cpu
from backend.compile_gpu import compile_gpu
from backend.llvm.operators import FloatMode
from backend.reference import evaluate
from spaces.constraints.devices import device
from spaces.constraints.proofs.prove import prove
from spaces.constraints.verdict import CheckedSchedule
from spaces.constraints.verify import verify
from spaces.model.directives import Directives, schedule
from spaces.model.freeze import pipeline
from spaces.model.func import Func
from spaces.model.image_param import ImageParam
from spaces.model.param import Param
from spaces.model.pipeline import Pipeline
from spaces.model.rdom import RDom
from spaces.model.types import Float32, Int32, UInt8
from spaces.model.var import Var
from tests.backend.cpu_pipelines import edge_pipelines, typed_pipelines, update_pipelines
from tests.backend.cpu_runs import check
from tests.backend.cpu_schedules import cpu_schedules
from tests.strategies import stencil_pipelines

X, Y = Var("x"), Var("y")

BLUR = blur.pipeline()

DIRECTIVES: dict[str, Callable[[Directives], Directives]] = {
    "default": lambda s: s,
    "root": lambda s: s.func("blur_x").compute_root(),
    "reorder": lambda s: s.reorder("y", "x"),
    "split": lambda s: s.split("x", "xo", "xi", 7),
    "guard": lambda s: s.split("x", "xo", "xi", 7, "guard_with_if").vectorize("xi"),
    "guarded vectors": lambda s: s.vectorize("x", 8, "guard_with_if"),
    "shift_inwards": lambda s: s.vectorize("x", 8, "shift_inwards"),
    "fuse": lambda s: s.fuse("x", "y", "xy").parallel("xy"),
    "fused vectors": lambda s: s.fuse("x", "y", "xy").vectorize("xy", 4, "guard_with_if"),
    "unroll": lambda s: s.unroll("x", 3).unroll("y", 2),
    "parallel": lambda s: s.parallel("y"),
    "parallel in parallel": lambda s: s.parallel("y").parallel("x"),
    "task size": lambda s: s.parallel("y", 3),
    "tile": lambda s: s.tile("x", "y", "xi", "yi", 8, 4).vectorize("xi").parallel("y"),
    "vectors in vectors": lambda s: (
        s.tile("x", "y", "xi", "yi", 4, 2).vectorize("xi").vectorize("yi")
    ),
    "vectors outside": lambda s: s.split("x", "x", "xi", 4).vectorize("xi").reorder("y", "xi"),
    "compute_at": lambda s: s.func("blur_x").compute_at("blur_y", "y").vectorize("x", 4),
    "compute_at lanes": lambda s: s.vectorize("x", 4).func("blur_x").compute_at("blur_y", "x_v"),
    "sliding": lambda s: s.func("blur_x").store_root().compute_at("blur_y", "y"),
    "sliding in tiles": lambda s: (
        s.split("y", "y", "yi", 4)
        .parallel("y")
        .func("blur_x")
        .store_at("blur_y", "y")
        .compute_at("blur_y", "yi")
        .vectorize("x", 8)
    ),
    "folded": lambda s: (
        s.func("blur_x").store_root().compute_at("blur_y", "y").fold_storage("y", 4)
    ),
    "on the stack": lambda s: (
        s.tile("x", "y", "xi", "yi", 8, 4)
        .func("blur_x")
        .compute_at("blur_y", "x")
        .store_in("stack")
    ),
    "on the heap": lambda s: (
        s.tile("x", "y", "xi", "yi", 8, 4)
        .parallel("y")
        .func("blur_x")
        .compute_at("blur_y", "x")
        .store_in("heap")
    ),
}


@pytest.mark.parametrize("name", DIRECTIVES)
def test_every_directive_on_blur(name: str) -> None:
    directives = DIRECTIVES[name](schedule(BLUR))
    check(BLUR, directives.schedule, {"blur_y": [(-3, 21), (5, 13)]}, seed=1)
    check(BLUR, directives.schedule, {"blur_y": [(0, 8), (0, 4)]}, seed=2, at_end=False)


@pytest.mark.parametrize(
    "family", [stencil_pipelines(), edge_pipelines(), update_pipelines(), typed_pipelines()]
)
def test_random_pipelines_under_random_schedules(family: st.SearchStrategy[Pipeline]) -> None:
    @settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        algorithm = data.draw(family)
        chosen = data.draw(cpu_schedules(algorithm))
        extents = st.tuples(st.integers(-5, 5), st.integers(1, 20))
        outputs = {algorithm.outputs[0]: [data.draw(extents), data.draw(extents)]}
        least = (data.draw(st.integers(1, 12)), data.draw(st.integers(1, 9)))
        seed = data.draw(st.integers(0, 99))
        # Tails may not fit these sizes; that this is told is another test.
        with contextlib.suppress(SizeError):
            check(algorithm, chosen, outputs, seed, least, at_end=data.draw(st.booleans()))

    run()


@pytest.fixture(scope="module")
def tiled() -> CompiledPipeline:
    directives = schedule(BLUR).tile("x", "y", "xi", "yi", 16, 8).vectorize("xi").parallel("y")
    return compile_cpu(BLUR, directives.func("blur_x").compute_at("blur_y", "x").schedule)


def picture(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(height).integers(0, 9999, (height, width)).astype(np.uint16)


def test_arrays_of_any_strides(tiled: CompiledPipeline) -> None:
    sizes = {"blur_y": [(1, 40), (1, 20)]}
    image = picture(22, 42)
    wanted = evaluate(BLUR, {"input": image}, sizes=sizes)["blur_y"]
    odd = np.zeros((44, 130), np.uint16)[::2, 1:127:3]
    odd[...] = image
    backwards = np.ascontiguousarray(image[::-1, ::-1])[::-1, ::-1]
    upside_down = np.ascontiguousarray(image[::-1])[::-1]
    transposed = np.asfortranarray(image)
    unaligned = np.frombuffer(bytes(1) + image.tobytes(), np.uint8)[1:].view(np.uint16)
    for array in (odd, backwards, upside_down, transposed, unaligned.reshape(22, 42)):
        assert array.tobytes() == image.tobytes()
        found = tiled.run({"input": array}, sizes=sizes)
        np.testing.assert_array_equal(found["blur_y"], wanted)
    for out in (np.zeros((40, 80), np.uint16)[::-2, ::2], np.zeros((40, 20), np.uint16).T):
        assert tiled.run({"input": image}, sizes=sizes, out={"blur_y": out})["blur_y"] is out
        np.testing.assert_array_equal(out, wanted)


def test_a_crop_is_the_same_pixels(tiled: CompiledPipeline) -> None:
    image = picture(50, 60)
    whole = tiled.run({"input": image}, sizes={"blur_y": [(1, 58), (1, 48)]})["blur_y"]
    crop = tiled.run({"input": image}, sizes={"blur_y": [(7, 16), (11, 9)]})["blur_y"]
    np.testing.assert_array_equal(crop, whole[10:19, 6:22])


def test_images_may_begin_anywhere(tiled: CompiledPipeline) -> None:
    image = picture(20, 30)
    here = tiled.run({"input": image}, sizes={"blur_y": [(1, 28), (1, 18)]})["blur_y"]
    there = tiled.run(
        {"input": image},
        sizes={"blur_y": [(-99, 28), (1001, 18)], "input": [(-100, 30), (1000, 20)]},
    )["blur_y"]
    np.testing.assert_array_equal(here, there)


def test_output_may_share_memory_with_the_input() -> None:
    image, out = ImageParam(Int32, 1, "input"), Func("out")
    out[X] = image[X] + image[X + 1]
    compiled = compile_cpu(pipeline(out), schedule(pipeline(out)).schedule)
    memory = np.arange(10, dtype=np.int32)
    compiled.run({"input": memory}, out={"out": memory[1:]})
    np.testing.assert_array_equal(memory, [0, *range(1, 19, 2)])


def test_several_outputs() -> None:
    image, low, high = ImageParam(Int32, 1, "input"), Func("low"), Func("high")
    low[X] = image[X] - 1
    high[X] = low[X] * 2
    both = pipeline([low, high])
    compiled = compile_cpu(both, schedule(both).schedule)
    found = compiled.run({"input": np.arange(6, dtype=np.int32)}, sizes={"low": [6], "high": [4]})
    np.testing.assert_array_equal(found["low"], [-1, 0, 1, 2, 3, 4])
    np.testing.assert_array_equal(found["high"], [-2, 0, 2, 4])


def test_parameters_of_every_kind() -> None:
    out, gain, offset, flag = Func("out"), Param(Float32, "gain", 0.5), Param("int8", "offset"), 3
    out[X] = gain * X + offset.as_expr() + flag
    algorithm = pipeline(out)
    compiled = compile_cpu(algorithm, schedule(algorithm).vectorize("x", 4).schedule)
    found = compiled.run({}, {"offset": -7}, {"out": [5]})["out"]
    np.testing.assert_array_equal(found, np.float32([-4.0, -3.5, -3.0, -2.5, -2.0]))
    found = compiled.run({}, {"offset": 1, "gain": 2.0}, {"out": [5]})["out"]
    np.testing.assert_array_equal(found, np.float32([4, 6, 8, 10, 12]))


def test_empty_outputs(tiled: CompiledPipeline) -> None:
    found = tiled.run({"input": picture(3, 3)}, sizes={"blur_y": [(0, 0), (0, 7)]})
    assert found["blur_y"].shape == (7, 0)


def test_runs_from_several_threads_at_once(tiled: CompiledPipeline) -> None:
    images = [picture(50 + i, 70) for i in range(6)]
    wanted = [
        evaluate(BLUR, {"input": im}, sizes={"blur_y": [(1, 60), (1, 40)]})["blur_y"]
        for im in images
    ]
    wrong: list[int] = []

    def work(i: int) -> None:
        for _ in range(20):
            out = tiled.run({"input": images[i]}, sizes={"blur_y": [(1, 60), (1, 40)]})["blur_y"]
            if not np.array_equal(out, wanted[i]):
                wrong.append(i)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(len(images))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_a_prepared_run_reads_its_arrays_anew(tiled: CompiledPipeline) -> None:
    image = picture(10, 18)
    prepared = tiled.prepare({"input": image}, sizes=SMALL)
    first = prepared()["blur_y"].copy()
    image[...] = image[::-1].copy()
    second = prepared()["blur_y"]
    np.testing.assert_array_equal(second, first[::-1])


def test_one_thread_gives_the_same(tiled: CompiledPipeline) -> None:
    alone = compile_cpu(BLUR, tiled.schedule, threads=1)
    image, sizes = picture(66, 66), {"blur_y": [(1, 64), (1, 64)]}
    np.testing.assert_array_equal(
        alone.run({"input": image}, sizes=sizes)["blur_y"],
        tiled.run({"input": image}, sizes=sizes)["blur_y"],
    )


SMALL = {"blur_y": [(1, 16), (1, 8)]}


@pytest.mark.parametrize(
    ("inputs", "sizes", "out", "said"),
    [
        ({}, SMALL, None, "Image input of pipeline blur is missing"),
        ({"input": np.zeros((10, 18), np.float32)}, SMALL, None, "holds uint16, but the array"),
        ({"input": np.zeros((10,), np.uint16)}, SMALL, None, "has 2 dimensions, but the array"),
        ({"input": np.zeros((0, 18), np.uint16)}, SMALL, None, "Image input is empty"),
        ({"inptu": picture(9, 9)}, SMALL, None, "no image 'inptu'"),
        ({"input": picture(10, 18)}, {"blur_y": [(1, -2), (1, 8)]}, None, "extent of dimension 0"),
        ({"input": picture(10, 18)}, {"blur_y": [16]}, None, "has 2 dimensions, but its size"),
        (
            {"input": picture(10, 18)},
            {"blur_y": [(2**31 - 8, 16), (1, 8)]},
            None,
            "coordinates are int32",
        ),
        (
            {"input": picture(10, 18)},
            SMALL,
            {"blur_y": np.zeros((8, 16), np.uint8)},
            "Output blur_y is uint16",
        ),
        (
            {"input": picture(10, 18)},
            SMALL,
            {"blur_y": np.zeros((8, 15), np.uint16)},
            "Output blur_y is said to have extents [16, 8]",
        ),
        (
            {"input": picture(10, 18)},
            SMALL,
            {"blur_y": np.broadcast_to(np.uint16(0), (8, 16))},
            "read-only",
        ),
        ({"input": picture(10, 18)}, SMALL, {"blr": picture(8, 16)}, "no output 'blr'"),
    ],
)
def test_wrong_arguments_are_told(
    tiled: CompiledPipeline, inputs: dict, sizes: dict, out: dict | None, said: str
) -> None:
    with pytest.raises(ArgumentError) as caught:
        tiled.run(inputs, sizes=sizes, out=out)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("width", "height", "image", "said"),
    [
        (15, 8, (10, 17), "dimension 0 of output blur_y must have at least 16"),
        (16, 7, (9, 18), "dimension 1 of output blur_y must have at least 8"),
        (16, 8, (10, 17), "reads elements of dimension 0 of image input beyond"),
        (16, 8, (9, 18), "reads elements of dimension 1 of image input beyond"),
    ],
)
def test_sizes_that_do_not_fit_the_schedule_are_told(
    tiled: CompiledPipeline, width: int, height: int, image: tuple[int, int], said: str
) -> None:
    with pytest.raises(SizeError) as caught:
        tiled.run({"input": picture(*image)}, sizes={"blur_y": [(1, width), (1, height)]})
    assert said in str(caught.value)


def test_rounding_up_needs_a_multiple() -> None:
    directives = schedule(BLUR).split("x", "xo", "xi", 8, "round_up")
    compiled = compile_cpu(BLUR, directives.schedule)
    compiled.run({"input": picture(9, 26)}, sizes={"blur_y": [(1, 24), (1, 7)]})
    with pytest.raises(SizeError) as caught:
        compiled.run({"input": picture(9, 99)}, sizes={"blur_y": [(1, 23), (1, 7)]})
    assert "a size that the split factors divide" in str(caught.value)
    assert "blur_y.extent.0 is 23" in str(caught.value)


def test_want_of_memory_is_told() -> None:
    wide, out = Func("wide"), Func("out")
    wide[X, Y] = X * Y
    total = RDom([(0, 2**31 - 2), (0, 2**15)], "r")
    out[X] = 0
    out[X] += wide[total.x, total.y]
    algorithm = pipeline(out)
    compiled = compile_cpu(algorithm, schedule(algorithm).func("wide").compute_root().schedule)
    with pytest.raises(MemoryError) as caught:
        compiled.run({}, sizes={"out": [3]})
    assert "found no memory" in str(caught.value)


def test_texts_of_every_pass() -> None:
    directives = schedule(BLUR).vectorize("x", 8).parallel("y")
    compiled = compile_cpu(BLUR, directives.schedule)
    assert "parallel blur_y.s0.y" in compiled.program_text()
    assert "ramp(" in compiled.program_text(after="vectorize")
    assert "task blur_y.s0.y" in compiled.program_text(after="parallel")
    assert "<8 x i16>" in compiled.llvm_ir()
    assert "spaces_par_for" in compiled.assembly()
    with pytest.raises(KeyError, match="there are start, simplify"):
        compiled.program_text(after="nothing")


def test_a_photograph_sized_type_mix() -> None:
    image, out = ImageParam(UInt8, 2, "input"), Func("out")
    out[X, Y] = image[X * 2, Y].as_expr() + image[X * 2 + 1, Y]
    algorithm = pipeline(out)
    check(algorithm, schedule(algorithm).vectorize("x", 16).schedule, {"out": [(0, 50), (0, 3)]})


def test_guards_at_the_end_of_the_coordinates() -> None:
    image, out = ImageParam(UInt8, 1, "input"), Func("out")
    out[X] = image[X]
    algorithm = pipeline(out)
    guarded = schedule(algorithm).vectorize("x", 16, "guard_with_if")
    sizes = {"out": [(2**31 - 21, 21)], "input": [(2**31 - 21, 21)]}
    values = np.arange(21, dtype=np.uint8)
    found = compile_cpu(algorithm, guarded.schedule).run({"input": values}, sizes=sizes)["out"]
    np.testing.assert_array_equal(found, values)


def test_reads_beyond_the_end_of_the_coordinates_are_refused() -> None:
    image, out = ImageParam(UInt8, 1, "input"), Func("out")
    out[X] = image[X + 1]
    algorithm = pipeline(out)
    compiled = compile_cpu(algorithm, schedule(algorithm).schedule)
    last = 2**31 - 1
    with pytest.raises(SizeError):
        compiled.run(
            {"input": np.zeros(8, np.uint8)},
            sizes={"out": [(last - 7, 8)], "input": [(last - 7, 8)]},
        )


def test_want_of_memory_inside_tasks_is_told() -> None:
    small, huge, out = Func("small"), Func("huge"), Func("out")
    x, y, z = X, Y, Var("z")
    small[x] = x * 2
    huge[x, y, z] = small[z] + x + y
    domain = RDom([(0, 2**31 - 2), (0, 2**31 - 2), (0, 9)], "r")
    out[x] = small[x]
    out[x] += huge[domain.x, domain.y, domain.z + x]
    algorithm = pipeline(out)
    directives = schedule(algorithm).update(0).parallel("x").func("small").compute_root()
    directives = directives.func("huge").compute_at("out", "x")
    compiled = compile_cpu(algorithm, directives.schedule, threads=2)
    for _ in range(3):
        with pytest.raises(MemoryError):
            compiled.run({}, sizes={"out": [40]})


def test_what_verify_returns_is_accepted() -> None:
    checked = verify(BLUR, schedule(BLUR).vectorize("x", 8).schedule, device("cpu"))
    assert isinstance(checked, CheckedSchedule)
    found = compile_cpu(BLUR, checked).run({"input": picture(10, 18)}, sizes=SMALL)["blur_y"]
    wanted = evaluate(BLUR, {"input": picture(10, 18)}, sizes=SMALL)["blur_y"]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("mode", [FloatMode.CONTRACT, FloatMode.FAST])
def test_other_float_modes_are_close(mode: FloatMode) -> None:
    image, out = ImageParam(Float32, 1, "input"), Func("out")
    out[X] = (image[X] * 0.3 + image[X + 1] * 0.5 + image[X + 2] * 0.2) / 3.0
    algorithm = pipeline(out)
    values = np.random.default_rng(0).random(34).astype(np.float32)
    compiled = compile_cpu(algorithm, schedule(algorithm).schedule, float_mode=mode)
    found = compiled.run({"input": values}, sizes={"out": [32]})["out"]
    wanted = evaluate(algorithm, {"input": values}, sizes={"out": [32]})["out"]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("period", [5, 8, 13, 16, 23, 24])
def test_vectors_that_begin_anew_within_a_row(period: int) -> None:
    """Coordinates that are taken modulo the extent of the image, at every place of a vector."""
    image, out = ImageParam(Int32, 1, "input"), Func("out")
    out[X] = image[X % image.width()] + X
    algorithm = pipeline(out)
    compiled = compile_cpu(algorithm, schedule(algorithm).vectorize("x", 8).schedule)
    values = np.arange(period, dtype=np.int32) * 100
    for width in (period, period + 1, 3 * period):
        if width >= 8:
            x = np.arange(width, dtype=np.int32)
            found = compiled.run({"input": values}, sizes={"out": (width,)})["out"]
            np.testing.assert_array_equal(found, values[x % period] + x)


def test_storage_of_three_dimensions() -> None:
    image, f, out, z = ImageParam(Int32, 3, "input"), Func("f"), Func("out"), Var("z")
    f[X, Y, z] = image[X, Y, z] * 2
    out[X, Y, z] = f[X, Y, z] + f[X, Y, z + 1] + f[X + 1, Y, z]
    algorithm = pipeline(out)
    for place in (lambda d: d.compute_root(), lambda d: d.compute_at("out", "z")):
        directives = place(schedule(algorithm).func("f"))
        check(algorithm, directives.schedule, {"out": [(-1, 7), (2, 5), (0, 3)]})


@pytest.mark.parametrize("width", [1, 7, 33, 200])
def test_new_outputs_begin_with_a_cache_line(width: int) -> None:
    compiled = compile_cpu(BLUR, schedule(BLUR).schedule)
    found = compiled.run({"input": picture(9, 202)}, sizes={"blur_y": [(1, width), (1, 3)]})
    assert found["blur_y"].ctypes.data % 64 == 0
    assert found["blur_y"].flags.c_contiguous


def test_what_verify_refuses_is_not_compiled() -> None:
    by_hand = schedule(BLUR).func("blur_x").compute_at("blur_y", "xi").schedule
    refused: Any = verify(BLUR, by_hand, device("cpu"))
    for compiler in (compile_cpu, compile_gpu):
        with pytest.raises(ValueError, match=r"is not legal, so that nothing is compiled\.\n.*xi"):
            compiler(BLUR, refused)
    with pytest.raises(ValueError, match=r"give its loop nest.*\n.*xi"):
        prove(refused)
