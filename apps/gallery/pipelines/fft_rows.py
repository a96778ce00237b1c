"""Fourier transforms of lines of 64 samples, as radix-2 stages."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var, mux, select
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SIZE, LINES = 64, 16_384
STAGES = SIZE.bit_length() - 1


def _reversed(k: spaces.Expr) -> spaces.Expr:
    """A number of six bits with its bits in the other order."""
    bits = [((k >> n) & 1) << (STAGES - 1 - n) for n in range(STAGES)]
    total = bits[0]
    for bit in bits[1:]:
        total = total + bit
    return total


def pipeline() -> Pipeline:
    """A stage for each power of two: the sum and the difference of a value and another one, turned
    by a root of unity from a table. Real and imaginary parts are one Func of two values.
    """
    k, y, c = Var("k"), Var("y"), Var("c")
    signal = ImageParam(Float32, 2, "signal")
    turn, stage = Func("turn"), Func("sorted")
    angle = spaces.f32(k) * float(-2 * np.pi / SIZE)
    turn[k] = (spaces.cos(angle), spaces.sin(angle))
    stage[k, y] = (signal[spaces.clamp(_reversed(k), 0, SIZE - 1), y], 0.0)
    for n in range(STAGES):
        half, step = 1 << n, Func(f"stage_{n}")
        low = (k >> (n + 1) << (n + 1)) + (k & (half - 1))
        even, odd = stage[low, y], stage[low + half, y]
        root = turn[(k & (half - 1)) << (STAGES - 1 - n)]
        real = odd[0] * root[0] - odd[1] * root[1]
        imaginary = odd[0] * root[1] + odd[1] * root[0]
        is_first = (k & half) == 0
        step[k, y] = (
            select(is_first, even[0] + real, even[0] - real),
            select(is_first, even[1] + imaginary, even[1] - imaginary),
        )
        stage = step
    spectrum = Func("spectrum")
    spectrum[k, y, c] = mux(c, [stage[k, y][0], stage[k, y][1]])
    return spaces.pipeline(
        spectrum,
        name="fft_rows",
        estimates={signal: [SIZE, LINES], spectrum: [SIZE, LINES, 2]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's transform."""
    spectrum = np.fft.fft(inputs["signal"].astype(np.float64), axis=1)
    return np.stack([spectrum.real, spectrum.imag])


GALLERY_PIPELINE = GalleryPipeline(
    name="fft_rows",
    kind=PipelineKind.BUTTERFLIES,
    summary="Fourier transforms of 16384 lines of 64 samples, float32",
    pipeline=pipeline,
    expected=expected,
    small={"signal": (SIZE, 7), "spectrum": (SIZE, 7, 2)},
    tolerance=2e-6,
)
