"""Bugs in the replay of counterexamples, and in what mends schedules."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_REPLAY = (
    "replay/test_orders.py",
    "replay/test_replay.py",
)
_REPAIR = ("test_repair.py",)
_STATING = ("test_stating.py", *_REPAIR)
_SIZES = ("test_preconditions.py",)

REPLAY = (
    Mutant(
        "never-descending",
        "scheduled",
        "reversed(tasks)",
        "tasks",
        "Concurrent iterations are never run the other way round.",
        _REPLAY,
    ),
    Mutant(
        "owners-not-compared",
        "ReplayBuffer.read",
        "cell.owner != at",
        "cell.owner != at and not self.folds",
        "A value that another has overwritten in its place is read unseen.",
        _REPLAY,
    ),
    Mutant(
        "readers-forgotten",
        "ReplayBuffer.read",
        "cell.readers[path] = None",
        "cell.readers.clear()",
        "What is read and written at once is seen only where the write came first.",
        _REPLAY,
    ),
    Mutant(
        "one-beyond-the-storage",
        "_outside",
        "low <= x < low + extent",
        "low <= x <= low + extent",
        "What lies just beyond an allocation counts as inside.",
        _REPLAY,
    ),
    Mutant(
        "missing-values-are-right",
        "_compared",
        "found is None or not ...",
        "found is not None and not ...",
        "What was never computed counts as right.",
        _REPLAY,
    ),
    Mutant(
        "loops-that-end-still-race",
        "concurrent",
        """
        if loop != other_loop:
            return False
        """,
        """
        if loop != other_loop:
            return True
        """,
        "What a loop that has ended did counts as done at the same time.",
        _REPLAY,
    ),
    Mutant(
        "unset-values-forgotten",
        "ReplayBuffer.read",
        "finding or cell.unset",
        "finding",
        "Values made of unset ones are read unseen.",
        _REPLAY,
    ),
    Mutant(
        "unset-values-not-listed",
        "ReplayBuffer.made_of_unset",
        "cell.unset is not None",
        "cell.unset is None",
        "Outputs made of unset values count as right.",
        _REPLAY,
    ),
    Mutant(
        "unset-values-not-followed",
        "Machine._stored_value",
        "unset[0] if unset else None",
        "None",
        "A store forgets that its value is made of unset ones.",
        _REPLAY,
    ),
    Mutant(
        "unset-values-of-others-stored",
        "Machine._stored_value",
        "name in own and finding.kind is FaultKind.UNWRITTEN",
        "finding.kind is FaultKind.UNWRITTEN",
        "A store may read what another Func has not computed yet.",
        _REPLAY,
    ),
)

REPAIR = (
    Mutant(
        "distances-not-absolute",
        "_distance",
        "np.abs(np.log2(menu / slot.base))",
        "np.log2(menu / slot.base)",
        "Smaller factors are nearer than the present one.",
        _REPAIR,
    ),
    Mutant(
        "repairs-not-verified",
        "_nearest",
        "np.where(mask, distance, np.inf)",
        "np.where(mask | True, distance, np.inf)",
        "Factors are looked for among illegal ones, too, and given up.",
        _REPAIR,
    ),
    Mutant(
        "only-doubled-factors",
        "_menu",
        "{*range(1, reach + 1), *near, *powers}",
        "{*powers}",
        "Factors between the powers of two are not tried.",
        _REPAIR,
    ),
)

STATING = (
    Mutant(
        "edits-of-edits-apart",
        "stating:_joined",
        "joint.size < first.size + second.size",
        "joint.size < 0",
        "An edit is stated, and after it one of what it wrote.",
        _STATING,
    ),
    Mutant(
        "statement-of-two-places",
        "stating:_statement",
        "sum(_count(line.calls, lost) for line in others) == 1",
        "sum(_count(line.calls, lost) for line in others) >= 1",
        "What is to be left out stands at several places of the text.",
        _STATING,
    ),
    Mutant(
        "equal-ends-overlap",
        "stating:_same",
        "most -= start",
        "most -= 0",
        "A directive counts as one that both texts begin with and end with.",
        _STATING,
    ),
    Mutant(
        "added-after-a-func-that-is-added",
        "stating:_statement",
        "not end and not old.adds_func",
        "not end",
        "A directive is added to a Func that another directive adds, as if it were the first Func.",
        _STATING,
    ),
    Mutant(
        "added-in-the-middle",
        "stating:_statement",
        "not end and not old.adds_func",
        "not old.adds_func",
        "A directive before others is reported as one after them.",
        _STATING,
    ),
    Mutant(
        "inlined-off-the-gpu",
        "CallEdits._computes",
        "level.is_inline and self._is_on_gpu",
        "level.is_root and self._is_on_gpu",
        "A repair inlines a Func with GPU loops sooner than it gives it blocks.",
        _REPAIR,
    ),
    Mutant(
        "vectorized-once-more",
        "StageEdits._splits",
        "_is_inside(order, loop)",
        "False",
        "A repair vectorizes a loop from which vectorized lanes are split already.",
        _REPAIR,
    ),
    Mutant(
        "threads-not-turned",
        "StageEdits._turned",
        "kinds != sorted(kinds, key=[*LoopKind].index)",
        "kinds == sorted(kinds, key=[*LoopKind].index)",
        "Blocks inside threads lose one of both.",
        _REPAIR,
    ),
)

SEARCH = (
    Mutant(
        "near-is-nearest",
        "_searched",
        '"near"',
        '"nearest"',
        "A repair from an interrupted search is reported as the nearest.",
        _REPAIR,
    ),
    Mutant(
        "unknown-is-none",
        "_started_over",
        '"unknown"',
        '"none"',
        "A search that ran out of time is reported as one without a repair.",
        _REPAIR,
    ),
    Mutant(
        "one-edit-more-than-loops",
        "least_edits",
        "-(-len(named) // _LOOPS_AN_EDIT_CHANGES)",
        "1 + len(named)",
        "More edits are taken to be needed than there are loops at fault.",
        _REPAIR,
    ),
    Mutant(
        "readers-are-not-edited",
        "Search._support",
        "frozenset({func}) | self._readers_of(func)",
        "frozenset({func})",
        "What is wrong with a level is not mended at the Funcs that read it.",
        _REPAIR,
    ),
    Mutant(
        "directly-affected-only",
        "_affected",
        """
        while found != before:
            before = set(found)
            for group in groups(schedule):
                if not found.isdisjoint(group):
                    found.update(group)
            for function in reversed(pipeline.functions):
                if function.name in found:
                    found.update(known.intersection(function.callees))
        """,
        """
        if found != before:
            before = set(found)
            for group in groups(schedule):
                if not found.isdisjoint(group):
                    found.update(group)
            for function in reversed(pipeline.functions):
                if function.name in found:
                    found.update(known.intersection(function.callees))
        """,
        "Rules are asked of Funcs whose consumers' consumers are wrong.",
        (
            "test_boundaries.py",
            "test_verify.py",
        ),
    ),
    Mutant(
        "sizes-of-calls-unchecked",
        "check_sizes",
        """
        if refusals:
            ...
        """,
        """
        if len(refusals) > 1:
            ...
        """,
        "A call is accepted that breaks one precondition.",
        ("test_arguments.py", "test_preconditions.py"),
    ),
)

PRECONDITIONS = (
    Mutant(
        "limits-wrap",
        "_literal",
        "_LEAST <= number <= _MOST",
        "number is not None",
        "A limit that int32 does not hold is another one, below zero.",
        ("test_forms.py",),
    ),
    Mutant(
        "strict-preconditions",
        "_SIGNS",
        "((1, 0),)",
        "((1, 1),)",
        "A size that is just large enough is refused.",
        _SIZES,
    ),
    Mutant(
        "quotients-cleared-too-far",
        "Forms._cleared",
        "Polynomial.of(divisor - 1)",
        "Polynomial.of(divisor)",
        "n / c <= k is taken to hold for n = k * c + c.",
        _SIZES,
    ),
    Mutant(
        "either-of-two-conditions",
        "Forms._at_least_zero",
        '(atom.name == "min") == (factor > 0)',
        '(atom.name == "min") != (factor > 0)',
        "Both operands of a maximum must be large, one of a minimum.",
        _SIZES,
    ),
    Mutant(
        "multiples-with-a-rest",
        "Forms._cleared",
        "divisor - 1 - surplus",
        "divisor - surplus",
        "A size that is one off a multiple is accepted.",
        _SIZES,
    ),
    Mutant(
        "many-parts-of-conditions",
        "Forms._at_least_zero",
        "self._parts_of(sum) > _MOST_PARTS",
        "False",
        "A condition is taken apart into more parts than anybody reads.",
        (*_SIZES, "test_forms.py"),
    ),
    Mutant(
        "parts-of-other-extremes",
        "Forms._cases_of",
        '"min"',
        '"max"',
        "The cases are counted of maxima where those of minima become conditions.",
        (*_SIZES, "test_forms.py"),
    ),
    Mutant(
        "strides-in-preconditions",
        "size_preconditions",
        "not _is_about_strides(r)",
        "True",
        "What hangs on strides, of which nobody knows before the call, is told as a "
        "condition on sizes.",
        (*_SIZES, "test_specialize.py"),
    ),
)

MUTANTS = (*REPLAY, *REPAIR, *STATING, *SEARCH, *PRECONDITIONS)
