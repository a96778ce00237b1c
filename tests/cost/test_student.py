"""Quantiles of Student's t, beside those of printed tables."""

import pytest

from spaces.cost.student import student_probability, student_quantile


@pytest.mark.parametrize(
    ("probability", "freedom", "value"),
    [
        (0.975, 1, 12.7062), (0.975, 2, 4.3027), (0.975, 3, 3.1824), (0.975, 4, 2.7764),
        (0.995, 7, 3.4995), (0.95, 15, 1.7531), (0.9995, 3, 12.924), (0.975, 120, 1.9799),
    ],
)  # fmt: skip
def test_quantiles_are_those_of_tables(probability: float, freedom: int, value: float) -> None:
    assert student_quantile(probability, freedom) == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize("freedom", [1, 2, 5, 8])
def test_half_of_all_values_are_negative(freedom: int) -> None:
    assert student_probability(0.0, freedom) == 0.5
