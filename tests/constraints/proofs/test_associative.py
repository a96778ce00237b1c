"""The operators that partial results are taken for: associative, commutative and with an identity
over all bit-vectors.
"""

import pytest
import z3

from spaces.model.expressions.types import Bool, Int8, Int16, Type, UInt8, UInt16
from spaces.model.schedules.accumulation import ASSOCIATIVE, identity


def applied(operator: str, type: Type, a: z3.BitVecRef, b: z3.BitVecRef) -> z3.BitVecRef:
    less = a < b if type.is_int else z3.ULT(a, b)
    match operator:
        case "add":
            return a + b
        case "mul":
            return a * b
        case "min":
            return z3.If(less, a, b)
        case "max":
            return z3.If(less, b, a)
        case "and" | "bit_and":
            return a & b
        case "bit_xor":
            return a ^ b
        case "saturating_add":
            return z3.If(z3.ULT(a + b, a), z3.BitVecVal(type.max_value, type.bits), a + b)
    return a | b


NUMBERS = [(op, t) for op in ("add", "min", "max") for t in (UInt8, Int8, UInt16, Int16)]
BITS = [(op, t) for op in ("bit_and", "bit_or", "bit_xor") for t in (UInt8, Int16)]
MORE = [("mul", UInt8), ("mul", Int8), ("saturating_add", UInt8), ("saturating_add", UInt16)]
CASES = [*NUMBERS, *BITS, *MORE, ("and", Bool), ("or", Bool)]


def test_every_operator_is_proven() -> None:
    assert {operator for operator, _ in CASES} == set(ASSOCIATIVE)


@pytest.mark.parametrize(("operator", "type"), CASES, ids=str)
def test_partial_results_may_be_combined_in_any_order(operator: str, type: Type) -> None:
    x, y, z = z3.BitVecs("x y z", type.bits)
    unit = z3.BitVecVal(int(identity(operator, type).value), type.bits)

    def op(a: z3.BitVecRef, b: z3.BitVecRef) -> z3.BitVecRef:
        return applied(operator, type, a, b)

    for claim in (op(op(x, y), z) == op(x, op(y, z)), op(x, y) == op(y, x), op(unit, x) == x):
        solver = z3.Solver()
        solver.set("timeout", 20_000)
        solver.add(z3.Not(claim))
        assert solver.check() == z3.unsat


def test_a_difference_is_none_of_them() -> None:
    x, y, z = z3.BitVecs("x y z", 8)
    solver = z3.Solver()
    solver.add((x - y) - z != x - (y - z))
    assert solver.check() == z3.sat
    assert "sub" not in ASSOCIATIVE
