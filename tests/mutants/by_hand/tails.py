"""Bugs in the tails of splits and in the guards of loops."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

TAILS = (
    Mutant(
        "guard-clips-nothing",
        "_joined",
        "fn.min(high, low + extent - 1)",
        "fn.max(high, low + extent - 1)",
        "A guarded split is taken to compute whole tiles.",
        (
            "test_loopnest.py",
            "test_sliding.py",
            "test_reductions.py",
            "lowering/test_structure.py",
            "lowering/test_passes.py",
            "test_compile.py",
        ),
    ),
    Mutant(
        "last-tile-forgotten",
        "counts:tiles_of",
        "-(-a // b)",
        "a // b",
        "A split by a factor that does not divide leaves out the last tile.",
        ("test_loopnest.py", "test_sliding.py", "test_reductions.py", "lowering/test_structure.py"),
    ),
    Mutant(
        "updates-shift-inwards",
        "_automatic",
        """
        if is_update:
            return Tail.ROUND_UP
        """,
        """
        if is_update:
            return Tail.SHIFT_INWARDS
        """,
        "The last tile of an update is shifted inwards, and updates some values twice.",
        (
            "test_loopnest.py",
            "test_sliding.py",
            "test_reductions.py",
            "lowering/test_structure.py",
            "test_soundness.py",
        ),
    ),
    Mutant(
        "tiles-of-updates-round-up",
        "_tails",
        "is_update and is_inside",
        "is_update and False",
        "Tiles inside a tile of an update go over its end, and update its neighbor twice.",
        (
            "test_loopnest.py",
            "test_sliding.py",
            "test_reductions.py",
            "lowering/test_structure.py",
            "test_soundness.py",
        ),
    ),
    Mutant(
        "shifted-tiles-blend-the-end",
        "_undo",
        "base - inner <= extent - factor",
        "base + inner < extent",
        "What a shifted tile repeats is changed twice, and its own last values never.",
        ("test_blends.py",),
    ),
    Mutant(
        "blended-by-threads",
        "blended_by_threads",
        "loop.kind.uses_threads",
        "loop.kind.is_gpu",
        "Threads blend values that others compute.",
        ("test_blends.py",),
    ),
    Mutant(
        "ends-unguarded",
        "_running",
        "not simplify.at_most(loop.max, one.max + one.shift)",
        "False",
        "A fused loop that is shorter runs on to the end of the longer one.",
        (
            "test_compute_with.py",
            "test_fused_chains.py",
            "test_updates_together.py",
            "test_inside_fused_loops.py",
        ),
    ),
    Mutant(
        "first-lane-for-all",
        "_Lanes._in_every_lane",
        "ends[1]",
        "ends[0]",
        "A guard is asked for the first lane only.",
        (
            "test_tails.py",
            "lowering/test_structure.py",
            "lowering/test_passes.py",
            "test_compile.py",
            "test_codegen.py",
        ),
    ),
)
