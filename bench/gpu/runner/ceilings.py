"""What the card can do at most: how fast it copies, and how fast it multiplies matrices."""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.gpu.runner.card import Card
from bench.gpu.runner.library import torch

_MOST_BYTES = 1 << 30
_TURNS = 10
_SIDE = 8192
"""Rows and columns of the matrices."""


def ceilings(card: Card) -> dict[str, Any]:
    """The ceilings. Without PyTorch there is no product of matrices by a library; the
    fastest of our own is that of the app ``sgemm``.
    """
    return {"copy": _copy(card), "matmul": _matmul(card)}


def _copy(card: Card) -> dict[str, Any]:
    nbytes = min(_MOST_BYTES, card.unused_bytes() // 8)
    to, source = card.allocate(nbytes), card.allocate(nbytes)
    card.fill(source, 1, nbytes)
    copy = partial(card.copy, to, source, nbytes)
    seconds = min(card.times([copy] * _TURNS, lambda: None))
    card.free(to)
    card.free(source)
    return {"bytes": nbytes, "gb_per_s": round(2 * nbytes / seconds * 1e-9, 1),
            "counting": "bytes read and bytes written"}  # fmt: skip


def _matmul(card: Card) -> dict[str, Any]:
    try:
        library = torch()
        a, b = (library.rand(_SIDE, _SIDE, device="cuda") for _ in range(2))
    except (ImportError, RuntimeError, AssertionError) as error:
        return {"absent": f"PyTorch: {error}"}
    out = library.empty_like(a)
    stream = library.cuda.ExternalStream(card.handles[1])

    def multiply() -> None:
        with library.cuda.stream(stream):
            library.matmul(a, b, out=out)

    card.wait()
    seconds = min(card.times([multiply] * _TURNS, lambda: None)[1:])
    return {
        "by": f"PyTorch {library.__version__}, float32 without TF32, {_SIDE} x {_SIDE}",
        "tflop_per_s": round(2 * _SIDE**3 / seconds * 1e-12, 2),
    }
