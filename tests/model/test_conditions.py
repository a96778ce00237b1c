"""Conditions as text: operators on bits of sizes and parameters are read as they are written."""

from __future__ import annotations

import numpy as np
import pytest

from backend.compile import compile_cpu
from spaces.constraints.devices import device
from spaces.constraints.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.definitions import DERIVED
from spaces.model.expressions.expr import Expr, Op, Variable, cast, walk
from spaces.model.expressions.types import Int32, UInt8, UInt16
from spaces.model.schedules.conditions import format_condition, read_condition
from spaces.model.writing.text import format_schedule, parse_schedule

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
    "rounding_shift_right(input.dim(0).extent(), 2) > 1": fixed.rounding_shift_right(W, 2) > 1,
}


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions_are_read_as_they_are_written(text: str) -> None:
    condition = CONDITIONS[text]
    assert format_condition(condition) == text
    assert read_condition(text, ALGORITHM) is condition
    special = schedule(ALGORITHM).specialize(condition).vectorize("x", 4).schedule
    assert parse_schedule(format_schedule(special, ALGORITHM), ALGORITHM) == special


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
    program = compile_cpu(ALGORITHM, checked)
    data = np.arange(40, dtype=np.uint8)
    for number in (0, 1, 3, 5, 12, 60000):
        found = program.run({"input": data}, {"k": number}, sizes={"out": [40]})["out"]
        np.testing.assert_array_equal(found, data + np.uint8(number % 256))
