"""Bugs in what wraps and what does not: numbers of narrow types, and what is read."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_READ = ("tests/constraints/test_narrow_readings.py",)
_DATA = (
    "tests/constraints/proofs/test_data.py",
    "tests/backend/test_data_indices.py",
)
_PROMISED = ("tests/constraints/proofs/test_promises.py",)
_ARGUMENTS = ("tests/backend/cuda/test_gpu_pipelines.py",)

WRAPPING = (
    Mutant(
        "narrow-numbers-never-wrap",
        "spaces/model/formulas/algebra.py",
        "    return not node.type.is_bool and node.name in _WRAPPING",
        "    return False",
        "A formula takes the numbers of all types for integers.",
        _READ,
    ),
    Mutant(
        "data-taken-for-coordinates",
        "spaces/model/formulas/limits.py",
        "        return not is_data or (Int32.holds(low) and Int32.holds(high))",
        "        return True",
        "Sums of what is read are simplified as if none wrapped.",
        _DATA,
    ),
    Mutant(
        "regions-of-wrapped-ends",
        "spaces/model/formulas/regions.py",
        "if node.loads and self._may_wrap(self.simplify.polynomial(node), terms):",
        "if False:",
        "A sum of what is read has limits although it may wrap.",
        _DATA,
    ),
    Mutant(
        "scaled-by-coordinates",
        "spaces/model/formulas/regions.py",
        "(is_data and (is_open or is_scaled))",
        "(is_data and is_open)",
        "What is read times a coordinate has limits although it may wrap.",
        _DATA,
    ),
    Mutant(
        "known-from-one-side",
        "spaces/model/formulas/regions.py",
        "(is_data and (is_open or is_scaled))",
        "(is_data and is_scaled)",
        "A sum of which one end is not known has limits although it may wrap.",
        _DATA,
    ),
    Mutant(
        "believed-limits-wrap",
        "spaces/model/schedules/conditions.py",
        "most = Polynomial.of(rest // -slope).expr()",
        "most = constant(rest // -slope, Int32)",
        "A limit beyond int32 that a condition gives a size is another one.",
        _PROMISED,
    ),
    Mutant(
        "indices-unwrapped",
        "backend/lowering/analyses/data_indices.py",
        "if not (is_sum and node.loads) or",
        "if True or",
        "Compiled coordinates have more bits than the numbers that they are calculated from.",
        _DATA,
    ),
    Mutant(
        "promises-overflow",
        "backend/arguments.py",
        "        if not is_comparison or any(",
        "        if True or any(",
        "A call is asked for what it promises in int32 arithmetic, which overflows.",
        _PROMISED,
    ),
    Mutant(
        "cases-overflow",
        "backend/llvm/expressions.py",
        "if expr.name in COMPARISONS and all(",
        "if expr.name in () and all(",
        "Compiled code chooses the case of a call in int32 arithmetic, which overflows.",
        _PROMISED,
    ),
    Mutant(
        "types-without-room",
        "spaces/model/formulas/limits.py",
        "while isinstance(atom, Cast) and atom.type.holds_all(atom.value.type):",
        "while isinstance(atom, Cast):",
        "A conversion to a narrower type is taken to keep the number.",
        _DATA,
    ),
    Mutant(
        "smallest-quotient-wraps",
        "spaces/constraints/proofs/opaque.py",
        '        if node.name != "div" or not node.loads:\n            return True',
        "        if node.name:\n            return True",
        "The smallest int32 by -1 is an integer beyond int32.",
        _DATA,
    ),
    Mutant(
        "smallest-magnitude-wraps",
        "spaces/constraints/proofs/opaque.py",
        "return value.type == Int32 and not (value.loads and self._ranges.of(value).min is None)",
        "return value.type == Int32",
        "The magnitude of the smallest int32 is an integer beyond int32.",
        _DATA,
    ),
    Mutant(
        "sums-of-data-are-integers",
        "spaces/constraints/proofs/opaque.py",
        "if not self._simplify.never_wrap(form) and self._ranges.of(node) == UNBOUNDED:",
        "if False:",
        "Proofs take a sum of what is read for an integer that does not wrap.",
        _DATA,
    ),
    Mutant(
        "conversions-to-conditions",
        "spaces/model/formulas/smt.py",
        "value if z3.is_bool(value) else value % 2 != 0",
        "value if z3.is_bool(value) else value != 0",
        "The solver takes every number but 0 for true, where its last bit counts.",
        _READ,
    ),
    Mutant(
        "powers-end-at-63",
        "spaces/model/formulas/smt.py",
        "result = z3.IntVal(1 << 64, exponent.ctx)",
        "result = z3.IntVal(1, exponent.ctx)",
        "The solver shifts by 64 and more as by nothing.",
        _READ,
    ),
    Mutant(
        "fractions-are-whole",
        "backend/arguments.py",
        "if value == value // 1}",
        "if value == value}",
        "Formulas calculate with the whole part of a fraction, and with infinity.",
        _ARGUMENTS,
    ),
)
