"""Scans, scatters and several outputs, by Halide and by NumPy."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spaces.model.writing.text import parse_schedule
from tests.backend.halide.peer import bridge
from tests.backend.test_scans import EXAMPLES, Example, assert_same


@pytest.mark.parametrize("make", EXAMPLES)
def test_bits_are_those_of_halide(make: Callable[[], Example]) -> None:
    example = make()
    for text in example.cpu:
        peer = bridge.build(example.algorithm, parse_schedule(text, example.algorithm))
        found = peer.realize(example.inputs, sizes=example.sizes, target=bridge.STRICT)
        assert_same(found, example.wanted)
