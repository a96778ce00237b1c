"""Bugs in the replay of counterexamples, and in what mends schedules."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_REPLAY = (
    "tests/backend/replay/test_orders.py",
    "tests/backend/replay/test_replay.py",
)
_REPAIR = ("tests/constraints/test_repair.py",)
_SIZES = ("tests/constraints/test_preconditions.py",)

REPLAY = (
    Mutant(
        "never-descending",
        "backend/replay/orders.py",
        "for task in reversed(tasks):",
        "for task in tasks:",
        "Concurrent iterations are never run the other way round.",
        _REPLAY,
    ),
    Mutant(
        "owners-not-compared",
        "backend/replay/memory.py",
        "elif cell.owner != at:",
        "elif cell.owner != at and not self.folds:",
        "A value that another has overwritten in its place is read unseen.",
        _REPLAY,
    ),
    Mutant(
        "readers-forgotten",
        "backend/replay/memory.py",
        "cell.readers[path] = None",
        "cell.readers.clear()",
        "What is read and written at once is seen only where the write came first.",
        _REPLAY,
    ),
    Mutant(
        "one-beyond-the-storage",
        "backend/replay/memory.py",
        "if not low <= x < low + extent:",
        "if not low <= x <= low + extent:",
        "What lies just beyond an allocation counts as inside.",
        _REPLAY,
    ),
    Mutant(
        "missing-values-are-right",
        "backend/replay/run.py",
        "if found is None or not (",
        "if found is not None and not (",
        "What was never computed counts as right.",
        _REPLAY,
    ),
    Mutant(
        "loops-that-end-still-race",
        "backend/replay/memory.py",
        "if loop != other_loop:\n            return False",
        "if loop != other_loop:\n            return True",
        "What a loop that has ended did counts as done at the same time.",
        _REPLAY,
    ),
)

REPAIR = (
    Mutant(
        "distances-not-absolute",
        "spaces/constraints/repairs/factors.py",
        "np.abs(np.log2(menu / slot.base))",
        "np.log2(menu / slot.base)",
        "Smaller factors are nearer than the present one.",
        _REPAIR,
    ),
    Mutant(
        "repairs-not-verified",
        "spaces/constraints/repairs/factors.py",
        "candidates = np.where(mask, distance, np.inf)",
        "candidates = np.where(mask | True, distance, np.inf)",
        "Factors are looked for among illegal ones, too, and given up.",
        _REPAIR,
    ),
    Mutant(
        "only-doubled-factors",
        "spaces/constraints/repairs/factors.py",
        "numbers = {*range(1, reach + 1), *near, *powers} - {slot.factor}",
        "numbers = {*powers} - {slot.factor}",
        "Factors between the powers of two are not tried.",
        _REPAIR,
    ),
)

SEARCH = (
    Mutant(
        "near-is-nearest",
        "spaces/constraints/repairs/repair.py",
        'return Repair("near", nearer.after,',
        'return Repair("nearest", nearer.after,',
        "A repair that was found in a hurry is told as the nearest.",
        _REPAIR,
    ),
    Mutant(
        "unknown-is-none",
        "spaces/constraints/repairs/repair.py",
        'return Repair("unknown", None, exhausted=exhausted)',
        'return Repair("none", None, exhausted=exhausted)',
        "That the time was up is told as that there is no repair.",
        _REPAIR,
    ),
    Mutant(
        "one-edit-more-than-loops",
        "spaces/constraints/repairs/search.py",
        "-(-len(named) // _LOOPS_AN_EDIT_CHANGES)",
        "1 + len(named)",
        "More edits are taken to be needed than there are loops at fault.",
        _REPAIR,
    ),
    Mutant(
        "readers-are-not-edited",
        "spaces/constraints/repairs/search.py",
        "Support(frozenset({func}) | self._readers_of(func), ranks=ranks)",
        "Support(frozenset({func}), ranks=ranks)",
        "What is wrong with a level is not mended at the Funcs that read it.",
        _REPAIR,
    ),
    Mutant(
        "directly-affected-only",
        "spaces/constraints/partial.py",
        "while found != before:",
        "if found != before:",
        "Rules are asked of Funcs whose consumers' consumers are wrong.",
        (
            "tests/constraints/test_boundaries.py",
            "tests/constraints/test_verify.py",
        ),
    ),
    Mutant(
        "sizes-of-calls-unchecked",
        "backend/preconditions.py",
        "    if refusals:\n",
        "    if len(refusals) > 1:\n",
        "A call is accepted that breaks one precondition.",
        ("tests/backend/test_arguments.py", "tests/constraints/test_preconditions.py"),
    ),
)

PRECONDITIONS = (
    Mutant(
        "limits-wrap",
        "spaces/model/formulas/polynomial.py",
        "if Int32.holds(number):",
        "if number is not None:",
        "A limit that int32 does not hold is another one, below zero.",
        ("tests/constraints/test_size_forms.py",),
    ),
    Mutant(
        "strict-preconditions",
        "spaces/constraints/size_forms.py",
        '"ge": ((1, 0),),',
        '"ge": ((1, 1),),',
        "A size that is just large enough is refused.",
        _SIZES,
    ),
    Mutant(
        "quotients-cleared-too-far",
        "spaces/constraints/size_forms.py",
        "rest.scaled(divisor) + Polynomial.of(divisor - 1) - n",
        "rest.scaled(divisor) + Polynomial.of(divisor) - n",
        "n / c <= k is taken to hold for n = k * c + c.",
        _SIZES,
    ),
    Mutant(
        "either-of-two-conditions",
        "spaces/constraints/size_forms.py",
        '(atom.name == "min") == (factor > 0)',
        '(atom.name == "min") != (factor > 0)',
        "Both operands of a maximum must be large, one of a minimum.",
        _SIZES,
    ),
    Mutant(
        "multiples-with-a-rest",
        "spaces/constraints/size_forms.py",
        "divisor - 1 - surplus),)",
        "divisor - surplus),)",
        "A size that is one off a multiple is accepted.",
        _SIZES,
    ),
    Mutant(
        "many-parts-of-conditions",
        "spaces/constraints/size_forms.py",
        "if self._parts_of(sum) > _MOST_PARTS:",
        "if False:",
        "A condition is taken apart into more parts than anybody reads.",
        (*_SIZES, "tests/constraints/test_size_forms.py"),
    ),
    Mutant(
        "parts-of-other-extremes",
        "spaces/constraints/size_forms.py",
        'has_all = (atom.name == "min") == is_added and _is_extreme(atom)',
        'has_all = (atom.name == "max") == is_added and _is_extreme(atom)',
        "The cases are counted of maxima where those of minima become conditions.",
        (*_SIZES, "tests/constraints/test_size_forms.py"),
    ),
    Mutant(
        "strides-in-preconditions",
        "spaces/constraints/preconditions.py",
        "if not _is_about_strides(r))",
        "if True)",
        "What hangs on strides, of which nobody knows before the call, is told as a "
        "condition on sizes.",
        (*_SIZES, "tests/backend/halide/test_specialize.py"),
    ),
)

MUTANTS = (*REPLAY, *REPAIR, *SEARCH, *PRECONDITIONS)
