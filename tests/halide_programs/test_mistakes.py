"""What newcomers do wrong with pipelines of Halide, and the sentences that they read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("halide", reason="Halide's Python package is not installed")

import halide as hl
import numpy as np

from spaces import HalideImportError, apply, from_halide, read_hlpipe
from spaces.apps.halide_programs import app_of_file
from spaces.backend.halide.errors import HalideFailure

x, y, xi = hl.Var("x"), hl.Var("y"), hl.Var("xi")


def brightened(**given: Any) -> Any:
    """A picture of which every pixel is one more, brought in with what is given."""
    photo, gain = hl.ImageParam(hl.UInt(8), 2, "photo"), hl.Param(hl.UInt(8), "gain")
    out = hl.Func("out")
    out[x, y] = photo[x, y] + gain
    return from_halide(out, **given)


@pytest.mark.parametrize(
    ("estimates", "says"),
    [
        ([640, 480], "estimates is a mapping from names, as in .*, not a list"),
        (
            {"phoot": [9, 9]},
            r"estimate of phoot: no image.* \(is photo meant\?\); .*photo, out, gain",
        ),
        ({"gain": [9]}, "estimate of gain: a Param takes a number"),
        ({"out": [9]}, "out has 2 dimensions but its estimate gives 1"),
        ({"out": [9, 0]}, "extent of dimension 1 of out is 0; it must be at least 1"),
    ],
)
def test_estimates_that_fit_nothing(estimates: Any, says: str) -> None:
    with pytest.raises((TypeError, HalideImportError), match=says):
        brightened(estimates=estimates)


class Unknown(hl.Generator):
    result = hl.OutputBuffer(hl.Int(32), 1)

    def generate(self) -> None:
        self.result[x] = x


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: from_halide(hl.Func("void")),
            HalideFailure,
            r"Func void\S* of Halide has no definition",
        ),
        (lambda: from_halide(3), TypeError, "A pipeline of Halide is a halide.Func, .*, not 3"),
        (lambda: from_halide(Unknown), TypeError, r"the generator Unknown: put @halide\.generator"),
        (lambda: read_hlpipe(hl.Func()), TypeError, "not a Func; from_halide takes objects"),
    ],
    ids=["without definition", "a number", "no generator", "no file"],
)
def test_what_is_no_pipeline(call: Callable[[], object], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()


def test_things_with_one_name_that_halide_takes_for_one() -> None:
    """Halide refuses most of them when it compiles; a file holds only one of them."""
    one, other = (hl.ImageParam(hl.UInt(8), 1, "data") for _ in range(2))
    param, wide = hl.Param(hl.UInt(8), "data"), hl.Param(hl.UInt(8), "wide")
    wider = hl.Param(hl.UInt(16), "wide")
    images, mixed, params = hl.Func("images"), hl.Func("mixed"), hl.Func("params")
    images[x] = one[x] - other[x]
    mixed[x] = one[x] - param
    params[x] = hl.u16(wide) - wider
    with pytest.raises(HalideImportError, match="- image data: several images have this name"):
        from_halide(images)
    with pytest.raises(HalideImportError, match="data is the name of an image and of a Param"):
        from_halide(mixed)
    with pytest.raises(HalideImportError, match="several Params are called wide"):
        from_halide(params)


def test_arrays_without_names_have_the_same_names_each_time() -> None:
    """Halide numbers all arrays of a process, in whatever pipelines they are."""

    def looked_up() -> Any:
        small, large = (hl.Buffer(np.arange(8, dtype=np.int32) * n) for n in (1, 9))
        photo, out = hl.ImageParam(hl.Int(32), 1, "b"), hl.Func("out")
        out[x] = large[x & 7] + small[x & 3] * photo[x]
        return from_halide(out)

    first, second = looked_up(), looked_up()
    assert first.pipeline.images == second.pipeline.images
    assert {name: values[1] for name, values in second.arrays.items()} == {"b_1": 1, "b_2": 9}
    assert first.names["b_1"] != second.names["b_1"]


def test_one_mistake_is_one_problem() -> None:
    """A printed value is of another type, and a split without a factor makes loops all the same."""
    tile, out, printed = hl.Param(hl.Int(32), "tile"), hl.Func("out"), hl.Func("printed")
    printed[x] = hl.print(x, "is a place")
    out[x] = printed[x]
    with pytest.raises(HalideImportError) as raised:
        from_halide(out)
    assert len(raised.value.problems) == 1
    out = hl.Func("out")
    out[x] = x
    out.split(x, x, xi, tile)
    with pytest.raises(HalideImportError, match="the factor is `tile`") as raised:
        from_halide(out)
    assert len(raised.value.problems) == 1


def test_a_loop_that_there_is_not() -> None:
    inner, out = hl.Func("inner"), hl.Func("out")
    inner[x, y] = x
    out[x, y] = inner[x, y]
    inner.compute_at(out, xi)
    with pytest.raises(HalideImportError, match=r"out has no loop xi to .*; it has y, x"):
        from_halide(out)


def test_a_stride_that_depends_on_strides_is_left_out() -> None:
    """As people write that a stride is a multiple of a vector."""
    matrix, out = hl.ImageParam(hl.Float(32), 2, "matrix"), hl.Func("out")
    matrix.dim(1).set_stride((matrix.dim(1).stride() // 8) * 8)
    matrix.dim(0).set_stride(2)
    out[x, y] = matrix[x, y]
    program = from_halide(out)
    assert program.pipeline.steps("matrix", 2) == (2, None)
    assert [note.split(" is left out")[0] for note in program.notes] == [
        "What matrix.dim(1).set_stride says"
    ]


def test_values_on_which_sizes_depend_are_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data, out = hl.ImageParam(hl.UInt(8), 1, "data"), hl.Func("out")
    count, shift, gain = (hl.Param(hl.Int(32), name) for name in ("count", "shift", "gain"))
    r = hl.RDom([(0, count)], "r")
    out[x] = 0
    out[x] += data[x + r + shift] * gain
    file = tmp_path / "theirs.hlpipe"
    hl.serialize_pipeline(hl.Pipeline([out]), str(file))
    assert sorted(read_hlpipe(file).lacks_values) == ["count", "shift"]
    with caplog.at_level("WARNING"):
        app_of_file(f"{file}:out=64,data=80,shift=2").pipeline()
    assert caplog.messages == [
        f"{file} tells no usual value of count; give them, as in "
        f"{file}:out=64,data=80,shift=2,count=4."
    ]


def test_funcs_to_leave_are_a_list() -> None:
    program = brightened()
    with pytest.raises(TypeError, match=r"leave takes a list of names: leave=\['out'\]"):
        apply(program.schedule, None, leave="out")
