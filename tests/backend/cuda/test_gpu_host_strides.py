"""Host parts of GPU programs see every array of a call as kernels do, whatever its strides."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces import (
    Func,
    ImageParam,
    Int16,
    Int32,
    Pipeline,
    RDom,
    Tuple,
    Var,
    device,
    parse_schedule,
    pipeline,
    verify,
)
from spaces.backend.access import AccessMode
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.cuda.errors import CudaProgramError
from spaces.backend.cuda.host_part import compile_host_part
from spaces.backend.cuda.kernel import CudaModule, HostStep
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.ir.host import HostPart
from spaces.backend.ir.node import walk_nodes
from spaces.backend.llvm.runtime.pools import default_pool
from spaces.backend.reference import evaluate
from tests.backend.strided_arrays import UNTOUCHED, Layout, layouts
from tests.draw_counts import examples

X, Y, C = Var("x"), Var("y"), Var("c")
GRID = "gpu_tile(x, y, xi, yi, 8, 8, TailStrategy::GuardWithIf);"
WIDTH, HEIGHT = 13, 9


def update_of_an_image() -> Pipeline:
    image, g = ImageParam(Int32, 2, "im"), Func("g")
    g[X, Y] = image[X, Y]
    g[X, Y] += image[X, Y]
    return pipeline(g)


def two_parts_and_scratch() -> Pipeline:
    image, g, s, h = ImageParam(Int16, 2, "im"), Func("g"), Func("s"), Func("h")
    g[X, Y] = image[X, Y] * 3
    g[X, Y] += image[X, HEIGHT - 1 - Y]
    s[X, Y] = g[X, Y] + image[X, Y]
    h[X, Y] = g[X, Y]
    h[X, Y] -= s[X, Y] * image[X, Y]
    return pipeline([g, h])


def a_tuple() -> Pipeline:
    image, t = ImageParam(Int32, 2, "im"), Func("t")
    t[X, Y] = Tuple(image[X, Y], X + Y)
    t[X, Y] = Tuple(t[X, Y][1] + image[X, Y], t[X, Y][0])
    return pipeline(t)


def a_histogram() -> Pipeline:
    image, h, out = ImageParam(Int32, 2, "im"), Func("h"), Func("out")
    r = RDom([(0, WIDTH), (0, HEIGHT)], "r")
    h[X] = 0
    h[image[r.x, r.y] % 5] += 1
    out[X, Y] = h[image[X, Y] % 5] + image[X, Y]
    return pipeline(out)


def channels_beside_each_other() -> Pipeline:
    image, g = ImageParam(Int32, 3, "im"), Func("g")
    g[X, Y, C] = image[X, Y, C]
    g[X, Y, C] += image[X, Y, 2 - C]
    image.dim(0).set_stride(3)
    image.dim(2).set_stride(1)
    g.output_buffer().dim(0).set_stride(3)
    g.output_buffer().dim(2).set_stride(1)
    return pipeline(g)


CASES = {
    "update": (update_of_an_image, f"g.{GRID}"),
    "two parts": (two_parts_and_scratch, f"g.{GRID} s.compute_root(); h.{GRID}"),
    "scratch": (two_parts_and_scratch, f"g.{GRID} s.compute_at(h, y); h.{GRID}"),
    "all on the host": (two_parts_and_scratch, "s.compute_at(h, y);"),
    "tuple": (a_tuple, f"t.{GRID}"),
    "histogram": (a_histogram, f"h.compute_root(); out.{GRID}"),
    "channels": (channels_beside_each_other, f"g.{GRID}"),
}


@cache
def program(name: str, mode: AccessMode) -> tuple[Pipeline, GpuPipeline]:
    make, text = CASES[name]
    algorithm = make()
    legal = verify(algorithm, parse_schedule(text, algorithm), device("sm_80"))
    return algorithm, compile_gpu(legal, access_mode=mode)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=examples(12))
@given(data=st.data())
def test_strides_of_every_kind(name: str, data: st.DataObject) -> None:
    mode = data.draw(st.sampled_from(list(AccessMode)))
    algorithm, compiled = program(name, mode)
    extents = (WIDTH, HEIGHT, 3)[: len(algorithm.functions[-1].args)]
    shape = tuple(reversed(extents))
    memory, image = data.draw(layouts(len(shape))).place(shape, algorithm.images[0].type.dtype)
    image[...] = np.random.default_rng(3).integers(-90, 90, shape)
    if data.draw(st.integers(0, 4)) == 0:
        image = np.broadcast_to(image[:1], shape)
    kept = memory.copy()
    sizes = dict.fromkeys(algorithm.outputs, extents)
    expected = evaluate(algorithm, {"im": image.copy()}, None, sizes)
    given_arrays, frames = {}, {}
    for output, values in expected.items():
        if data.draw(st.integers(0, 3)):
            layout = data.draw(layouts(len(shape)))
            frames[output], given_arrays[output] = layout.place(shape, values.dtype)
    found = compiled.run({"im": image}, None, sizes, given_arrays)
    for output, values in expected.items():
        np.testing.assert_array_equal(found[output], values, err_msg=output)
        if output in frames:
            assert found[output] is given_arrays[output]
            found[output][...] = UNTOUCHED
            assert (frames[output] == UNTOUCHED).all(), "memory of others was written"
    np.testing.assert_array_equal(memory, kept)


def test_each_case_has_a_part_on_the_host() -> None:
    for name in CASES:
        _, compiled = program(name, AccessMode.PLAIN)
        assert any(isinstance(node, HostPart) for node in walk_nodes(compiled.programs[0].body))


@pytest.mark.parametrize("mode", AccessMode)
def test_code_for_dense_arrays_refuses_others(mode: AccessMode) -> None:
    _, compiled = program("update", mode)
    (part,) = (n for n in walk_nodes(compiled.programs[0].body) if isinstance(n, HostPart))
    function = compile_host_part(part, {"im": Int32, "g": Int32}, default_pool(), mode)
    apart = {name: np.zeros((HEIGHT, 2 * WIDTH), np.int32)[:, ::2] for name in function.buffers}
    with pytest.raises(ValueError, match="dense arrays in C order"):
        function(apart, {})


def test_steps_of_the_host_see_dense_arrays_and_write_nothing_else() -> None:
    memory, apart = Layout((1, 0), (-2, 3), 1).place((4, 5), np.int32)
    apart[...] = np.arange(20).reshape(4, 5)
    before = memory.copy()

    def double(arrays: dict[str, np.ndarray]) -> None:
        assert arrays["a"].flags.c_contiguous
        assert (arrays["a"] == np.arange(20).reshape(4, 5)).all()
        arrays["b"] *= 2

    given_arrays = {"a": apart, "b": np.array(apart.T).T}
    module = CudaModule("", ())
    Emulator().run(module, [HostStep("double", double, ("a",), ("b",))], given_arrays, {})
    assert (given_arrays["b"] == 2 * np.arange(20).reshape(4, 5)).all()
    assert (memory == before).all()


def test_a_step_of_the_host_does_not_write_a_read_only_array() -> None:
    array = np.zeros((4, 6), np.int32)[:, ::2]
    array.flags.writeable = False
    step = HostStep("write", lambda arrays: None, (), ("a",))
    with pytest.raises(CudaProgramError, match="writes buffer a, but its array is"):
        Emulator().run(CudaModule("", ()), [step], {"a": array}, {})
