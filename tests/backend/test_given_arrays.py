"""Arrays of other libraries in the memory of the CPU, beside NumPy's."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
from attrs import define
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from spaces import (
    ArgumentError,
    Func,
    ImageParam,
    Int32,
    Var,
    compile_cpu,
    device,
    evaluate,
    parse_schedule,
    pipeline,
    verify,
)
from spaces.backend.arrays.dlpack import CPU, CUDA, DlpackArray, received, sent
from tests.backend.strided_arrays import Layout, layouts

X, Y = Var("x"), Var("y")
IMAGE, OUT = ImageParam(Int32, 2, "image"), Func("out")
OUT[X, Y] = IMAGE[X, Y] * 3
ALGORITHM = pipeline(OUT)
COMPILED = compile_cpu(verify(ALGORITHM, parse_schedule("", ALGORITHM), device("cpu")))
SHAPE = (5, 7)


@define(eq=False)
class Tensor:
    """An array that only DLPack hands out, by NumPy's own code."""

    array: NDArray[Any]
    version: tuple[int, int] | None = (1, 0)
    kind: int = CPU

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0

    def __dlpack__(self, **options: Any) -> Any:
        if self.version is None and options:
            raise TypeError("unexpected keyword")
        return self.array.__dlpack__(**options)


@define(eq=False)
class Ours:
    """An array that our code hands out."""

    array: NDArray[Any]
    is_versioned: bool

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU, 0

    def __dlpack__(self, **_: Any) -> Any:
        a = self.array
        place = a.ctypes.data, a.shape, a.dtype, a.strides, CPU, 0, not a.flags.writeable, a
        return sent(DlpackArray(*place), is_versioned=self.is_versioned)


def picture() -> NDArray[Any]:
    return np.random.default_rng(4).integers(-99, 99, SHAPE, np.int32)


@given(layouts(2), layouts(2), st.sampled_from([None, (1, 0)]))
def test_tensors_are_read_and_written_in_place(
    read: Layout, write: Layout, version: tuple[int, int] | None
) -> None:
    _, image = read.place(SHAPE, np.int32)
    whole, out = write.place(SHAPE, np.int32)
    image[...] = picture()
    expected, target = whole.copy(), Tensor(out, version)
    found = COMPILED.run({"image": Tensor(image, version)}, out={"out": target})
    assert found["out"] is target
    np.testing.assert_array_equal(out, 3 * picture())
    out[...] = 77
    np.testing.assert_array_equal(whole, expected)
    np.testing.assert_array_equal(
        evaluate(ALGORITHM, {"image": Tensor(image)}, sizes={"out": SHAPE[::-1]})["out"],
        3 * picture(),
    )


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "u8", "f4", "f8", "?"])
@pytest.mark.parametrize("is_versioned", [False, True])
def test_numpy_reads_what_is_sent(dtype: str, is_versioned: bool) -> None:
    array = np.arange(24).reshape(2, 3, 4)[:, ::-1, ::2].astype(dtype, order="K")
    found = np.from_dlpack(Ours(array, is_versioned))
    assert found.dtype == array.dtype
    assert found.ctypes.data == array.ctypes.data
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("is_received", [False, True])
@pytest.mark.parametrize("is_versioned", [False, True])
def test_an_array_lives_until_it_is_given_back(is_received: bool, is_versioned: bool) -> None:
    array = np.arange(6.0)
    last = weakref.ref(array)
    options = {"max_version": (1, 0)} if is_versioned else {}
    capsule = Ours(array, is_versioned).__dlpack__(**options)
    del array
    assert last() is not None
    if is_received:
        found = received(Holder(capsule))
        del capsule
        assert last() is not None
        assert found.shape == (6,)
        del found
    else:
        del capsule
    assert last() is None  # without the garbage collector: nothing refers to itself


@define(eq=False)
class Holder:
    capsule: Any

    def __dlpack__(self, **_: Any) -> Any:
        capsule, self.capsule = self.capsule, None
        return capsule


def test_all_that_is_wrong_is_told_at_once() -> None:
    out = np.zeros(SHAPE, np.int16)
    out.flags.writeable = False
    with pytest.raises(ArgumentError) as error:
        COMPILED.run({"image": Tensor(np.zeros(3))}, out={"out": Tensor(out)})
    assert str(error.value).splitlines() == [
        "Image image is given a Tensor, which is not an array of int32; make one, for example with "
        "numpy.array(..., dtype='int32').",
        "Output out is int32, but the array to write it to holds int16; make one of dtype 'int32'.",
        "The array to write output out to is read-only; give one that can be written.",
    ]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (Tensor(np.zeros(SHAPE, complex)), "which hands out no array: its elements are of DLPack"),
        (Tensor(picture(), kind=CUDA), "on a GPU, but the pipeline runs on the CPU"),
        (Holder("no capsule"), "its __dlpack__ gives no capsule of DLPack"),
    ],
)
def test_what_is_no_array_of_the_cpu_is_told(given: Any, why: str) -> None:
    with pytest.raises(ArgumentError, match=f"Image image is given .*{why}"):
        COMPILED.run({"image": given}, sizes={"out": SHAPE[::-1]})
