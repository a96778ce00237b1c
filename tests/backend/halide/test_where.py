"""Reduction domains with predicates, by Halide and by the reference."""

from __future__ import annotations

import pytest

from spaces.model.writing.text import parse_schedule
from tests.backend.halide.peer import assert_agrees
from tests.backend.test_where import PICKY_ON_CPU, SQUARE, TRIANGLE_ON_CPU, picky, triangle


@pytest.mark.parametrize("text", TRIANGLE_ON_CPU[:2])
def test_a_triangle(text: str) -> None:
    algorithm = triangle()
    chosen = parse_schedule(text, algorithm)
    assert_agrees(algorithm, chosen, {"input": SQUARE}, {"out": [7, 10]})


@pytest.mark.parametrize("text", PICKY_ON_CPU)
def test_predicates_that_read(text: str) -> None:
    algorithm = picky()
    chosen = parse_schedule(text, algorithm)
    assert_agrees(algorithm, chosen, {"input": SQUARE}, {"total": [12]})
