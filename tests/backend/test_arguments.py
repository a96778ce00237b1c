"""The arguments of compiled pipelines: arrays of all layouts, sizes and parameters, and wrong
ones.
"""

from __future__ import annotations

import threading
from functools import partial

import numpy as np
import pytest
from attrs import evolve

from spaces.apps.pipelines import blur
from spaces.backend.arguments import ArgumentError
from spaces.backend.compile import CompiledPipeline, compile_cpu, compile_cpu_unchecked
from spaces.backend.preconditions import SizeError
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.require import require
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Float32, Int32, UInt8
from tests.backend.cpu_runs import picture

X = Var("x")
BLUR = blur.pipeline()
SMALL = {"blur_y": [(1, 16), (1, 8)]}


@pytest.fixture(scope="module")
def tiled() -> CompiledPipeline:
    directives = schedule(BLUR).tile("x", "y", "xi", "yi", 16, 8).vectorize("xi").parallel("y")
    return compile_cpu_unchecked(BLUR, directives.func("blur_x").compute_at("blur_y", "x").schedule)


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
    compiled = compile_cpu_unchecked(pipeline(out), schedule(pipeline(out)).schedule)
    memory = np.arange(10, dtype=np.int32)
    compiled.run({"input": memory}, out={"out": memory[1:]})
    np.testing.assert_array_equal(memory, [0, *range(1, 19, 2)])


def test_parameters_of_every_kind() -> None:
    out, gain, offset, flag = Func("out"), Param(Float32, "gain", 0.5), Param("int8", "offset"), 3
    out[X] = gain * X + offset.as_expr() + flag
    algorithm = pipeline(out)
    compiled = compile_cpu_unchecked(algorithm, schedule(algorithm).vectorize("x", 4).schedule)
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
    alone = compile_cpu_unchecked(BLUR, tiled.schedule, threads=1)
    image, sizes = picture(66, 66), {"blur_y": [(1, 64), (1, 64)]}
    np.testing.assert_array_equal(
        alone.run({"input": image}, sizes=sizes)["blur_y"],
        tiled.run({"input": image}, sizes=sizes)["blur_y"],
    )


