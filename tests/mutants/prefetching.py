"""Bugs in what is prefetched."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("tests/backend/halide/test_prefetch.py",)

PREFETCHING = (
    Mutant(
        "prefetched-now",
        "spaces/model/nest/prefetching.py",
        "later: Expr = origin.var + record.offset",
        "later: Expr = origin.var + 0",
        "What this iteration reads is prefetched, not what a later one does.",
        _TESTS,
    ),
    Mutant(
        "prefetched-beyond-the-end",
        "spaces/model/nest/prefetching.py",
        "condition = bounds.simplify(later <= origin.max)",
        "condition = bounds.simplify(origin.var <= origin.max)",
        "What no iteration will read is prefetched.",
        _TESTS,
    ),
    Mutant(
        "last-line-left-out",
        "backend/lowering/prefetch.py",
        "(high - low + step - 1) / step + 1",
        "(high - low + step - 1) / step",
        "The line that holds the last value is not prefetched.",
        _TESTS,
    ),
    Mutant(
        "readers-outside-the-loop",
        "spaces/model/nest/placement.py",
        "path.index(place) + 1)",
        "path.index(place))",
        "What all iterations of the loop read is prefetched in each.",
        _TESTS,
    ),
    Mutant(
        "clamped-to-the-first",
        "spaces/model/nest/prefetching.py",
        "later = fn.min(later, origin.max)",
        "later = fn.min(later, origin.min)",
        "Past the end what the first iteration has read is prefetched.",
        _TESTS,
    ),
    Mutant(
        "prefetched-before-it-is-stored",
        "spaces/constraints/rules/prefetches.py",
        "if place not in _stored(records, one.target):",
        "if place in _stored(records, one.target):",
        "What is stored inside the loop may be prefetched at its beginning, and nothing else.",
        ("tests/constraints/test_rules.py",),
    ),
    Mutant(
        "prefetched-around-kernels",
        "spaces/constraints/rules/prefetches.py",
        "if place in inside and set(GPU_KINDS)",
        "if place == inside and set(GPU_KINDS)",
        "The host is to prefetch where it launches kernels.",
        ("tests/backend/cuda/test_gpu_prefetch.py",),
    ),
)
