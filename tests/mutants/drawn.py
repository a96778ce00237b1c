"""Bugs that composed pipelines found, and bugs in the fuzzer that draws them."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FOUND = ("test_regressions.py",)
_DRAWING = ("test_drawing.py",)

DRAWN = (
    Mutant(
        "numbers-beyond-int32",
        "_fits",
        "Int32.holds(form.offset)",
        "True",
        "What moves out of a minimum leaves a number that int32 does not hold.",
        ("test_simplify.py", *_FOUND),
    ),
    Mutant(
        "hoisted-around-kernels",
        "_with_own_memory",
        "statement.within not in hoisted",
        "False",
        "Storage of the host lies in memory that only the device has.",
        _FOUND,
    ),
    Mutant(
        "every-call-refused",
        "failure",
        "fails and all(case.failure for case in cases(records.schedule))",
        "False",
        "A schedule that refuses every call is legal until its cases are put together.",
        _FOUND,
    ),
    Mutant(
        "mirrored-for-negated",
        "_forms",
        '"mirrored" if rest else "negated"',
        '"negated"',
        "Coordinates that are mirrored count as negated.",
        _DRAWING,
    ),
    Mutant(
        "no-levels-inside-levels",
        "_of_nested_levels",
        "reader.compute.is_inline or reader.compute.is_root",
        "True",
        "What is computed in loops of a Func that is itself in a loop is not counted.",
        _DRAWING,
    ),
    Mutant(
        "writes-beside-outputs-unseen",
        "Placed.is_touched_elsewhere",
        "(self._memory.view(np.uint8) != _CANARY).any()",
        "False",
        "What compiled code writes beside an output is not seen.",
        _DRAWING,
    ),
    Mutant(
        "refutations-are-ignored",
        "differential.check:_proven",
        "report.refuted",
        "()",
        "A legal schedule that `prove` refutes passes.",
        ("test_differential.py",),
    ),
)
