"""The files of all programs."""

from __future__ import annotations

import halide as hl
import numpy as np

from tests.halide_programs import arrangements, float_sizes, mixtures, numbers, pictures, reductions
from tests.halide_programs.case import PROGRAMS

_ = (
    arrangements,
    float_sizes,
    mixtures,
    numbers,
    pictures,
    reductions,
)  # their imports fill PROGRAMS


def program_files() -> list[bytes]:
    """Each program with its schedule, serialized."""
    made = (build(np.random.default_rng(7), True) for build in PROGRAMS.values())
    return [hl.serialize_pipeline(case.pipeline()) for case in made]
