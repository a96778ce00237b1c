"""The apps by PyTorch's functions, which NumPy stands in for: which axis is which."""

import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from bench.contenders import pipeline_of
from bench.gpu.runner.library import LibraryProgram
from spaces.backend.reference import evaluate
from tests.apps.cases import case


class Tensor:
    """An array with the names of PyTorch."""

    def __init__(self, array):
        self.array = array

    def cuda(self):
        return self

    cpu = cuda

    def numpy(self):
        return self.array

    def permute(self, *axes):
        return Tensor(self.array.transpose(axes))

    @property
    def T(self):
        return Tensor(self.array.T)

    def __getitem__(self, places):
        return Tensor(self.array[places])

    def __len__(self):
        return len(self.array)

    def fill_(self, value):
        self.array[...] = value


def conv2d(image, weights, bias=None, padding=0, groups=1):
    """[picture, channel, y, x] with [channel out, channel in of a group, y, x]."""
    pixels = np.pad(image.array, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    kernel = weights.array
    count, each, height, width = kernel.shape
    rows, columns = pixels.shape[2] - height + 1, pixels.shape[3] - width + 1
    out = np.zeros((len(pixels), count, rows, columns), np.float32)
    for channel in range(count):
        first = channel // (count // groups) * each
        for k in range(each):
            for y in range(height):
                for x in range(width):
                    part = pixels[:, first + k, y : y + rows, x : x + columns]
                    out[:, channel] += kernel[channel, k, y, x] * part
    return Tensor(out if bias is None else out + bias.array[:, None, None])


def addmm(c, a, b, beta, alpha):
    return Tensor(np.float32(beta) * c.array + np.float32(alpha) * (a.array @ b.array))


TORCH = SimpleNamespace(
    cuda=SimpleNamespace(
        is_available=lambda: True,
        ExternalStream=lambda address: None,
        stream=lambda one: nullcontext(),
        empty_cache=lambda: None,
    ),
    backends=SimpleNamespace(
        cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=True)),
        cudnn=SimpleNamespace(allow_tf32=True, benchmark=False),
    ),
    inference_mode=nullcontext,
    from_numpy=Tensor,
    relu_=lambda one: Tensor(np.maximum(one.array, 0)),
    addmm=addmm,
    nn=SimpleNamespace(functional=SimpleNamespace(conv2d=conv2d)),
)


@pytest.mark.parametrize("app", ["sgemm", "conv_layer", "depthwise_conv"])
def test_libraries_compute_the_apps(app, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", TORCH)
    pipeline, inputs, sizes = case(app)
    scalars = {s.name: [str(s.type.dtype), s.default] for s in pipeline_of(app).scalars}
    card = SimpleNamespace(handles=(0, 0), wait=lambda: None)
    program = LibraryProgram(card, app, inputs, scalars)
    program.run()
    wanted = evaluate(pipeline, inputs, sizes=sizes)
    found = program.results()
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-4 * np.abs(array).max())
    program.poison()
    assert all(np.isnan(array).all() for array in program.results().values())
    assert not TORCH.backends.cuda.matmul.allow_tf32
    assert not TORCH.backends.cudnn.allow_tf32
