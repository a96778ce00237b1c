"""Integer operators in coordinates: which leave all obligations decided, and what they become."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import spaces as sp
from spaces import Bool, Expr, Func, ImageParam, Int32, Param, Pipeline, UInt8, UInt32, Var
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.reasoning.opaque import Opaque
from spaces.model.expressions.definitions import expanded
from spaces.model.expressions.expr import Variable
from spaces.model.formulas.algebra import evaluate
from spaces.model.writing.text import parse_schedule

X, Y = Var("x"), Var("y")
NUMBER, FLAG, BYTE = Param(Int32, "number"), Param(Bool, "flag"), Param(UInt8, "byte")

Coordinate = Callable[[Expr, Expr], Expr]

OPERATORS: dict[str, Coordinate] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * 3 - b * 2,
    "div": lambda a, b: a / 3,
    "div by a coordinate": lambda a, b: a / b,
    "mod": lambda a, b: a % 5,
    "mod by a coordinate": lambda a, b: a % b,
    "min": lambda a, b: sp.min(a, b),
    "max": lambda a, b: sp.max(a, b),
    "lt": lambda a, b: sp.i32(a < b),
    "select": lambda a, b: sp.select(a < b, a, b),
    "select, eq": lambda a, b: sp.select(a == b, a, b + 1),
    "select, or": lambda a, b: sp.select((a < b) | (a > 7), a, b),
    "select, not": lambda a, b: sp.select(~(a < b), a, b),
    "select by a number": lambda a, b: sp.select(NUMBER > 0, a, a + 1),
    "select by a flag": lambda a, b: sp.select(FLAG, a, a + 1),
    "bit_and": lambda a, b: a & 7,
    "bit_and of two": lambda a, b: a & b,
    "bit_or": lambda a, b: a | 3,
    "bit_or of two": lambda a, b: a | b,
    "bit_xor": lambda a, b: a ^ 5,
    "bit_xor of two": lambda a, b: a ^ b,
    "bit_not": lambda a, b: ~a,
    "shift_left": lambda a, b: a << 2,
    "shift_right": lambda a, b: a >> 1,
    "shift_right by a coordinate": lambda a, b: a >> sp.clamp(b, 0, 3),
    "count_leading_zeros": lambda a, b: sp.i32(sp.count_leading_zeros(a)),
    "count_trailing_zeros": lambda a, b: sp.i32(sp.count_trailing_zeros(a)),
    "popcount": lambda a, b: sp.i32(sp.popcount(a)),
    "reinterpret": lambda a, b: sp.reinterpret(Int32, sp.reinterpret(UInt32, a)),
    "abs": lambda a, b: sp.i32(sp.abs(a)),
    "absd": lambda a, b: sp.i32(sp.absd(a, b)),
    "cast int8": lambda a, b: sp.i32(sp.i8(a)),
    "cast uint8": lambda a, b: sp.i32(sp.u8(a + b)),
    "cast int16": lambda a, b: sp.i32(sp.i16(a)),
    "cast uint16": lambda a, b: sp.i32(sp.u16(a)),
    "cast uint32": lambda a, b: sp.i32(sp.u32(a)),
    "cast int64": lambda a, b: sp.i32(sp.i64(a) + 1),
    "cast int8 of int64": lambda a, b: sp.i32(sp.i8(sp.i64(a) + b)),
    "saturating_cast int8": lambda a, b: sp.i32(sp.i8_sat(a)),
    "saturating_cast uint8": lambda a, b: sp.i32(sp.u8_sat(a)),
    "extract_bits": lambda a, b: sp.i32(sp.extract_bits("uint8", a, 4)),
    "saturating_add": lambda a, b: sp.saturating_add(a, b),
    "saturating_sub": lambda a, b: sp.saturating_sub(a, b),
    "widening_add": lambda a, b: sp.i32(sp.widening_add(a, b)),
    "widening_sub": lambda a, b: sp.i32(sp.widening_sub(a, b)),
    "widening_mul": lambda a, b: sp.i32(sp.widening_mul(a, 3)),
    "widening_shift_left": lambda a, b: sp.i32(sp.widening_shift_left(a, 2)),
    "halving_add": lambda a, b: sp.halving_add(a, b),
    "halving_sub": lambda a, b: sp.halving_sub(a, b),
    "rounding_halving_add": lambda a, b: sp.rounding_halving_add(a, b),
    "rounding_shift_right": lambda a, b: sp.rounding_shift_right(a, 2),
    "rounding_shift_left": lambda a, b: sp.rounding_shift_left(a, 2),
    "lerp": lambda a, b: sp.i32(sp.lerp(sp.u8(a), sp.u8(b), sp.u8(7))),
    "mux": lambda a, b: sp.mux(a, [b, a, b + 1]),
    "likely": lambda a, b: sp.likely(a),
    "a number": lambda a, b: a + NUMBER,
    "a byte": lambda a, b: a + sp.i32(BYTE),
}

UNDECIDED: dict[str, Coordinate] = {
    # A quotient of coordinates that wraps; a product that is rounded: the solver mostly gives up.
    "extract_bits by a coordinate": lambda a, b: sp.i32(
        sp.extract_bits("uint8", a, sp.clamp(b, 0, 3))
    ),
    "mul_shift_right": lambda a, b: sp.mul_shift_right(a, b, sp.u32(4)),
}


def _read(at: Expr, *, through: bool) -> Pipeline:
    image, g, f = ImageParam(Int32, 1, "image"), Func("g"), Func("f")
    g[X] = image[X]
    f[X, Y] = g[at] if through else image[at]
    return sp.pipeline(f)


def report_of(at: Expr, schedule: str) -> sp.ProofReport:
    """The proofs of a schedule in which ``at`` is a coordinate of an image or a Func."""
    made = _read(at, through=bool(schedule))
    checked = sp.verify(made, parse_schedule(schedule, made), sp.device("cpu"))
    assert isinstance(checked, CheckedSchedule)
    return sp.prove(checked)


def undecided(at: Expr, schedule: str) -> list[str]:
    """What is not proven of such a schedule."""
    proofs = report_of(at, schedule).proofs
    return [p.obligation.statement for p in proofs if not isinstance(p.outcome, sp.Proven)]


@pytest.mark.parametrize("name", OPERATORS)
def test_coordinates_leave_nothing_undecided(name: str):
    at = OPERATORS[name](X, Y)
    assert undecided(at, "") == []
    assert undecided(at, "g.compute_root()") == []
    assert undecided(at, "g.compute_at(f, y)") == []
    assert undecided(sp.clamp(at, 0, 20), "g.compute_root()") == []


@pytest.mark.parametrize("name", UNDECIDED)
def test_other_operators_are_never_refuted(name: str):
    assert not report_of(UNDECIDED[name](X, Y), "").refuted


@pytest.mark.parametrize(
    "name", [n for n in OPERATORS if not n.startswith(("shift_right by", "a b"))]
)
def test_a_formula_has_the_value_of_the_coordinate(name: str):
    a, b = Variable(Int32, "a"), Variable(Int32, "b")
    coordinate = OPERATORS[name](a, b)
    formula = Opaque().formula(expanded(coordinate))
    if not formula.names <= coordinate.names:
        return  # a part of it stands for any value between its limits
    for x in (-70_000, -300, -129, -128, -1, 0, 1, 5, 127, 128, 255, 256, 1000, 65_535, 70_000):
        for y in (-260, -3, 0, 2, 129):
            values = {"a": x, "b": y, "number": 1, "flag": y % 2}
            assert evaluate(formula, values) == evaluate(coordinate, values)


@pytest.mark.parametrize(
    "name", ["cast int8", "cast uint8", "cast int16", "cast int8 of int64", "widening_shift_left"]
)
def test_conversions_of_coordinates_have_a_formula(name: str):
    coordinate = OPERATORS[name](Variable(Int32, "a"), Variable(Int32, "b"))
    assert Opaque().formula(expanded(coordinate)).names <= {"a", "b"}
