"""Bugs that composed pipelines found, and bugs in the gate that draws them."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FOUND = ("tests/gate/test_regressions.py",)
_DRAWING = ("tests/gate/test_drawing.py",)

DRAWN = (
    Mutant(
        "numbers-beyond-int32",
        "spaces/model/formulas/simplify.py",
        "return Int32.holds(form.offset)",
        "return True",
        "What moves out of a minimum leaves a number that int32 does not hold.",
        _FOUND,
    ),
    Mutant(
        "hoisted-around-kernels",
        "backend/lowering/gpu/kernels.py",
        "if statement.within not in hoisted:",
        "if False:",
        "Storage of the host lies in memory that only the device has.",
        _FOUND,
    ),
    Mutant(
        "every-call-refused",
        "spaces/constraints/rules/specializations.py",
        "never = fails and all(case.failure for case in cases(records.schedule))",
        "never = False",
        "A schedule that refuses every call is legal until its cases are put together.",
        _FOUND,
    ),
    Mutant(
        "mirrored-for-negated",
        "tests/gate/constructs.py",
        'yield "mirrored" if rest else "negated"',
        'yield "negated"',
        "Coordinates that are mirrored count as negated.",
        _DRAWING,
    ),
)
