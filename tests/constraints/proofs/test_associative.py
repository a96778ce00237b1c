"""The operators that combine partial results are associative and commutative and have an identity,
over all bit-vectors.
"""

import pytest
import z3

from spaces.model.expressions.expr import Variable
from spaces.model.expressions.types import Bool, Int8, Int16, Int32, Type, UInt8, UInt16
from spaces.model.formulas.smt import term
from spaces.model.schedules.reductions.accumulation import accumulation
from spaces.model.schedules.reductions.associative import ASSOCIATIVE, identity
from tests.model.schedules.test_rfactor_tuples import FORMS, reduced


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


@pytest.mark.parametrize("name", FORMS)
def test_what_changes_together_is_associative(name: str) -> None:
    """As polynomials over all whole numbers, and so modulo any power of two."""
    found = accumulation(reduced(name, Int32).function("f"), 1)
    assert found is not None
    count = len(found.identities)
    x, y, z = ([Variable(Int32, f"{v}{n}") for n in range(count)] for v in "xyz")
    left = found.combined(found.combined(x, y), z)
    right = found.combined(x, found.combined(y, z))
    equal = [*zip(left, right, strict=True)]
    equal += zip(found.combined(x, y), found.combined(y, x), strict=True)
    equal += zip(found.combined(found.identities, y), y, strict=True)
    equal += zip(found.combined(x, found.identities), x, strict=True)
    numbers = {v.name: z3.Int(v.name) for v in (*x, *y, *z)}
    for a, b in equal:
        difference = z3.simplify(
            term(a, numbers, z3.main_ctx()) - term(b, numbers, z3.main_ctx()), som=True
        )
        assert z3.is_int_value(difference)
        assert difference.as_long() == 0


def test_a_difference_is_none_of_them() -> None:
    x, y, z = z3.BitVecs("x y z", 8)
    solver = z3.Solver()
    solver.add((x - y) - z != x - (y - z))
    assert solver.check() == z3.sat
    assert "sub" not in ASSOCIATIVE
