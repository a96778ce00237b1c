"""Results that are the same but for rounding."""

from __future__ import annotations

import numpy as np
import pytest

from bench.contenders import pipeline_of
from spaces.backend.measuring.agreement import EXACT, Tolerance, disagreement
from spaces.backend.measuring.tolerances import tolerance

WANTED = np.arange(100, dtype=np.uint8)


def changed(*values: int) -> np.ndarray:
    """The wanted values but for the first ones."""
    found = WANTED.copy()
    found[: len(values)] = values
    return found


@pytest.mark.parametrize(
    ("found", "near", "count"),
    [
        (WANTED, 0.0, 0),
        (changed(1), 0.0, 1),
        (changed(1, 2), 0.02, 0),
        (changed(1, 0, 1), 0.02, 3),  # too many
        (changed(2, 2), 0.02, 1),
        (changed(255), 0.02, 1),  # one off but for wrapping
    ],
)
def test_few_integers_may_be_one_off(found: np.ndarray, near: float, count: int) -> None:
    said = disagreement("f", found, WANTED, Tolerance(near))
    assert said.startswith(f"{count} of 100 values of f differ") if count else said == ""


def test_floats_may_differ_by_rounding_alone() -> None:
    wanted = np.array([1000.0, 1.0, np.nan, np.inf], np.float32)
    near = np.array([1000.05, 1.05, np.nan, np.inf], np.float32)
    assert disagreement("f", near, wanted) == ""
    near[0] = 1000.5  # a thousandth is for floats that depend on rounded ones
    assert "1 of 4 values" in disagreement("f", near, wanted)
    assert disagreement("f", near, wanted, Tolerance(0.25)) == ""
    for far in ([1002, 1, np.nan, np.inf], [1000, 1, 0, np.inf], [1000, 1, np.nan, 1000]):
        assert "1 of 4 values" in disagreement(
            "f", np.array(far, np.float32), wanted, Tolerance(1.0)
        )


def test_truth_values_are_equal_or_not() -> None:
    wanted = np.array([True, False, True])
    assert "1 of 3" in disagreement("f", np.array([True, True, True]), wanted, Tolerance(1.0))


def test_a_few_values_may_be_any_others() -> None:
    found = np.tile(changed(9), 1000)
    wanted = np.tile(WANTED, 1000)
    assert disagreement("f", found, wanted, Tolerance(any=0.01)) == ""
    assert "1000 of 100000 values" in disagreement("f", found, wanted, Tolerance(any=0.0099))
    for small in found.astype(np.float32), found:  # of few values no share is a whole one
        assert disagreement("f", small[:100], wanted[:100], Tolerance(any=0.001))


def test_only_decisions_by_floats_may_be_others() -> None:
    for app in ("hist", "lens_blur"):  # gray values are rounded; the nearest slice is chosen
        assert tolerance(pipeline_of(app)) != EXACT
    for app in ("blur", "conv_layer"):  # of integers, and of floats alone
        assert tolerance(pipeline_of(app)) == EXACT
