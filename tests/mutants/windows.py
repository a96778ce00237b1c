"""Bugs in sliding windows and in the folding of storage."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = (
    "test_sliding.py",
    "test_loopnest.py",
    "lowering/test_structure.py",
    "lowering/test_passes.py",
    "test_compile.py",
)

SLIDING = (
    Mutant(
        "one-row-computed-twice",
        "_later",
        "last + 1",
        "last",
        "Each iteration computes again the last row of the one before.",
        _TESTS,
    ),
    Mutant(
        "one-row-never-computed",
        "_later",
        "last + 1",
        "last + 2",
        "Each iteration leaves out the first new row.",
        _TESTS,
    ),
    Mutant(
        "gap-before-the-window",
        "_later",
        "fn.max(low, last + 1)",
        "last + 1",
        "Where a window moves on by more than its width, the gap is computed too.",
        _TESTS,
    ),
    Mutant(
        "no-warm-up",
        "_by_turns",
        "fn.select(is_first, a, b)",
        "fn.select(is_first, b, b)",
        "The first iteration computes no more than the others.",
        _TESTS,
    ),
    Mutant(
        "warm-up-in-the-second-iteration",
        "_by_turns",
        "window.loop.min",
        "window.loop.min + 1",
        "The window is filled in the second iteration.",
        _TESTS,
    ),
    Mutant(
        "turns-confused",
        "_by_turns",
        "((True, a), (False, b))",
        "((False, a), (True, b))",
        "What depends on the first iteration of a loop is taken to be what it is later, and back.",
        _TESTS,
    ),
    Mutant(
        "fold-of-later-turns",
        "_turns",
        "(True, False)",
        "(False,)",
        "Storage is folded to what later iterations need, not the first.",
        _TESTS,
    ),
    Mutant(
        "looking-ahead",
        "_later",
        "loop.var - 1",
        "loop.var + 1",
        "What the next iteration computes counts as there already.",
        _TESTS,
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
        _TESTS,
    ),
    Mutant(
        "one-dimension-slides-twice",
        "windows",
        """
        len(ends) > 1 or dimension in taken or (
            not _may_slide(function, schedule, dimension)
        )
        """,
        "len(ends) > 1 or not _may_slide(function, schedule, dimension)",
        "A dimension slides along an outer loop, too, though an inner one moves it.",
        _TESTS,
    ),
    Mutant(
        "reshaped-inner-loops",
        "windows",
        "any(_is_reshaped(inner, loop) for inner in between[depth + 1:])",
        "False",
        "A window slides along a loop though the loops inside had other iterations before.",
        _TESTS,
    ),
    Mutant(
        "reshaped-nearest-loops",
        "windows",
        "between[depth + 1:]",
        "between[depth + 2:]",
        "Only the ranges of loops further inside decide whether a window slides.",
        _TESTS,
    ),
    Mutant(
        "tails-move-alone",
        "_moving_ends",
        "zip(function.args, required, widened, strict=True)",
        "zip(function.args, widened, widened, strict=True)",
        "Only what tiles reach decides whether a window slides, not what is required.",
        _TESTS,
    ),
    Mutant(
        "tiles-without-overlap-slide",
        "windows",
        "dimension in tiled and not _overlaps(reach, window, simplify)",
        "False",
        "A dimension slides in tiles though no iteration reads what another has read.",
        ("test_space.py", *_TESTS),
    ),
    Mutant(
        "fused-dimensions-slide",
        "_may_slide",
        "not _is_fused(schedule.stages[0], dimension)",
        "True",
        "A dimension slides though one loop runs along it and another.",
        _TESTS,
    ),
    Mutant(
        "windows-move-to-and-fro",
        "windows",
        "all(never_increases(e, loop.var, simplify) for e in ends[dimension])",
        "ends",
        "A window slides downwards though its ends may move back up.",
        _TESTS,
    ),
    Mutant(
        "updates-slide-in-tiles",
        "_may_slide",
        """
        if dimension in divided(order):
            ...
        """,
        "",
        "Tiles of a Func with updates begin anew what an earlier iteration has updated.",
        _TESTS,
    ),
    Mutant(
        "updates-elsewhere-slide",
        "_may_slide",
        "not all(_is_var(args[d], dimension) for args in (stage.args, *own))",
        "not own and stage.args is None",
        "A Func slides though an update writes to fixed rows, again in each iteration.",
        _TESTS,
    ),
    Mutant(
        "downward-windows-compute-one-twice",
        "_later",
        "first - 1",
        "first",
        "Each iteration of a window that moves down computes a row again.",
        _TESTS,
    ),
    Mutant(
        "downward-windows-leave-one-out",
        "_later",
        "first - 1",
        "first - 2",
        "Each iteration of a window that moves down leaves out a row.",
        _TESTS,
    ),
    Mutant(
        "tiles-beyond-a-window-not-stored",
        "slide",
        "live[d] = _live(window, widened[d], reached[d], simplify)",
        "pass",
        "What tiles of a window compute beyond what is read has no place.",
        _TESTS,
    ),
    Mutant(
        "falling-never-by-turns",
        "_first_iteration",
        "falling[later] and simplify.at_most(b, a)",
        "falling[later]",
        "The value of a first iteration may be below that of the second.",
        ("test_simplify.py", *_TESTS),
    ),
    Mutant(
        "outermost-loop-first",
        "windows",
        "reversed(list(enumerate(between)))",
        "list(enumerate(between))",
        "Windows are looked for from the outermost loop inwards.",
        _TESTS,
    ),
    Mutant(
        "rising-differences",
        "_directions",
        "(rising[a] and falling[b], falling[a] and rising[b])",
        "(rising[a] and rising[b], falling[a] and falling[b])",
        "A difference is taken to grow with what is subtracted.",
        ("test_simplify.py", *_TESTS),
    ),
    Mutant(
        "select-never-falls-back",
        "_first_iteration",
        "rising[later] and simplify.at_most(a, b)",
        "rising[later] or simplify.at_most(a, b)",
        "The value of a first iteration may be above that of the second.",
        ("test_simplify.py", *_TESTS),
    ),
)

FOLDING = (
    Mutant(
        "fold-one-smaller",
        "_least_folds",
        "extent if widest is None else widest",
        "extent if widest is None else widest - 1",
        "Folded storage keeps one value less than are still to be read.",
        _TESTS,
    ),
    Mutant(
        "rows-read-again-forgotten",
        "_least_folds",
        "None if revisited else _widest(window, between, whole.simplify)",
        "None if False else _widest(window, between, whole.simplify)",
        "What the next round of an outer loop reads again is overwritten.",
        _TESTS,
    ),
    Mutant(
        "revisits-in-outer-loops",
        "_least_folds",
        "1",
        "2",
        "The loop directly inside a window's is not looked at for rows that are read again.",
        _TESTS,
    ),
    Mutant(
        "widest-window-one-less",
        "_widest",
        "widest.append(most)",
        "widest.append(most - 1)",
        "The widest window of any iteration is taken to hold one value less.",
        _TESTS,
    ),
    Mutant(
        "extent-one-short",
        "_extent",
        "interval.max - interval.min + 1",
        "interval.max - interval.min",
        "The extent of an interval does not count its last value.",
        _TESTS,
    ),
    Mutant(
        "fold-asked-for-ignored",
        "_folds",
        "asked.get(name, fewest if saves else None)",
        "fewest if saves else None",
        "A fold factor that the schedule gives is not used.",
        (*_TESTS, "test_verify.py", "sizes/test_kernels.py"),
    ),
    Mutant(
        "folded-coordinates-not-wrapped",
        "Layout.index",
        "fold is not None",
        "fold is not None and not self.is_scratch",
        "Coordinates in folded storage are not taken modulo the fold.",
        ("lowering/test_passes.py", "test_compile.py"),
    ),
    Mutant(
        "shared-folds-forgotten",
        "_Placer._placed",
        "None if fold is None else size",
        "None",
        "Storage that is folded is not, in shared memory.",
        ("test_gpu_barriers.py", "test_gpu_schedules.py"),
    ),
)
