"""Instructions of the host for sums and products of int16, at the ends of the type."""

from __future__ import annotations

import re

import numpy as np
import pytest

from spaces.backend.compile import CompiledPipeline, compile_cpu
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.machine_code import host_target
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.integer_functions import rounding_mul_shift_right, widening_mul
from spaces.model.expressions.types import Int16, Int32
from spaces.model.writing.text import parse_schedule

X = Var("x")
S, T = ImageParam(Int16, 1, "s"), ImageParam(Int16, 1, "t")
ENDS = np.array([-32768, 32767, 0, 1, -1, 16384, -16384, 181, 23170, -23170], np.int16)
A, B = np.repeat(ENDS, 10), np.tile(ENDS, 10)
IS_X86 = host_target().triple.startswith("x86_64")


def compiled(value: Expr, lanes: int) -> CompiledPipeline:
    f = Func("f")
    f[X] = value
    algorithm = pipeline(f)
    schedule = parse_schedule(f"f.vectorize(x, {lanes})", algorithm)
    return compile_cpu(verify(algorithm, schedule, device("cpu")))


def uses(program: CompiledPipeline, instruction: str) -> bool:
    return bool(re.search(rf"\bv?{instruction}\b", program.assembly()))


@pytest.mark.parametrize("lanes", [1, 4, 8, 16, 32])
def test_rounded_products_saturate_at_the_one_that_is_too_large(lanes: int) -> None:
    value = rounding_mul_shift_right(S[X], T[X], 15)
    program = compiled(value, lanes) if lanes > 1 else compiled(value, 2)
    exact = [min((int(a) * int(b) + (1 << 14)) >> 15, 32767) for a, b in zip(A, B, strict=True)]
    found = program.run({"s": A, "t": B}, sizes={"f": [100]})["f"]
    assert found.tolist() == exact
    assert uses(program, "pmulhrsw") == (lanes in (8, 16) and IS_X86) or lanes == 32


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_sums_of_neighboring_products_wrap(lanes: int) -> None:
    plain = cast(Int32, S[2 * X]) * cast(Int32, T[2 * X])
    value = plain + widening_mul(S[2 * X + 1], T[2 * X + 1])
    program = compiled(value, lanes)
    products = A.astype(np.int64) * B.astype(np.int64)
    exact = (products[0::2] + products[1::2]).astype(np.int32)
    assert exact.size == 50
    found = program.run({"s": A, "t": B}, sizes={"f": [50]})["f"]
    np.testing.assert_array_equal(found, exact)
    assert uses(program, "pmaddwd") == IS_X86 or lanes == 16


def test_other_sums_of_products_are_not_taken_for_them() -> None:
    """Odd lanes first, lanes further apart, and products of other places."""
    wide = [np.asarray(v, np.int64) for v in (A, B)]
    for first, second in (((0, 0), (2, 3)), ((1, 0), (0, 1)), ((0, 1), (1, 1))):
        value = sum_of(first, second)
        found = compiled(value, 8).run({"s": A, "t": B}, sizes={"f": [40]})["f"]
        places = 2 * np.arange(40)
        exact = sum(wide[0][places + i] * wide[1][places + j] for i, j in (first, second))
        np.testing.assert_array_equal(found, exact.astype(np.int32))


def sum_of(first: tuple[int, int], second: tuple[int, int]) -> Expr:
    parts = [cast(Int32, S[2 * X + i]) * cast(Int32, T[2 * X + j]) for i, j in (first, second)]
    return parts[0] + parts[1]


def test_twice_the_even_lanes_is_not_a_sum_of_neighbors() -> None:
    value = sum_of((0, 0), (0, 0)) + cast(Int32, S[2 * X + 1]) + cast(Int32, T[2 * X + 1])
    found = compiled(value, 8).run({"s": A, "t": B}, sizes={"f": [40]})["f"]
    s, t = (np.asarray(v[:80], np.int64) for v in (A, B))
    exact = 2 * s[0::2] * t[0::2] + s[1::2] + t[1::2]
    np.testing.assert_array_equal(found, exact.astype(np.int32))
