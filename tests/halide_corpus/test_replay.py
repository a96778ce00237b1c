"""A spread of the corpus, run again in Halide."""

from __future__ import annotations

import pytest

from tests.halide_corpus.corpus import cases
from tests.halide_corpus.record import End, recorded

halide_side = pytest.importorskip("tests.halide_corpus.halide_side", exc_type=ImportError)

_STEP = 12
"""Every so many-th of the cases that end."""

ENDING = [name for name, result in recorded().items() if result.end is not End.TIMEOUT]


@pytest.mark.parametrize("name", ENDING[::_STEP])
def test_halide_ends_as_recorded(name: str) -> None:
    assert halide_side.outcome(cases()[name]).end is recorded()[name].end


def test_a_crash_is_told_with_its_signal() -> None:
    assert "SIGSEGV" in halide_side._ending(-11)
