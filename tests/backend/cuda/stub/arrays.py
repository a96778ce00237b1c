"""Arrays of a GPU as arguments, over the driver that is here. Not a file that pytest collects by
itself: `tests/backend/cuda/test_cuda_bindings.py` runs it in a process that has the stub driver.
"""

from __future__ import annotations

import atexit
import gc
import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from cuda.bindings import driver
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spaces import (
    ArgumentError,
    Func,
    ImageParam,
    Int16,
    Int32,
    Pipeline,
    RDom,
    Tuple,
    UInt8,
    Var,
    compile_cpu,
    device,
    parse_schedule,
    pipeline,
    undef,
    verify,
)
from spaces.backend.arrays.device_array import DeviceArray
from spaces.backend.arrays.dlpack import received
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.drivers.cuda_bindings import CudaBindings
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.cuda.errors import CudaUnavailable
from spaces.backend.cuda.launch import GpuExecutor
from spaces.backend.gpu_pipeline import GpuPipeline
from tests.backend.cuda.stub.log import calls, forget, note_end, now
from tests.backend.cuda.stub.modules import use_stub_modules
from tests.backend.cuda.stub.other_library import DlpackOnly, InterfaceArray, Memory, ask, stream
from tests.backend.strided_arrays import UNTOUCHED, layouts
from tests.draw_counts import examples

X, Y = Var("x"), Var("y")
WIDTH, HEIGHT = 13, 9


@pytest.fixture(scope="module", autouse=True)
def _context() -> Iterator[None]:
    use_stub_modules()
    gc.collect()
    forget()
    with CudaBindings().context(0):  # for the other library
        yield
    atexit.register(note_end)


@cache
def gpu() -> GpuExecutor:
    return GpuExecutor()


def of_schedule(algorithm: Pipeline, text: str) -> GpuPipeline:
    return compile_gpu(verify(algorithm, parse_schedule(text, algorithm), device("sm_90")))


@cache
def difference() -> GpuPipeline:
    """out(x, y) = 3 * left(x, y) - right(x, y), by way of memory of the device."""
    left, right = ImageParam(Int32, 2, "left"), ImageParam(Int32, 2, "right")
    scaled, out = Func("scaled"), Func("out")
    scaled[X, Y] = left[X, Y] * 3
    out[X, Y] = scaled[X, Y] - right[X, Y]
    grid = "gpu_tile(x, y, xi, yi, 8, 4, TailStrategy::GuardWithIf);"
    return of_schedule(pipeline(out), f"scaled.compute_root().{grid} out.{grid}")


@cache
def partly_on_the_cpu() -> GpuPipeline:
    """A kernel writes an output that the CPU then updates."""
    image, out = ImageParam(Int32, 2, "image"), Func("out")
    out[X, Y] = image[X, Y]
    out[X, Y] += image[X, Y] * 2
    grid = "gpu_tile(x, y, xi, yi, 8, 4, TailStrategy::GuardWithIf);"
    return of_schedule(pipeline(out), f"out.{grid}")


def pictures() -> tuple[NDArray[Any], NDArray[Any]]:
    generator = np.random.default_rng(5)
    left, right = (generator.integers(-99, 99, (HEIGHT, WIDTH), np.int32) for _ in range(2))
    return left, right


SIZES = {"out": (WIDTH, HEIGHT)}


def test_arrays_stay_on_the_gpu() -> None:
    left, right = pictures()
    at = now()
    a, b = gpu().device_array(left), gpu().device_array(right)
    assert len(calls("upload", at)) == 2
    at = now()
    out = difference().run({"left": a, "right": b}, sizes=SIZES, executor=gpu())["out"]
    assert isinstance(out, DeviceArray)
    assert [len(calls(name, at)) for name in ("launch", "upload", "download", "wait")] == [
        2,
        0,
        0,
        0,
    ]
    np.testing.assert_array_equal(out.to_numpy(), 3 * left - right)
    assert (out.shape, out.dtype, out.strides) == ((HEIGHT, WIDTH), np.int32, (4 * WIDTH, 4))


def test_arrays_of_numpy_and_of_the_gpu_together() -> None:
    left, right = pictures()
    given = {"left": gpu().device_array(left), "right": right}
    out = difference().run(given, sizes=SIZES, executor=gpu())["out"]
    right[...] = 0  # the call has read it
    np.testing.assert_array_equal(out.to_numpy(), 3 * left - pictures()[1])
    host = np.zeros_like(left)
    found = difference().run(given, out={"out": host}, executor=gpu())["out"]
    assert found is host
    np.testing.assert_array_equal(host, 3 * left)


