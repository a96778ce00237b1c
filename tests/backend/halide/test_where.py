"""Reduction domains with predicates, by Halide and by the reference."""

from __future__ import annotations

import numpy as np
import pytest

from backend.reference import evaluate
from spaces.model.pipeline import Pipeline
from spaces.model.text import parse_schedule
from tests.backend.halide.peer import bridge
from tests.backend.test_where import PICKY_ON_CPU, SQUARE, TRIANGLE_ON_CPU, picky, triangle


def assert_agrees(algorithm: Pipeline, text: str, sizes: dict[str, list[int]]) -> None:
    peer = bridge.build(algorithm, parse_schedule(text, algorithm))
    found = peer.realize({"input": SQUARE}, sizes=sizes)
    for name, wanted in evaluate(algorithm, {"input": SQUARE}, sizes=sizes).items():
        np.testing.assert_array_equal(found[name], wanted, strict=True)


@pytest.mark.parametrize("text", TRIANGLE_ON_CPU[:2])
def test_a_triangle(text: str) -> None:
    assert_agrees(triangle(), text, {"out": [7, 10]})


@pytest.mark.parametrize("text", PICKY_ON_CPU)
def test_predicates_that_read(text: str) -> None:
    assert_agrees(picky(), text, {"total": [12]})
