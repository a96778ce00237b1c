"""Beams of an array of antennas: a product of complex matrices, and the power of its values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, RDom, Var
from spaces.apps.gallery.gallery_pipeline import GalleryPipeline, around_zero
from spaces.apps.gallery.kind import PipelineKind
from spaces.apps.pictures import Array

SAMPLES, ANTENNAS, BEAMS = 65536, 48, 12


def pipeline() -> Pipeline:
    """Sums of the real and imaginary parts of the products as one update of two values."""
    t, b = Var("t"), Var("b")
    signals, weights = ImageParam(Float32, 3, "signals"), ImageParam(Float32, 3, "weights")
    beam, power = Func("beam"), Func("power")
    a = RDom([(0, ANTENNAS)], "a")
    real, imaginary = signals[t, 0, a], signals[t, 1, a]
    straight, turned = weights[0, a, b], weights[1, a, b]
    beam[t, b] = (0.0, 0.0)
    beam[t, b] = (
        beam[t, b][0] + (real * straight - imaginary * turned),
        beam[t, b][1] + (real * turned + imaginary * straight),
    )
    power[t, b] = beam[t, b][0] * beam[t, b][0] + beam[t, b][1] * beam[t, b][1]
    return spaces.pipeline(
        power,
        name="beamforming",
        estimates={
            signals: [SAMPLES, 2, ANTENNAS],
            weights: [2, ANTENNAS, BEAMS],
            power: [SAMPLES, BEAMS],
        },
    )


def expected(inputs: Mapping[str, Array]) -> Array:
    """NumPy's product of complex matrices."""
    signals, weights = (inputs[name].astype(np.float64) for name in ("signals", "weights"))
    beams = (weights[..., 0] + 1j * weights[..., 1]) @ (signals[:, 0] + 1j * signals[:, 1])
    power: Array = np.abs(beams) ** 2
    return power


GALLERY_PIPELINE = GalleryPipeline(
    name="beamforming",
    kind=PipelineKind.MATRIX_PRODUCTS,
    summary="power of 12 beams of 48 antennas, 65536 samples, complex float32",
    pipeline=pipeline,
    expected=expected,
    inputs={"signals": around_zero(1.0), "weights": around_zero(0.2)},
    small={"signals": (37, 2, ANTENNAS), "weights": (2, ANTENNAS, 7), "power": (37, 7)},
    tolerance=5e-6,
)