@st.composite
def parts(draw: st.DrawFn) -> tuple[NDArray[Any], NDArray[Any]]:
    """Memory, and an array in it; about half of them have a last axis without gaps."""
    if draw(st.booleans()):
        return draw(layouts(2)).place((HEIGHT, WIDTH), np.int32)
    row, every = draw(st.integers(WIDTH, WIDTH + 5)), draw(st.integers(1, 3))
    first, up = draw(st.integers(0, row - WIDTH)), draw(st.integers(0, 2))
    whole = np.full((HEIGHT * every + up, row), UNTOUCHED, np.int32)
    return whole, whole[up : up + HEIGHT * every : every, first : first + WIDTH]


@settings(max_examples=examples(20))
@given(parts(), parts(), parts(), st.sampled_from([InterfaceArray, DlpackOnly]), st.booleans())
def test_strides_and_offsets(
    left: tuple[NDArray[Any], NDArray[Any]],
    right: tuple[NDArray[Any], NDArray[Any]],
    out: tuple[NDArray[Any], NDArray[Any]],
    library: type[InterfaceArray],
    is_on_the_cpu: bool,
) -> None:
    """Kernels and the CPU write the elements of an output, and no gap."""
    wanted = pictures()
    for (_, part), values in zip((left, right), wanted, strict=True):
        part[...] = values
    arrays = [library(Memory.of(whole), part) for whole, part in (left, right, out)]
    target = arrays[2]
    at = now()
    if is_on_the_cpu:
        found = partly_on_the_cpu().run({"image": arrays[0]}, out={"out": target}, executor=gpu())
        expected = 3 * wanted[0]
    else:
        inputs = dict(zip(("left", "right"), arrays, strict=False))
        found = difference().run(inputs, out={"out": target}, executor=gpu())
        expected = 3 * wanted[0] - wanted[1]
        assert not calls("upload", at)
    assert found["out"] is target
    out[1][...] = expected
    np.testing.assert_array_equal(target.memory.now(), out[0])
    for array in arrays:
        array.memory.free()


def test_an_image_may_be_the_output() -> None:
    """The image is copied on the GPU."""
    whole = np.full((HEIGHT + 1, WIDTH + 2), UNTOUCHED, np.int32)
    part = whole[1:, 2:]
    part[...] = pictures()[0]
    memory = Memory.of(whole)
    array = InterfaceArray(memory, part)
    right = gpu().device_array(pictures()[1])
    run = difference().prepare({"left": array, "right": right}, out={"out": array}, executor=gpu())
    run()
    part[...] = 3 * part - pictures()[1]
    np.testing.assert_array_equal(memory.now(), whole)
    memory.free()


def test_a_prepared_run_reads_what_its_arrays_hold() -> None:
    left, right = pictures()
    arrays = {"left": gpu().device_array(left), "right": gpu().device_array(right)}
    run = difference().prepare(arrays, sizes=SIZES, executor=gpu())
    first = run()["out"]
    np.testing.assert_array_equal(first.to_numpy(), 3 * left - right)
    a, b = arrays["left"], arrays["right"]
    a.gpu.copy(a.address, b.address, right.nbytes, a.stream)
    assert run()["out"] is first
    np.testing.assert_array_equal(first.to_numpy(), 2 * right)


def test_outputs_that_keep_values_begin_with_zeros() -> None:
    image, out, r = ImageParam(Int32, 1, "image"), Func("out"), RDom([(0, 4)], "r")
    out[X] = undef(Int32)
    out[r.x] = image[r.x]
    compiled = of_schedule(pipeline(out), "")
    given = gpu().device_array(np.arange(1, 5, dtype=np.int32))
    found = compiled.run({"image": given}, sizes={"out": [6]}, executor=gpu())["out"]
    assert found.to_numpy().tolist() == [1, 2, 3, 4, 0, 0]


def test_empty_outputs_and_tuples() -> None:
    image, pair = ImageParam(Int16, 2, "image"), Func("pair")
    pair[X, Y] = Tuple(image[X, Y], image[X, Y] + 1)
    compiled = of_schedule(pipeline(pair), "pair.gpu_tile(x, y, xi, yi, 8, 4);")
    host = np.arange(8 * 16, dtype=np.int16).reshape(8, 16)
    given = {"image": gpu().device_array(host)}
    found = compiled.run(given, sizes={"pair": [16, 8]}, executor=gpu())
    np.testing.assert_array_equal(found["pair.0"].to_numpy(), host)
    np.testing.assert_array_equal(found["pair.1"].to_numpy(), host + 1)
    empty = compiled.run(given, sizes={"pair": [16, 0]}, executor=gpu())
    assert empty["pair.0"].to_numpy().shape == (0, 16)


