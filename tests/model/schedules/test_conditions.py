"""Conditions as text: operators on bits of sizes and parameters are read as they are written."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.definitions import DERIVED, RANDOM, REQUIRE
from spaces.model.expressions.expr import Expr, Op, Variable, cast, compare, constant, walk
from spaces.model.expressions.types import Float32, Int32, Type, UInt8, UInt16, UInt32
from spaces.model.formulas.algebra import evaluate
from spaces.model.schedules.conditions import (
    ConditionError,
    format_condition,
    negation,
    read_condition,
)
from spaces.model.writing.text import format_schedule, parse_schedule
from tests.every_operator import OPERATORS, TYPES, Form, forms

X = Var("x")
K, W = Variable(UInt16, "k"), Variable(Int32, "input.extent.0")

image, k, out = ImageParam(UInt8, 1, "input"), Param(UInt16, "k"), Func("out")
out[X] = image[X] + cast(UInt8, k)
ALGORITHM = pipeline(out)

CONDITIONS: dict[str, Expr] = {
    "(k & 3) == 1": (K & 3) == 1,
    "((k | 1) ^ 7) > 2": ((K | 1) ^ 7) > 2,
    "(input.dim(0).extent() >> 3) < 9": (W >> 3) < 9,
    "(input.dim(0).extent() << 2) != 8": (W << 2) != 8,
    "(~k) > 9": ~K > 9,
    "popcount(k) == 2": fixed.popcount(K) == 2,
    "absd(input.dim(0).extent(), 5) < uint32(k)": fixed.absd(W, 5) < cast("uint32", K),
    "saturating_add(k, 9) > 4": fixed.saturating_add(K, 9) > 4,
    "widening_mul(k, k) > 5": fixed.widening_mul(K, K) > 5,
    "mul_shift_right(k, k, 4) > 3": fixed.mul_shift_right(K, K, 4) > 3,
    "sqrt(float32(k)) > 1.5": fn.sqrt(cast("float32", K)) > 1.5,
    "pow(float64(k), 2.5) > float64(k)": fn.pow(cast("float64", K), 2.5) > cast("float64", K),
    "saturating_cast(uint8, k) > 4": fixed.saturating_cast(UInt8, K) > 4,
    "reinterpret(uint32, input.dim(0).extent()) > 4": fixed.reinterpret(UInt32, W) > 4,
    "mux((k % 3), k, uint16(7), uint16(8)) == 7": fn.mux(K % 3, [K, 7, 8]) == 7,
    "lerp(k, uint16(9), uint8(128)) > 4": fixed.lerp(K, 9, constant(128, UInt8)) > 4,
    "likely((k > 3))": fixed.likely(K > 3),
    "rounding_shift_right(input.dim(0).extent(), 2) > 1": fixed.rounding_shift_right(W, 2) > 1,
}


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions_are_read_as_they_are_written(text: str) -> None:
    condition = CONDITIONS[text]
    assert format_condition(condition) == text
    assert read_condition(text, ALGORITHM) is condition
    special = schedule(ALGORITHM).specialize(condition).vectorize("x", 4).schedule
    assert parse_schedule(format_schedule(special, ALGORITHM), ALGORITHM) == special


CONVERSIONS = ("saturating_cast", "reinterpret")
"""Operators that no function makes of what has their type already."""

PARAMS = {(type, i): Param(type, f"{type}_{i}") for type in TYPES for i in range(3)}
of_params = Func("of_params")
of_params[X] = sum((cast(Int32, p) for p in PARAMS.values()), start=X.as_expr())
OF_PARAMS = pipeline(of_params)


def asked(form: Form, numbers: bool) -> Expr:
    """A condition on an operator over Params, or over numbers but for the first."""
    operands: list[Expr] = [
        constant(1, type) if numbers and i > 0 else Variable(type, PARAMS[type, i].name)
        for i, type in enumerate(form.operands)
    ]
    made = form.of(*operands)
    return made if made.type.is_bool else compare("gt", made, constant(0, made.type))


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("name", [n for n in OPERATORS if n not in (*RANDOM, REQUIRE)])
def test_every_operator_is_read_as_it_is_written(name: str, numbers: bool) -> None:
    built = (f for f in forms(name) if name not in CONVERSIONS or f.operands != (f.result,))
    for form in built:
        condition = asked(form, numbers)
        text = format_condition(condition)
        assert read_condition(text, OF_PARAMS) is condition, (str(form), text)


@pytest.mark.parametrize("name", [*RANDOM, REQUIRE])
def test_what_a_condition_cannot_have_is_refused(name: str) -> None:
    form = forms(name)[0]
    special = schedule(OF_PARAMS).specialize(asked(form, False)).vectorize("x", 4).schedule
    checked = verify(OF_PARAMS, special, device("cpu"))
    assert not checked.legal
    assert [v.rule for v in checked.violations] == ["specialize.condition"]


@pytest.mark.parametrize("text", CONDITIONS)
def test_both_sides_of_a_condition_are_compiled_or_it_is_refused(text: str) -> None:
    special = schedule(ALGORITHM).specialize(CONDITIONS[text]).vectorize("x", 4).schedule
    checked = verify(ALGORITHM, special, device("cpu"))
    names = {n.name for n in walk(CONDITIONS[text]) if isinstance(n, Op)}
    if not checked.legal:
        assert [v.rule for v in checked.violations] == ["specialize.condition"]
        assert "the operator " in checked.violations[0].message
        assert names & set(DERIVED)
        return
    program = compile_cpu(checked)
    data = np.arange(40, dtype=np.uint8)
    for number in (0, 1, 3, 5, 12, 60000):
        found = program.run({"input": data}, {"k": number}, sizes={"out": [40]})["out"]
        np.testing.assert_array_equal(found, data + np.uint8(number % 256))


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
@pytest.mark.parametrize("element", [Int32, Float32], ids=str)
def test_a_condition_or_its_negation_holds(name: str, element: Type) -> None:
    """Also of what is not a number: no order of such holds, but their negations do."""
    a, b = Variable(element, "a"), Variable(element, "b")
    condition = compare(name, a, b)
    numbers = (1, 2) if element is Int32 else (1.0, 2.0, float("nan"))
    for x, y in product(numbers, numbers):
        values = {"a": x, "b": y}
        assert bool(evaluate(negation(condition), values)) is not bool(evaluate(condition, values))


@pytest.mark.parametrize(
    ("terms", "shown"), [(2, "`wrong(z + z)`"), (60, f"`wrong({'z + ' * 13}z…`")]
)
def test_what_no_condition_asks_for_is_shown_in_short(terms: int, shown: str) -> None:
    with pytest.raises(ConditionError) as told:
        read_condition(f"wrong({' + '.join(['z'] * terms)}) > 0", ALGORITHM)
    assert shown in str(told.value)
