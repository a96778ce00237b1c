"""Bugs in sliding windows and in the folding of storage."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ABOUT_WINDOWS = (
    "test_sliding.py",
    "test_loopnest.py",
    "lowering/test_structure.py",
    "lowering/test_passes.py",
    "test_compile.py",
)
"""The tests that are asked about several of these bugs."""

WINDOWS = (
    Mutant(
        "windows-on-trust",
        "_verify",
        "() if left is None else judge(ask_proofs(left), sizes).violations",
        "()",
        "Verify believes the nest that what it keeps is there.",
        ("sliding_windows/test_drawn.py", "test_examples.py"),
    ),
    Mutant(
        "folds-on-trust",
        "undecided",
        "[*sliding(subject), *folding(subject)]",
        "[*sliding(subject)]",
        "Verify believes the nest that folds overwrite nothing too early.",
        ("sliding_windows/test_drawn.py", "test_examples.py"),
    ),
    Mutant(
        "gap-before-the-window",
        "_later",
        "fn.max(low, last + 1)",
        "last + 1",
        "Where a window moves on by more than its width, the gap is computed too.",
        ABOUT_WINDOWS,
    ),
    Mutant(
        "no-warm-up",
        "_by_turns",
        "fn.select(is_first, a, b)",
        "fn.select(is_first, b, b)",
        "The first iteration computes no more than the others.",
        ABOUT_WINDOWS,
    ),
    Mutant(
        "diagonal-windows",
        "windows",
        """
        len(ends) > 1 or dimension in taken or (
            not _may_slide(function, schedule, dimension)
        )
        """,
        "dimension in taken or not _may_slide(function, schedule, dimension)",
        "A window slides along one dimension while another moves too.",
        ABOUT_WINDOWS,
    ),
    Mutant(
        "reshaped-inner-loops",
        "windows",
        "any(_is_reshaped(inner, loop) for inner in between[depth + 1:])",
        "False",
        "A window slides along a loop though the loops inside had other iterations before.",
        ABOUT_WINDOWS,
    ),
    Mutant(
        "windows-move-to-and-fro",
        "windows",
        "all(never_increases(e, loop.var, simplify) for e in ends[dimension])",
        "ends",
        "A window slides downwards though its ends may move back up.",
        ABOUT_WINDOWS,
    ),
    Mutant(
        "windows-with-holes",
        "Bounds._demand",
        "ALWAYS if store_depth < depth else self._runs(*use, depth)",
        "self._runs(*use, depth)",
        "A window that is kept lacks what the stages that did not run would have asked for.",
        ("test_resting_stages.py",),
    ),
    Mutant(
        "fold-one-smaller",
        "_least_folds",
        "extent if widest is None else widest",
        "extent if widest is None else widest - 1",
        "Folded storage keeps one value less than are still to be read.",
        ABOUT_WINDOWS,
    ),
    Mutant(
        "rows-read-again-forgotten",
        "_least_folds",
        "None if revisited else _widest(window, between, whole.simplify)",
        "None if False else _widest(window, between, whole.simplify)",
        "What the next round of an outer loop reads again is overwritten.",
        ABOUT_WINDOWS,
    ),
    Mutant(
        "folded-coordinates-not-wrapped",
        "Layout.index",
        "fold is not None",
        "fold is not None and not self.is_scratch",
        "Coordinates in folded storage are not taken modulo the fold.",
        ("lowering/test_passes.py", "test_compile.py"),
    ),
)