FAULTS = (
    "Image left is given an InterfaceArray at address ADDRESS with strides of [52, 4] bytes, but "
    "the elements take 4 bytes and lie at multiples of that; pass a copy.",
    "Image right is given a DlpackOnly on GPU 3, but the kernels run on GPU 0; pass an array on "
    "that GPU, or executor=GpuExecutor(3).",
    "Image right has 2 dimensions, but the array given has 1 (its shape is (13,)).",
    "Output out is int32, but the array to write it to holds uint8; make one of dtype 'int32'.",
    "The array to write output out to is read-only; give one that can be written.",
)


def test_what_does_not_fit_is_told_at_once() -> None:
    left, _ = pictures()
    memory, bytes_ = Memory.of(left), Memory.of(np.zeros((HEIGHT, WIDTH), np.uint8))
    odd = memory.whole.view(np.uint8)[:, 2:-2].view(np.int32)
    between = InterfaceArray(memory, odd)
    read_only = InterfaceArray(bytes_, bytes_.whole, is_read_only=True)
    elsewhere = DlpackOnly(memory, left[0], number=3)
    with pytest.raises(ArgumentError) as error:
        difference().run(
            {"left": between, "right": elsewhere}, out={"out": read_only}, executor=gpu()
        )
    told = str(error.value).replace(f"{between.address:#x}", "ADDRESS")
    assert sorted(told.splitlines()) == sorted(FAULTS)
    for one in (memory, bytes_):
        one.free()


def test_what_hands_out_no_array_is_told() -> None:
    left, right = pictures()
    memory = Memory.of(left)
    host = InterfaceArray(memory, left, more={"data": (left.ctypes.data, False)})
    masked = InterfaceArray(memory, left, more={"mask": left})
    for given_array, why in (host, "belongs to no GPU"), (masked, "it has a mask"):
        with pytest.raises(ArgumentError, match=f"Image left is given an InterfaceArray.*{why}"):
            difference().run({"left": given_array, "right": right}, sizes=SIZES, executor=gpu())
    memory.free()


def test_outputs_that_overlap_on_the_gpu_are_refused() -> None:
    image, pair = ImageParam(Int32, 2, "image"), Func("pair")
    pair[X, Y] = Tuple(image[X, Y], image[X, Y])
    compiled = of_schedule(pipeline(pair), "pair.gpu_tile(x, y, xi, yi, 8, 4);")
    both = gpu().empty((HEIGHT, WIDTH), np.int32)
    given = {"image": pictures()[0]}
    with pytest.raises(ArgumentError, match=r"outputs pair.0 and pair.1 to share memory"):
        compiled.run(given, out={"pair.0": both, "pair.1": both}, executor=gpu())


def test_pipelines_on_the_cpu_refuse_arrays_of_a_gpu() -> None:
    array = gpu().device_array(pictures()[0])
    with pytest.raises(ArgumentError, match=r"on a GPU, but Emulator runs the kernels on the CPU"):
        partly_on_the_cpu().run({"image": array}, sizes=SIZES, executor=Emulator())
    algorithm = partly_on_the_cpu().pipeline
    compiled = compile_cpu(verify(algorithm, parse_schedule("", algorithm), device("cpu")))
    with pytest.raises(ArgumentError) as error:
        compiled.run({"image": array}, out={"out": array})
    assert str(error.value).splitlines() == [
        f"{what} is given a DeviceArray on a GPU, but the pipeline runs on the CPU; copy it to the "
        "CPU, for example with .to_numpy()."
        for what in ("Image image", "The array to write output out to")
    ]
    with pytest.raises(TypeError, match=r"copy it with .to_numpy\(\)"):
        np.asarray(array)


def test_what_other_libraries_see() -> None:
    left, _ = pictures()
    array = gpu().device_array(left)
    interface = array.__cuda_array_interface__
    assert interface == {
        "version": 3, "shape": (HEIGHT, WIDTH), "typestr": "<i4", "data": (array.address, False),
        "strides": None, "stream": 1,
    }  # fmt: skip
    found = received(array, stream=1)
    assert (found.address, found.shape, found.dtype) == (array.address, left.shape, left.dtype)
    assert (found.device_kind, found.device_number) == (2, 0)
    np.testing.assert_array_equal(np.from_dlpack(array, device="cpu"), left)
    copied = received(array, stream=1, copy=True)
    assert copied.address != array.address


def test_a_capsule_keeps_its_array_alive() -> None:
    array = gpu().device_array(pictures()[0])
    address = array.address
    unused, found = array.__dlpack__(stream=1), received(array, stream=1)
    del array, unused
    gc.collect()
    assert gpu().empty((HEIGHT, WIDTH), np.int32).address != address
    del found
    gc.collect()
    assert gpu().empty((HEIGHT, WIDTH), np.int32).address == address


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_arrays_of_dlpack_are_given_back(version: tuple[int, int] | None) -> None:
    left, right = pictures()
    memory = Memory.of(left)
    array = DlpackOnly(memory, left, version=version)
    number = stream()
    given = {"left": array, "right": gpu().device_array(right)}
    out = difference().run(given, sizes=SIZES, executor=gpu(), stream=number)["out"]
    assert array.streams == [number]
    np.testing.assert_array_equal(out.to_numpy(), 3 * left - right)
    gc.collect()
    assert sum(one is array for one in gc.get_referrers(memory)) == 1  # no capsule holds it
    memory.free()