@pytest.mark.parametrize(
    ("inputs", "sizes", "out", "said"),
    [
        (picture(10, 18), SMALL, None, "Images are given by name, as in run({'input': ...})"),
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
            "Output blur_y has the extents [16, 8]",
        ),
        (
            {"input": picture(10, 18)},
            SMALL,
            {"blur_y": np.broadcast_to(np.uint16(0), (8, 16))},
            "read-only",
        ),
        (
            {"input": picture(10, 18)},
            SMALL,
            {"blur_y": np.lib.stride_tricks.as_strided(np.zeros(16, np.uint16), (8, 16), (0, 2))},
            "several elements in one place",
        ),
        ({"input": picture(10, 18)}, SMALL, {"blr": picture(8, 16)}, "no output 'blr'"),
        ({"input": picture(10, 18)}, SMALL, {"blur_y": [[0] * 16] * 8}, "blur_y a list"),
        ({"input": picture(10, 18)}, SMALL, picture(8, 16), "Output arrays are given by name"),
        ({"input": picture(10, 18)}, [16, 8], None, "as in {'blur_y': ...}"),
        ({"input": picture(10, 18)}, {X: [16, 8]}, None, "Sizes are given by name"),
        ({X: picture(10, 18)}, SMALL, None, "as in run({'input': ...})"),
        ({"input": None}, SMALL, None, "is given a NoneType, which is not an array of uint16"),
        ({"input": [[1, 2], [3, 4]]}, SMALL, None, "numpy.array(..., dtype='uint16')"),
    ],
)
def test_wrong_arguments_are_refused(
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
def test_sizes_that_do_not_fit_the_schedule_are_refused(
    tiled: CompiledPipeline, width: int, height: int, image: tuple[int, int], said: str
) -> None:
    with pytest.raises(SizeError) as caught:
        tiled.run({"input": picture(*image)}, sizes={"blur_y": [(1, width), (1, height)]})
    assert said in str(caught.value)


def test_rounding_up_needs_a_multiple() -> None:
    directives = schedule(BLUR).split("x", "xo", "xi", 8, "round_up")
    compiled = compile_cpu_unchecked(BLUR, directives.schedule)
    compiled.run({"input": picture(9, 26)}, sizes={"blur_y": [(1, 24), (1, 7)]})
    with pytest.raises(SizeError) as caught:
        compiled.run({"input": picture(9, 99)}, sizes={"blur_y": [(1, 23), (1, 7)]})
    assert "a size that the split factors divide" in str(caught.value)
    assert "blur_y.extent.0 is 23" in str(caught.value)


def test_reads_beyond_the_end_of_the_coordinates_are_refused() -> None:
    image, out = ImageParam(UInt8, 1, "input"), Func("out")
    out[X] = image[X + 1]
    algorithm = pipeline(out)
    compiled = compile_cpu_unchecked(algorithm, schedule(algorithm).schedule)
    last = 2**31 - 1
    with pytest.raises(SizeError):
        compiled.run(
            {"input": np.zeros(8, np.uint8)},
            sizes={"out": [(last - 7, 8)], "input": [(last - 7, 8)]},
        )


@pytest.mark.parametrize("width", [1, 7, 33, 200])
def test_new_outputs_begin_with_a_cache_line(width: int) -> None:
    compiled = compile_cpu_unchecked(BLUR, schedule(BLUR).schedule)
    found = compiled.run({"input": picture(9, 202)}, sizes={"blur_y": [(1, width), (1, 3)]})
    assert found["blur_y"].ctypes.data % 64 == 0
    assert found["blur_y"].flags.c_contiguous


def test_no_size_is_invented() -> None:
    algorithm = evolve(BLUR, estimates=())
    image = {"input": picture(10, 18)}
    plain = compile_cpu_unchecked(algorithm, schedule(algorithm).schedule)
    for run in (plain.run, partial(evaluate, algorithm)):
        with pytest.raises(ArgumentError) as caught:
            run(image)
        said = str(caught.value)
        assert "The size of output blur_y is not given." in said
        assert "sizes={'blur_y': [extent of x, extent of y]}" in said
        assert "out={'blur_y': array}" in said


def test_the_size_that_a_pipeline_says_need_not_be_given() -> None:
    image, out, c, gain = ImageParam(UInt8, 1, "input"), Func("out"), Var("c"), Param(Int32, "gain")
    out[X, c] = image[X + 2] + cast(UInt8, c)
    out.output_buffer().dim(0).set_bounds(2, image.width() - 2)
    out.output_buffer().dim(1).set_extent(gain * 2)
    algorithm = pipeline(out)
    compiled = compile_cpu_unchecked(algorithm, schedule(algorithm).schedule)
    pixels = np.arange(9, dtype=np.uint8)
    for run in (compiled.run, partial(evaluate, algorithm)):
        found = run({"input": pixels[:7]}, {"gain": 2}, sizes={"input": [(4, 7)]})["out"]
        assert found.tolist() == [[n + c for n in range(5)] for c in range(4)]


def test_a_least_size_does_not_give_the_size() -> None:
    image, out = ImageParam(UInt8, 1, "input"), Func("out")
    out[X] = image[X]
    out[X] += require(out.output_buffer().dim(0).extent() >= 4, image[X], "At least 4.")
    assert pipeline(out).promises
    with pytest.raises(ArgumentError, match="The size of output out is not given"):
        evaluate(pipeline(out), {"input": np.zeros(9, np.uint8)})


def test_a_verified_schedule_that_adds_funcs_is_compiled_for_its_pipeline() -> None:
    checked = verify(BLUR, schedule(BLUR).func("blur_x").in_().schedule, device("cpu"))
    image = picture(10, 18)
    found = compile_cpu(checked).run({"input": image}, sizes=SMALL)["blur_y"]
    np.testing.assert_array_equal(found, evaluate(BLUR, {"input": image}, sizes=SMALL)["blur_y"])


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", 5000])
def test_impossible_numbers_of_threads_are_refused(threads: object) -> None:
    with pytest.raises(ValueError, match="between 1 and 1024 threads"):
        compile_cpu_unchecked(BLUR, schedule(BLUR).schedule, threads=threads)
