"""Bugs in what is kept between calls: values that belong to others, or that are not whole."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("backend/test_memoize.py",)

MEMOIZED = (
    Mutant(
        "kept-for-own-params",
        "_given_numbers",
        "{func, *pipeline.producers[func]}",
        "{func}",
        "Params that only the Funcs below read do not count.",
        _TESTS,
    ),
    Mutant(
        "kept-wherever-computed",
        "_memo_key",
        "(*(end for end in ends if end is not None), *storage.mins, *storage.extents)",
        "(*storage.extents,)",
        "A row is taken for another row of the same length.",
        _TESTS,
    ),
    Mutant(
        "longest-unused-stays",
        "_emit_recall",
        "memo.push(body, entry)",
        "build.store(entry, link)",
        "What is used does not move to the front: the first kept is the first dropped.",
        _TESTS,
    ),
)
