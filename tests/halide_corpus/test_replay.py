"""Halide runs every twelfth case of the corpus again."""

from __future__ import annotations

import pytest

from tests.halide_corpus.corpus import cases
from tests.halide_corpus.record import End, recorded, recorded_version

runner = pytest.importorskip("tests.halide_corpus.__main__", exc_type=ImportError)
halide_side = pytest.importorskip("tests.halide_corpus.halide_side", exc_type=ImportError)

_STEP = 12
"""The distance between tested cases in the list of those that end."""

ENDING = [name for name, result in recorded().items() if result.end is not End.TIMEOUT]


@pytest.mark.parametrize("name", ENDING[::_STEP])
def test_halide_ends_as_recorded(name: str) -> None:
    assert halide_side.outcome(cases()[name]).end is recorded()[name].end


def test_a_crash_names_its_signal() -> None:
    assert "SIGSEGV" in halide_side._ending(-11)


def test_cases_are_run_by_name() -> None:
    version = recorded_version()
    assert runner.chosen([], version) == list(cases().values())
    names = [case.name for case in runner.chosen(["retouch", "trio/root"], version)]
    assert names == ["trio/root", *(name for name in cases() if name.startswith("retouch/"))]
    with pytest.raises(SystemExit, match="There is no pipeline or case tria"):
        runner.chosen(["tria"], version)
    with pytest.raises(SystemExit, match="run all cases"):
        runner.chosen(["trio"], "1.0")
