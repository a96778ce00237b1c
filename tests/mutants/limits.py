"""Bugs in the limits of values, and in one end of an interval that is found without the other."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_VALUES = ("test_value_bounds.py",)
_REGIONS = ("test_regions.py",)

LIMITS = (
    Mutant(
        "values-of-the-first-component",
        "ValueBounds.__call__",
        "call.component or 0",
        "0",
        "Every component of a Tuple has the limits of the first.",
        _VALUES,
    ),
    Mutant(
        "values-before-updates",
        "_values",
        "not function.is_pure or conditions or is_undefined",
        "is_undefined",
        "Updates are taken to leave values within their first limits.",
        _VALUES,
    ),
    Mutant(
        "values-where-none-are-given",
        "_values",
        "not function.is_pure or conditions or is_undefined",
        "not function.is_pure or is_undefined",
        "What lies in memory is taken to be within the limits of values given elsewhere.",
        _VALUES,
    ),
    Mutant(
        "cases-unknown-to-values",
        "_find",
        "(*(p.condition for p in pipeline.promises), *assumptions)",
        "(*(p.condition for p in pipeline.promises),)",
        "Limits of values do not know the case that a schedule is specialized for.",
        (*_VALUES, "test_specialize.py"),
    ),
    Mutant(
        "promises-unknown-to-values",
        "_find",
        "(*(p.condition for p in pipeline.promises), *assumptions)",
        "assumptions",
        "Limits of values do not know what a pipeline promises.",
        (*_VALUES, "test_constraints.py"),
    ),
    Mutant(
        "least-of-those-known",
        "Ranges._found_end",
        "not known or expr.name == end and len(known) < len(found)",
        "not known",
        "The lower end of a minimum is that of the operands whose end is known.",
        _REGIONS,
    ),
    Mutant(
        "ends-of-negative-terms",
        "Ranges._end_of_sum",
        "end if coefficient > 0 else _OTHER[end]",
        "end",
        "One end of a difference takes the same end of both.",
        _REGIONS,
    ),
    Mutant(
        "one-end-of-what-is-read",
        "Ranges._end",
        "expr.loads or expr in self._done or depth == _MOST_DEPTH",
        "expr in self._done or depth == _MOST_DEPTH",
        "One end of a sum of what is read is found although the other shows that it may wrap.",
        (*_REGIONS, "test_data.py"),
    ),
)
