"""The libraries of the vendor through PyTorch: cuBLAS for a product of matrices, cuDNN for
convolutions. Floats are 32 bits wide; TF32 is off.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.gpu.runner.card import Card
from bench.gpu.runner.inputs import Array

_NAMES = {"sgemm": "output", "conv_layer": "relu", "depthwise_conv": "output"}
"""The apps that libraries have, each with its output."""


def is_known(app: str) -> bool:
    """Whether the libraries have an app."""
    return app in _NAMES


def torch() -> Any:
    """PyTorch, with full precision.

    Raises:
        ImportError: it is not installed.
    """
    found: Any = importlib.import_module("torch")
    if not found.cuda.is_available():
        raise ImportError("PyTorch is not built for CUDA")
    found.backends.cuda.matmul.allow_tf32 = False
    found.backends.cudnn.allow_tf32 = False
    found.backends.cudnn.benchmark = True
    return found


class LibraryProgram:
    """An app by the vendor's libraries."""

    def __init__(
        self,
        card: Card,
        app: str,
        images: Mapping[str, Array],
        scalars: Mapping[str, Sequence[Any]],
    ) -> None:
        self._torch = torch()
        self._card = card
        self._name = _NAMES[app]
        self._stream = self._torch.cuda.ExternalStream(card.handles[1])
        self._work = getattr(self, f"_{app}")
        self._scalars = {name: value for name, (_, value) in scalars.items()}
        with self._torch.inference_mode():
            self._arrays = {
                name: self._torch.from_numpy(array.copy()).cuda() for name, array in images.items()
            }
        self._out: Any = None
        card.wait()

    def run(self) -> None:
        with self._torch.cuda.stream(self._stream), self._torch.inference_mode():
            self._out = self._work(**self._arrays)

    def poison(self) -> None:
        if self._out is not None:
            with self._torch.cuda.stream(self._stream), self._torch.inference_mode():
                self._out.fill_(float("nan"))

    def results(self) -> dict[str, Array]:
        self._card.wait()
        return {self._name: self._out.cpu().numpy()}

    def parts(self) -> list[tuple[str, Callable[[], None]]]:
        return []

    def release(self) -> None:
        self._arrays, self._out = {}, None
        self._torch.cuda.empty_cache()

    def _sgemm(self, A: Any, B: Any, C: Any) -> Any:
        alpha, beta = self._scalars["alpha"], self._scalars["beta"]
        return self._torch.addmm(C, A, B, beta=beta, alpha=alpha)

    def _conv_layer(self, input: Any, filter: Any, bias: Any) -> Any:
        """Arrays are [picture, y, x, channel] and [channel in, y, x, channel out]."""
        convolve = self._torch.nn.functional.conv2d
        found = convolve(input.permute(0, 3, 1, 2), filter.permute(3, 0, 1, 2), bias)
        return self._torch.relu_(found).permute(0, 2, 3, 1)

    def _depthwise_conv(self, input: Any, depthwise: Any, pointwise: Any, bias: Any) -> Any:
        """Arrays are [picture, y, x, channel], [y, x, channel] and [channel in, channel out]."""
        convolve = self._torch.nn.functional.conv2d
        each = depthwise.permute(2, 0, 1)[:, None]
        wide = convolve(input.permute(0, 3, 1, 2), each, padding=1, groups=len(each))
        mixed = convolve(wide, pointwise.T[:, :, None, None], bias)
        return self._torch.relu_(mixed).permute(0, 2, 3, 1)
