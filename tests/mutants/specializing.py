"""Bugs in what becomes of specialized schedules."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("tests/backend/halide/test_specialize.py",)

SPECIALIZING = (
    Mutant(
        "no-case-is-asked-for",
        "backend/lowering/cases.py",
        "body = If(_all(program.assumptions), program.body, body)",
        "body = If(_all(program.assumptions), body, program.body)",
        "The program of a case runs where it is not the case.",
        _TESTS,
    ),
    Mutant(
        "requirements-of-all-cases",
        "backend/lowering/cases.py",
        "else Requirement(implied(program.assumptions, one.condition), one.message)",
        "else one",
        "What one case requires is required in all.",
        _TESTS,
    ),
    Mutant(
        "rules-of-all-cases",
        "spaces/constraints/verify.py",
        "holds = implied(case.bounds.assumptions, one.condition)",
        "holds = one.condition",
        "What the rules require in one case is required in all.",
        _TESTS,
    ),
    Mutant(
        "less-is-not-more",
        "spaces/model/schedules/conditions.py",
        '"lt": "ge", "le": "gt"',
        '"lt": "gt", "le": "gt"',
        "Where a size is not below a number it is taken to be above it.",
        _TESTS,
    ),
    Mutant(
        "limits-rounded-the-other-way",
        "spaces/model/schedules/conditions.py",
        "least = constant(-(rest // slope), Int32)",
        "least = constant(-rest // slope + 1, Int32)",
        "A size is believed to be larger than a condition says.",
        _TESTS,
    ),
    Mutant(
        "later-conditions-first",
        "spaces/model/schedules/cases.py",
        "first, *others = func.specializations",
        "*others, first = func.specializations",
        "Of several conditions that hold the last counts.",
        _TESTS,
    ),
    Mutant(
        "specializations-begin-anew",
        "spaces/model/directives/directives.py",
        "Specialization(self.stage, condition, self._order, failure)",
        "Specialization(self.stage, condition, self._func.stages[0], failure)",
        "A specialization begins as the pure stage is, whatever is specialized.",
        _TESTS,
    ),
)
