"""Bugs in the pipelines of the literature: what the apps got wrong once."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FORMULAS = ("tests/apps/test_pipelines.py",)

FORMULAS = (
    Mutant(
        "averages-of-the-camera-truncate",
        "apps/camera_pipe.py",
        "return rounding_halving_add(rounding_halving_add(a, c), b)",
        "return rounding_halving_add((a & c) + ((a ^ c) >> 1), b)",
        "A mean of two pixels drops a half that Halide's app rounds up.",
        _FORMULAS,
    ),
    Mutant(
        "matrices-of-the-camera-swapped",
        "apps/camera_pipe.py",
        "mixed = warm[column, row] * weight + cold[column, row] * (1.0 - weight)",
        "mixed = cold[column, row] * weight + warm[column, row] * (1.0 - weight)",
        "Warm light takes the matrix that Halide's app takes for cold light.",
        _FORMULAS,
    ),
    Mutant(
        "disk-a-row-short",
        "apps/max_filter.py",
        'dy = RDom([(0, radius + 1)], "dy")',
        'dy = RDom([(1, radius)], "dy")',
        "Columns of the disk leave out their middle row when rows are counted.",
        _FORMULAS,
    ),
    Mutant(
        "colors-scaled-without-the-offset",
        "apps/local_laplacian.py",
        "colored[x, y, c] = image[x, y, c] * (rebuilt[x, y] + _DARKEST) /",
        "colored[x, y, c] = image[x, y, c] * rebuilt[x, y] /",
        "The new gray value lacks what the old one has added.",
        _FORMULAS,
    ),
    Mutant(
        "blue-is-not-about-128",
        "apps/hist.py",
        "blue_difference[x, y] - 128.0",
        "blue_difference[x, y]",
        "The difference from gray is read as if 0 meant no difference, though 128 does.",
        _FORMULAS,
    ),
)
