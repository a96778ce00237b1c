"""Scalars that Halide holds as something else."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from spaces import Float32, Float64, Int32, Type
from spaces.backend.halide.scalars import estimate_scalar


class Told:
    """A Param that keeps its estimate, which Halide's tells nobody."""

    estimate: Any = None

    def set_estimate(self, value: Any) -> None:
        self.estimate = value


@pytest.mark.parametrize(
    ("type", "value", "estimate"),
    [
        (Float64, 0.1, struct.unpack("<Q", struct.pack("<d", 0.1))[0]),
        (Float32, 0.5, 0.5),
        (Int32, -3, -3),
    ],
)
def test_the_estimate_of_a_float64_is_its_bits(type: Type, value: float, estimate: float) -> None:
    told = Told()
    estimate_scalar(told, type, value)
    assert told.estimate == estimate
