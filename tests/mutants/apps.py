"""Bugs in the pipelines of the literature: what the apps got wrong once."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FORMULAS = ("test_pipelines.py",)

FORMULAS = (
    Mutant(
        "averages-of-the-camera-truncate",
        "_smooth",
        "rounding_halving_add(a, c)",
        "(a & c) + ((a ^ c) >> 1)",
        "A mean of two pixels drops a half that Halide's app rounds up.",
        _FORMULAS,
    ),
    Mutant(
        "matrices-of-the-camera-swapped",
        "_correct",
        "warm[column, row] * weight + cold[column, row] * (1.0 - weight)",
        "cold[column, row] * weight + warm[column, row] * (1.0 - weight)",
        "Warm light takes the matrix that Halide's app takes for cold light.",
        _FORMULAS,
    ),
    Mutant(
        "disk-a-row-short",
        "pipeline",
        "(0, radius + 1)",
        "(1, radius)",
        "Columns of the disk leave out their middle row when rows are counted.",
        _FORMULAS,
    ),
    Mutant(
        "colors-scaled-without-the-offset",
        "pipeline",
        "rebuilt[x, y] + _DARKEST",
        "rebuilt[x, y]",
        "The new gray value lacks what the old one has added.",
        _FORMULAS,
    ),
    Mutant(
        "blue-is-not-about-128",
        "pipeline",
        "blue_difference[x, y] - 128.0",
        "blue_difference[x, y]",
        "The difference from gray is read as if 0 meant no difference, though 128 does.",
        _FORMULAS,
    ),
)
