"""Fourier transforms of 16 samples of many signals side by side, by four."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Expr, Float64, Func, ImageParam, Pipeline, Var, f64, mux
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, around_zero
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SIGNALS = 100_000
TURNS = np.exp(-2j * np.pi * np.outer(np.arange(4), np.arange(4)) / 16)
"""Factors between the two stages."""


def pipeline() -> Pipeline:
    """Transforms of every fourth sample, factors, and transforms across those: real and imaginary
    parts as two values of a Func.
    """
    x, j, k, part = Var("x"), Var("j"), Var("k"), Var("part")
    real, imaginary = ImageParam(Float64, 2, "real"), ImageParam(Float64, 2, "imaginary")
    turns = [[float(f(t)) for t in TURNS.ravel()] for f in (np.real, np.imag)]
    first, turned, second, output = map(Func, ("first", "turned", "second", "output"))

    def four(values: list[tuple[Expr, ...]], at: Expr) -> tuple[Expr, ...]:
        (a, ai), (b, bi), (c, ci), (d, di) = values
        reals = (a + b + c + d, a + bi - c - di, a - b + c - d, a - bi - c + di)
        imaginaries = (ai + bi + ci + di, ai - b - ci + d, ai - bi + ci - di, ai + b - ci - d)
        return mux(at, reals), mux(at, imaginaries)

    first[x, j, k] = four([(real[x, j + 4 * n], imaginary[x, j + 4 * n]) for n in range(4)], k)
    a, b = first[x, j, k]
    c, s = (mux(4 * j + k, [f64(table[0]), *table[1:]]) for table in turns)
    turned[x, j, k] = (a * c - b * s, a * s + b * c)
    second[x, j, k] = four([tuple(turned[x, n, k]) for n in range(4)], j)
    output[x, k, part] = mux(part, list(second[x, k / 4, k % 4]))
    size = [SIGNALS, 16]
    return spaces.pipeline(
        output,
        name="fft_16_lines",
        estimates={real: size, imaginary: size, output: [*size, 2]},
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's transform."""
    found = np.fft.fft(inputs["real"] + 1j * inputs["imaginary"], axis=0)
    return np.stack([found.real, found.imag])


GALLERY_PIPELINE = GalleryPipeline(
    name="fft_16_lines",
    kind=PipelineKind.BUTTERFLIES,
    summary="Fourier transforms of 16 samples of 100000 signals, float64",
    pipeline=pipeline,
    expected=expected,
    inputs={"real": around_zero(1.0), "imaginary": around_zero(1.0)},
    small={"real": (37, 16), "imaginary": (37, 16), "output": (37, 16, 2)},
    tolerance=1e-12,
)
