"""Vectors along the pixels of interleaved arrays: values for dense, sliced and padded arrays, and
which loops have a form for dense ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spaces import (
    Float32,
    Func,
    ImageParam,
    Pipeline,
    Type,
    UInt8,
    UInt16,
    Var,
    cast,
    loop_nest,
    parse_schedule,
    pipeline,
    schedule,
)
from spaces.backend.access import AccessMode
from spaces.backend.compile import compile_cpu_unchecked
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import If, Statement, Store
from spaces.backend.ir.vectors import Load, MaskedLoad, Ramp
from spaces.backend.lowering.cpu.passes import lower
from spaces.backend.reference import evaluate
from spaces.model.expressions.expr import Expr, Variable, walk
from spaces.model.expressions.types import Int32
from spaces.model.schedules.cases import cases
from tests.backend.lowering.placed_arrays import FAR, Arrays, outcome
from tests.draw_counts import examples

C, X, Y = Var("c"), Var("x"), Var("y")
HEIGHT = 3

ALONG_PIXELS = (
    "{stage}{bound}.split(x, x, xv, {lanes}, {tail}).reorder({order}).unroll(c).vectorize(xv)"
)


def neighbors(type: Type, channels: int, step: int = 1) -> Pipeline:
    """Each pixel from its neighbors and from two literal channels; an update adds more. The image
    has ``step`` pixels for each pixel of the output.
    """
    image, out = ImageParam(type, 3, "image"), Func("out")
    x = step * X
    out[C, X, Y] = image[C, x, Y] * 2 + image[0, x + 1, Y] + image[channels - 1, x, Y]
    out[C, X, Y] += image[C, x + 1, Y] + cast(type, C)
    sizes = {out: [channels, 64, HEIGHT], image: [channels, 64 * step + 1, HEIGHT]}
    return pipeline(out, estimates=sizes)


def along_pixels(channels: int, lanes: int, tail: str, order: str) -> str:
    """Vectors along ``x`` in both stages, with unrolled channels."""
    lines = (
        ALONG_PIXELS.format(stage=stage, bound=bound, lanes=lanes, tail=tail, order=order)
        for stage, bound in (("out", f".bound(c, 0, {channels})"), ("out.update(0)", ""))
    )
    return "\n".join(lines)


def placed(values: NDArray[np.generic]) -> Iterator[NDArray[np.generic]]:
    """The values dense, with padded rows, with one more channel, and with gaps between pixels."""
    height, width, channels = values.shape
    yield values.copy()
    for shape in ((height, width + 5, channels), (height, width, channels + 1)):
        yield np.full(shape, 99, values.dtype)[:, :width, :channels]
    yield np.full((height, 2 * width, channels), 99, values.dtype)[:, ::2]


@settings(max_examples=examples(24, fewest=6), deadline=None)
@given(
    st.sampled_from([UInt8, UInt16, Float32]),
    st.integers(1, 4),
    st.sampled_from([4, 8]),
    st.sampled_from(["shift_inwards", "guard_with_if"]),
    st.sampled_from(["xv, c, x, y", "c, xv, x, y"]),
    st.sampled_from([1, 2]),
    st.sampled_from(AccessMode),
)
def test_values_do_not_depend_on_strides(
    type: Type, channels: int, lanes: int, tail: str, order: str, step: int, mode: AccessMode
) -> None:
    algorithm = neighbors(type, channels, step)
    # Updates cannot shift their last tile inwards: they would run twice.
    text = along_pixels(channels, lanes, tail, order).splitlines()
    text[1] = text[1].replace("shift_inwards", "guard_with_if")
    followed = parse_schedule("\n".join(text), algorithm)
    code = compile_cpu_unchecked(algorithm, followed, threads=1, access_mode=mode)
    width = 2 * lanes + 3
    shape = (HEIGHT, step * width + 1, channels)
    values = np.random.default_rng(2).integers(0, 40, shape).astype(type.dtype)
    wanted = evaluate(algorithm, {"image": values}, sizes={"out": [channels, width, HEIGHT]})
    for image, out in product(placed(values), placed(wanted["out"])):
        image[...], out[...] = values, 0
        around = out.base
        before = None if around is None else around.copy()
        code.run({"image": image}, out={"out": out})
        assert np.array_equal(out, wanted["out"])
        if around is not None and before is not None:
            out[...] = 0
            assert np.array_equal(around, before)


@pytest.mark.parametrize("begin", [0, 2_000_000_000])
@pytest.mark.parametrize("stride", [3, 4])
@pytest.mark.parametrize("tail", ["shift_inwards", "guard_with_if"])
def test_lanes_by_turns_reach_rows_far_apart(tail: str, stride: int, begin: int) -> None:
    """An index of some rows, and three times some coordinates, exceed 32 bits."""
    image, out = ImageParam(UInt8, 3, "image"), Func("out")
    out[C, X, Y] = image[C, X / 2, Y]
    algorithm = pipeline(out)
    text = f"out.bound(c, 0, 3).split(x, x, xv, 8, {tail}).reorder(xv, c, x, y).unroll(c)"
    stages = lowered(algorithm, text + ".vectorize(xv)")
    channels, rows = (0, 3), (0, HEIGHT)
    ranges = {"out": (channels, (begin, 13), rows), "image": (channels, (begin // 2, 8), rows)}
    pixels = np.random.default_rng(4).integers(0, 99, (HEIGHT, 8, 3)).astype(np.uint8)
    strides = {"out": (1, stride, 64), "image": (1, stride, FAR)}
    arrays = Arrays(ranges, strides, {"image": pixels})
    wanted = evaluate(algorithm, {"image": pixels}, sizes=ranges)["out"]
    for name, program in stages.items():
        found = outcome(program, arrays, {}, negative=False)
        assert found == {"out": arrays.cells("out", wanted, flat=False)}, name


def forms(program: LoopProgram) -> list[tuple[str, Statement, Statement]]:
    """The conditions on strides, with the statement for arrays that meet it and that for others."""
    return [
        (str(s.condition), s.body, s.otherwise)
        for s in walk_nodes(program.body)
        if isinstance(s, If) and ".stride." in str(s.condition) and s.otherwise is not None
    ]


def steps(statement: Statement) -> set[str]:
    """The distances between the lanes of the vectors that a statement loads and stores."""
    found: set[Expr] = set()
    for inner in walk_nodes(statement):
        if isinstance(inner, Store):
            found.add(inner.index)
        loads = (n for n in walk(*inner.expressions) if isinstance(n, Load | MaskedLoad))
        found |= {n.index for n in loads}
    return {str(i.stride) if isinstance(i, Ramp) else "?" for i in found if i.type.lanes > 1}


def lowered(algorithm: Pipeline, text: str) -> dict[str, LoopProgram]:
    return lower(loop_nest(algorithm, parse_schedule(text, algorithm)))


@pytest.mark.parametrize(("channels", "step"), [(1, 1), (2, 1), (3, 1), (4, 1), (2, 2), (3, 2)])
@pytest.mark.parametrize("tail", ["round_up", "guard_with_if"])
def test_dense_arrays_have_dense_vectors(channels: int, step: int, tail: str) -> None:
    algorithm = neighbors(UInt8, channels, step)
    text = along_pixels(channels, 8, tail, "xv, c, x, y")
    found = forms(lowered(algorithm, text)["interleave"])
    strides = {f"image.stride.1 == {channels}", f"out.stride.1 == {channels}"}
    assert found
    for condition, inside, otherwise in found:
        assert set(condition.split(" & ")) == strides
        assert steps(inside) == {"1"}
        assert steps(otherwise) >= {"out.stride.1"}


BOUND = "out.bound(c, 0, 3)"


@pytest.mark.parametrize(
    ("channels", "text"),
    [
        (3, BOUND + ".split(y, y, yv, 2).reorder(yv, c, x, y).unroll(c).vectorize(yv)"),
        (3, BOUND + ".reorder(c, x, y).unroll(c)"),
        (9, "out.split(x, x, xv, 8).reorder(xv, c, x, y).vectorize(xv)"),
    ],
)
def test_other_loops_have_one_form(channels: int, text: str) -> None:
    image, out = ImageParam(UInt8, 3, "image"), Func("out")
    out[C, X, Y] = image[C, X, Y] + 1
    size = [channels, 64, HEIGHT]
    algorithm = pipeline(out, estimates={out: size, image: size})
    assert forms(lowered(algorithm, text)["parallel"]) == []


def test_stores_to_one_channel_have_one_form() -> None:
    image, out = ImageParam(UInt8, 2, "image"), Func("out")
    out[C, X, Y] = image[X, Y] + cast(UInt8, C)
    algorithm = pipeline(out, estimates={out: [3, 64, HEIGHT]})
    text = BOUND + ".split(x, x, xv, 8).reorder(xv, {}, y).vectorize(xv)"
    assert not forms(lowered(algorithm, text.format("x, c"))["parallel"])
    assert not forms(lowered(algorithm, text.format("x, c") + ".unroll(c)")["parallel"])
    assert forms(lowered(algorithm, text.format("c, x") + ".unroll(c)")["parallel"])


def test_a_specialization_on_a_stride_is_a_form() -> None:
    image, out = ImageParam(UInt8, 3, "image"), Func("out")
    out[C, X, Y] = image[C, X, Y] + 1
    algorithm = pipeline(out, estimates={image: [3, 64, HEIGHT]})
    stride = Variable(Int32, "image.stride.1")
    along = schedule(algorithm).vectorize("x", 8).specialize(stride == 3)
    first, second = cases(along.schedule)
    inside, otherwise = (
        lower(loop_nest(algorithm, case.schedule, case.assumptions))["vectorize"]
        for case in (first, second)
    )
    assert steps(inside.body) >= {"3"}
    assert steps(otherwise.body) >= {"image.stride.1"}
    assert not forms(inside) + forms(otherwise)


def likely(algorithm: Pipeline, text: str = "") -> dict[str, tuple[int | None, ...]]:
    return {b.name: b.likely_steps for b in lowered(algorithm, text)["start"].buffers}


def test_likely_strides() -> None:
    image, out = ImageParam(UInt8, 3, "image"), Func("out")
    out[C, X, Y] = image[C, X, Y]
    unknown = (1, None, None)
    assert likely(pipeline(out)) == {"image": unknown, "out": unknown}
    bounded = {"image": (1, 3, None), "out": (1, 3, None)}
    assert likely(pipeline(out), BOUND) == bounded
    for extents, strides in (
        ((4, 9, 9), (1, 4, None)),
        ((2, 2, 9), (1, 2, 4)),
        ((2, 3, 9), (1, 2, None)),
        ((5, 9, 9), unknown),
        ((1, 1, 9), (1, 1, 1)),
    ):
        estimated = pipeline(out, estimates={image: extents, out: extents})
        assert likely(estimated) == {"image": strides, "out": strides}
    # An array of four channels of which the pipeline needs three.
    some = pipeline(out, estimates={image: [4, 9, 9], out: [3, 9, 9]})
    assert likely(some, BOUND) == {"image": (1, 4, None), "out": (1, 3, None)}
    image.dim(0).set_bounds(0, 2)
    assert likely(pipeline(out))["image"] == (1, 2, None)
    image.dim(1).set_stride(7)
    assert likely(pipeline(out))["image"] == (1, 7, None)