def test_streams_wait_for_what_computes_an_image() -> None:
    """The driver of the test does work as late as it may."""
    left, right = pictures()
    first, second = stream(), stream()
    given = {"left": gpu().device_array(left), "right": gpu().device_array(right)}
    middle = difference().run(given, sizes=SIZES, executor=gpu(), stream=first)["out"]
    assert middle.stream.handle == first
    at = now()
    out = difference().run(
        {"left": middle, "right": given["right"]}, sizes=SIZES, executor=gpu(), stream=second
    )["out"]
    assert [f"{first:x}", f"{second:x}"] in calls("order", at)
    assert {one[-1] for one in calls("launch", at)} == {f"{second:x}"}
    np.testing.assert_array_equal(out.to_numpy(), 3 * (3 * left - right) - right)


def test_memory_is_used_again_in_the_same_stream_only() -> None:
    """Many calls in streams. No stream waits for another one."""
    left, right = pictures()
    places = [gpu().on(stream()) for _ in range(3)] * 4
    images = [
        {"left": place.device_array(left + number), "right": place.device_array(right)}
        for number, place in enumerate(places)
    ]
    results = [place.empty(left.shape, np.int32) for place in places]
    for image, out, place in zip(images, results, places, strict=True):
        difference().run(image, out={"out": out}, executor=place)
    ask(driver.cuCtxSynchronize)
    for number, result in enumerate(results):
        np.testing.assert_array_equal(result.to_numpy(), 3 * (left + number) - right)


def test_the_stream_of_an_array_waits_for_calls_in_other_streams() -> None:
    """It computes or uses the array's memory next."""
    left, right = (one + 4321 for one in pictures())
    fresh = GpuExecutor()  # nothing is given back to the driver, which would wait
    first, second = fresh.on(stream()), fresh.on(stream())
    images = [
        {"left": p.device_array(left), "right": p.device_array(right)} for p in (first, second)
    ]
    written = first.device_array(left)
    difference().run(images[1], out={"out": written}, executor=second)
    np.testing.assert_array_equal(written.to_numpy(), 3 * left - right)
    read = first.device_array(right)
    found = difference().run({**images[1], "right": read}, sizes=SIZES, executor=second)["out"]
    del read  # its memory is that of the next one
    other = first.device_array(left)
    np.testing.assert_array_equal(found.to_numpy(), 3 * left - right)
    np.testing.assert_array_equal(other.to_numpy(), left)


class OwnStream:
    def __init__(self, handle: int) -> None:
        self.handle_of_driver = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle_of_driver


def test_streams_of_all_kinds() -> None:
    left, right = pictures()
    given = {"left": left, "right": right}
    number = stream()
    for one in (None, 0, 1, number, OwnStream(number), gpu().stream):
        found = difference().run(given, sizes=SIZES, executor=gpu(), stream=one)["out"]
        np.testing.assert_array_equal(found, 3 * left - right)
    for wrong in ("a", -1, True, 1.5):
        with pytest.raises(ArgumentError, match="which is no stream of a GPU"):
            difference().run(given, sizes=SIZES, executor=gpu(), stream=wrong)
    with pytest.raises(CudaUnavailable, match="there are no streams of a GPU"):
        difference().run(given, sizes=SIZES, executor=Emulator(), stream=number)


def test_modules_end_with_their_pipelines() -> None:
    image, out = ImageParam(UInt8, 1, "image"), Func("out")
    out[X] = image[X] + 41
    compiled = of_schedule(pipeline(out), "out.gpu_tile(x, xi, 32);")
    host = np.arange(64, dtype=np.uint8)
    found = compiled.run({"image": gpu().device_array(host)}, sizes={"out": [64]}, executor=gpu())
    at = now()
    del compiled
    gc.collect()
    assert not calls("unload", at)
    np.testing.assert_array_equal(found["out"].to_numpy(), host + 41)
    left, right = pictures()
    difference().run({"left": left, "right": right}, sizes=SIZES, executor=gpu())
    assert len(calls("unload", at)) == 1


def test_all_memory_is_given_back() -> None:
    """The last test: no array of those before lives."""
    gc.collect()
    gpu().release()
    ask(driver.cuCtxSynchronize)
    allocated = [address for address, _ in calls("allocate")]
    assert sorted(allocated) == sorted(address for (address,) in calls("free"))
    assert len(allocated) > math.log2(len(calls("launch")))
