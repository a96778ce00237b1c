"""Copies between arrays that lie in different ways, by the text that a GPU gets."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from spaces.backend.cuda.c_text import CTYPE_OF
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.cuda.nvrtc import compile_cuda
from spaces.backend.cuda.relayout import relayout_module, relayout_step
from tests.backend.cuda.test_gpu_pipelines import needs_nvrtc


def elements(array: NDArray[np.generic]) -> tuple[int, ...]:
    return tuple(stride // array.itemsize for stride in array.strides)


@pytest.mark.parametrize(
    ("shape", "axes", "dtype"),
    [((300,), (0,), "uint8"), ((7, 50), (1, 0), "float64"), ((5, 9, 8), (2, 0, 1), "bool")],
)
def test_all_elements_arrive_where_they_belong(
    shape: tuple[int, ...], axes: tuple[int, ...], dtype: str
) -> None:
    """Every second element of an axis, to an array whose axes lie in another order."""
    generator = np.random.default_rng(2)
    whole = generator.integers(0, 2, (*shape[:-1], 2 * shape[-1])).astype(dtype)
    source = whole[..., ::2]
    target = np.zeros([shape[axis] for axis in axes], dtype).transpose(np.argsort(axes))
    assert source.shape == target.shape == shape
    flat = target.transpose(axes).reshape(-1)
    module = relayout_module(CTYPE_OF[dtype], len(shape))
    step = relayout_step(shape, elements(source), elements(target))
    Emulator("shuffled").run(module, (step,), {"from": whole.reshape(-1), "to": flat}, {})
    np.testing.assert_array_equal(target, source)


@needs_nvrtc
def test_the_compiler_takes_the_text() -> None:
    for ctype in CTYPE_OF.values():
        assert compile_cuda(relayout_module(ctype, 3).source).kernels["relayout_kernel"].registers
