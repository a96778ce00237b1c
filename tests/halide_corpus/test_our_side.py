"""Our own code compiles and runs every ninth legal schedule of the corpus."""

from __future__ import annotations

import pytest

from spaces.constraints.legality.verdict import CheckedSchedule
from tests.halide_corpus.corpus import cases
from tests.halide_corpus.our_side import wrong_outputs
from tests.halide_corpus.record import recorded

_STEP = 9
"""The distance between tested cases in the list of legal ones."""

LEGAL = [name for name, result in recorded().items() if result.legal]


@pytest.mark.parametrize("name", LEGAL[::_STEP])
def test_a_legal_schedule_computes_the_reference(name: str) -> None:
    verdict = cases()[name].verdict()
    assert isinstance(verdict, CheckedSchedule)
    assert wrong_outputs(cases()[name], verdict) == []
