"""Bugs in the limits of values, and in one end of an interval that is found without the other."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_VALUES = ("tests/model/test_value_bounds.py",)
_REGIONS = ("tests/model/test_regions.py",)

LIMITS = (
    Mutant(
        "values-of-the-first-component",
        "spaces/model/nest/values.py",
        "call.target)[call.component or 0]",
        "call.target)[0]",
        "Every component of a Tuple has the limits of the first.",
        _VALUES,
    ),
    Mutant(
        "values-before-updates",
        "spaces/model/nest/values.py",
        "if not function.is_pure or conditions or is_undefined:",
        "if is_undefined:",
        "Updates are taken to leave values within their first limits.",
        _VALUES,
    ),
    Mutant(
        "values-where-none-are-given",
        "spaces/model/nest/values.py",
        "or conditions or is_undefined",
        "or is_undefined",
        "What lies in memory is taken to be within the limits of values given elsewhere.",
        _VALUES,
    ),
    Mutant(
        "cases-unknown-to-values",
        "spaces/model/nest/values.py",
        "for condition in (*(p.condition for p in pipeline.promises), *assumptions):",
        "for condition in (*(p.condition for p in pipeline.promises),):",
        "Limits of values do not know the case that a schedule is specialized for.",
        (*_VALUES, "tests/backend/halide/test_specialize.py"),
    ),
    Mutant(
        "promises-unknown-to-values",
        "spaces/model/nest/values.py",
        "for condition in (*(p.condition for p in pipeline.promises), *assumptions):",
        "for condition in assumptions:",
        "Limits of values do not know what a pipeline promises.",
        (*_VALUES, "tests/backend/test_constraints.py"),
    ),
    Mutant(
        "least-of-those-known",
        "spaces/model/formulas/regions.py",
        "if not known or (expr.name == end and len(known) < len(found)):",
        "if not known:",
        "The lower end of a minimum is that of the operands of which it is known.",
        _REGIONS,
    ),
    Mutant(
        "ends-of-negative-terms",
        "spaces/model/formulas/regions.py",
        "end if coefficient > 0 else _OTHER[end]",
        "end",
        "One end of a difference takes the same end of both.",
        _REGIONS,
    ),
    Mutant(
        "one-end-of-what-is-read",
        "spaces/model/formulas/regions.py",
        "if expr.loads or expr in self._done or depth == _MOST_DEPTH:",
        "if expr in self._done or depth == _MOST_DEPTH:",
        "One end of a sum of what is read is found although the other shows that it may wrap.",
        (*_REGIONS, "tests/constraints/proofs/test_data.py"),
    ),
)
