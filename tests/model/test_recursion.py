"""Recursion takes the same time however deep its caller is."""

from __future__ import annotations

import gc
import resource

import pytest

from spaces.model.recursion import in_one_chunk

_ROUNDS = 1000
_DEPTHS = range(0, 200, 20)


def descend(levels: int) -> None:
    if levels:
        descend(levels - 1)


def to_and_fro() -> int:
    """How many pages the system provides while calls nest 30 deep and return, again and again."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(_ROUNDS):
        descend(30)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def test_calls_in_one_chunk_map_no_memory_again_and_again():
    def at(depth: int) -> int:
        return at(depth - 1) if depth else in_one_chunk(to_and_fro)()

    gc.disable()  # to look for garbage takes pages, too
    try:
        assert max(map(at, _DEPTHS)) < _ROUNDS // 2
    finally:
        gc.enable()


def test_what_runs_in_one_chunk_keeps_its_name_results_and_errors():
    @in_one_chunk
    def quotient(a: int, *, by: int) -> int:
        """A whole number of times."""
        return a // by

    assert quotient(7, by=2) == 3
    assert (quotient.__name__, quotient.__doc__) == ("quotient", "A whole number of times.")
    with pytest.raises(ZeroDivisionError):
        quotient(1, by=0)
