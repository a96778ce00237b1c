"""Bugs in tails that keep what other tiles hold."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("tests/backend/halide/test_blends.py",)

MUTANTS = (
    Mutant(
        "shifted-tiles-blend-the-end",
        "spaces/model/nest/traversal.py",
        "within = base - inner <= extent - factor",
        "within = base + inner < extent",
        "What a shifted tile repeats is changed twice, and its own last values never.",
        _TESTS,
    ),
    Mutant(
        "shifted-tiles-blend-one-too-many",
        "spaces/model/nest/traversal.py",
        "within = base - inner <= extent - factor",
        "within = base - inner < extent - factor",
        "The first value of a shifted tile is left to the tile before it.",
        _TESTS,
    ),
    Mutant(
        "blended-tiles-read-less",
        "spaces/model/nest/splits.py",
        "    Tail.PREDICATE_STORES: Tail.ROUND_UP,\n"
        "    Tail.SHIFT_INWARDS_AND_BLEND: Tail.SHIFT_INWARDS,\n"
        "    Tail.ROUND_UP_AND_BLEND: Tail.ROUND_UP,",
        "    Tail.PREDICATE_STORES: Tail.ROUND_UP,\n"
        "    Tail.SHIFT_INWARDS_AND_BLEND: Tail.SHIFT_INWARDS,\n"
        "    Tail.ROUND_UP_AND_BLEND: Tail.GUARD_WITH_IF,",
        "Less is asked of images than whole tiles read.",
        _TESTS,
    ),
    Mutant(
        "blended-tiles-compute-less",
        "spaces/model/nest/splits.py",
        "    Tail.SHIFT_INWARDS_AND_BLEND: Tail.SHIFT_INWARDS,\n"
        "    Tail.ROUND_UP_AND_BLEND: Tail.ROUND_UP,\n}\n\nBLENDING",
        "    Tail.SHIFT_INWARDS_AND_BLEND: Tail.SHIFT_INWARDS,\n"
        "    Tail.ROUND_UP_AND_BLEND: Tail.GUARD_WITH_IF,\n}\n\nBLENDING",
        "There is no room for the whole tiles that are stored.",
        _TESTS,
    ),
    Mutant(
        "blended-by-threads",
        "spaces/constraints/rules/blends.py",
        "_BY_THREADS = (LoopKind.PARALLEL, *GPU_KINDS)",
        "_BY_THREADS = (*GPU_KINDS,)",
        "Threads blend values that others compute.",
        _TESTS,
    ),
)
