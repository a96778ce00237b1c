"""Bugs in what wraps and what does not: numbers of narrow types, and what is read."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_READ = ("test_narrow_readings.py",)
_DATA = (
    "test_data.py",
    "test_data_indices.py",
)
_PROMISED = ("test_promises.py",)
_ARGUMENTS = ("test_gpu_pipelines.py",)

WRAPPING = (
    Mutant(
        "narrow-numbers-never-wrap",
        "_may_wrap",
        "not node.type.is_bool and node.name in _WRAPPING",
        "False",
        "A formula takes the numbers of all types for integers.",
        _READ,
    ),
    Mutant(
        "data-taken-for-coordinates",
        "VariableRanges._never_wraps",
        "not is_data or Int32.holds(low) and Int32.holds(high)",
        "True",
        "Sums of what is read are simplified as if none wrapped.",
        _DATA,
    ),
    Mutant(
        "regions-of-wrapped-ends",
        "Ranges._sum",
        "node.loads and self._may_wrap(self.simplify.polynomial(node), terms)",
        "False",
        "A sum of what is read has limits although it may wrap.",
        _DATA,
    ),
    Mutant(
        "scaled-by-coordinates",
        "Ranges._may_wrap",
        "is_open or is_scaled",
        "is_open",
        "What is read times a coordinate has limits although it may wrap.",
        _DATA,
    ),
    Mutant(
        "known-from-one-side",
        "Ranges._may_wrap",
        "is_open or is_scaled",
        "is_scaled",
        "A sum with one unknown end has limits although it may wrap.",
        _DATA,
    ),
    Mutant(
        "assumed-limits-wrap",
        "_limit",
        "Polynomial.of(rest // -slope).expr()",
        "constant(rest // -slope, Int32)",
        "A limit beyond int32 that a condition gives a size is another one.",
        _PROMISED,
    ),
    Mutant(
        "indices-unwrapped",
        "wrapping",
        "not (is_sum and node.loads)",
        "True",
        "Compiled coordinates have more bits than the numbers that they are calculated from.",
        _DATA,
    ),
    Mutant(
        "promises-overflow",
        "arguments:holds",
        "not is_comparison",
        "True",
        "A call is asked for what it promises in int32 arithmetic, which overflows.",
        _PROMISED,
    ),
    Mutant(
        "cases-overflow",
        "Expressions.condition",
        "self._is_fixed(expr) and not expr.has_floats",
        "False",
        "Compiled code chooses the case of a call in arithmetic of 64 bits, which overflows.",
        ("test_exact_conditions.py",),
    ),
    Mutant(
        "types-without-room",
        "VariableRanges._data_range",
        "isinstance(atom, Cast) and atom.type.holds_all(atom.value.type)",
        "isinstance(atom, Cast)",
        "A conversion to a narrower type is taken to keep the number.",
        _DATA,
    ),
    Mutant(
        "smallest-quotient-wraps",
        "Opaque._is_exact_quotient",
        'node.name != "div" or not node.loads',
        "node.name",
        "The smallest int32 by -1 is an integer beyond int32.",
        _DATA,
    ),
    Mutant(
        "smallest-magnitude-wraps",
        "Opaque._is_exact_magnitude",
        "value.type == Int32 and not (value.loads and self._ranges.of(value).min is None)",
        "value.type == Int32",
        "The magnitude of the smallest int32 is an integer beyond int32.",
        _DATA,
    ),
    Mutant(
        "sums-of-data-are-integers",
        "Opaque._sum",
        "not self._simplify.never_wrap(form) and self._ranges.of(node) == UNBOUNDED",
        "False",
        "Proofs take a sum of what is read for an integer that does not wrap.",
        _DATA,
    ),
    Mutant(
        "conversions-to-conditions",
        "_convert",
        "value % 2",
        "value",
        "The solver takes every number but 0 for true, where its last bit counts.",
        _READ,
    ),
    Mutant(
        "powers-end-at-63",
        "_power",
        "1 << 64",
        "1",
        "The solver shifts by 64 and more as by nothing.",
        _READ,
    ),
    Mutant(
        "fractions-are-whole",
        "whole_numbers",
        "value // 1",
        "value",
        "Formulas calculate with the whole part of a fraction, and with infinity.",
        _ARGUMENTS,
    ),
)
