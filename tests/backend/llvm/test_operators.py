"""Operators of integers, compiled for vectors, at the ends of types, and the host's instructions
for them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.types import Int8, Int32, Type, UInt8, UInt16, UInt64
from spaces.model.writing.serialize import DocumentError, from_json, to_json

X = Var("x")
SIZE = 80
INTEGERS = [Int8, UInt16, Int32, UInt64]

ALWAYS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "shl": operator.lshift,
    "shr": operator.rshift,
    "shl_far": lambda a, b: a << (1 << (a.type.bits - 2)) - 1,
    "shr_far": lambda a, b: a >> (1 << (a.type.bits - 2)) - 1,
    "halving_sub": fixed.halving_sub,
    "rounding_shl": fixed.rounding_shift_left,
    "rounding_shr": fixed.rounding_shift_right,
    "saturating_add": fixed.saturating_add,
    "saturating_sub": fixed.saturating_sub,
    "leading": lambda a, b: fixed.count_leading_zeros(a),
}
NARROW: dict[str, Callable[[Expr, Expr], Expr]] = {
    "widened_shl": fixed.widening_shift_left,
    "widened_shr": fixed.widening_shift_right,
    "rounded": lambda a, b: fixed.rounding_mul_shift_right(a, b, a.type.bits - 1),
    "lerp": lambda a, b: fixed.lerp(a, b, cast(UInt8, a ^ b)),
}


def every_operator(element: Type) -> tuple[Pipeline, dict[str, np.ndarray]]:
    a, b = ImageParam(element, 1, "a"), ImageParam(element, 1, "b")
    funcs = []
    for name, function in (ALWAYS | (NARROW if element.bits <= 32 else {})).items():
        funcs.append(Func(f"of_{name}"))
        funcs[-1][X] = function(a[X], b[X])
    random = np.random.default_rng(element.bits)
    low, high = element.min_value, element.max_value
    ends = np.array([low, high, 0, 1, max(low, -1), high // 2, 7, 3], element.dtype)
    some = random.integers(low, high, SIZE, element.dtype, endpoint=True)
    inputs = {"a": some.copy(), "b": np.roll(some, 1)}
    inputs["a"][:64], inputs["b"][:64] = np.repeat(ends, 8), np.tile(ends, 8)
    return pipeline(funcs), inputs


@pytest.mark.parametrize("element", INTEGERS, ids=str)
def test_operators_survive_json(element: Type) -> None:
    algorithm, _ = every_operator(element)
    assert from_json(to_json(algorithm), Pipeline) == algorithm
    text = to_json(algorithm).replace('"op": "saturating_add"', '"op": "mul_shift_right"')
    with pytest.raises(DocumentError, match="mul_shift_right of"):
        from_json(text, Pipeline)


@pytest.mark.parametrize("element", INTEGERS, ids=str)
def test_vectors_have_the_bits_of_the_reference(element: Type) -> None:
    algorithm, inputs = every_operator(element)
    sizes = dict.fromkeys(algorithm.outputs, (SIZE,))
    directives = schedule(algorithm)
    for name in algorithm.outputs:
        directives = directives.func(name).vectorize("x", 16)
    compiled = compile_cpu(verify(algorithm, directives.schedule, device("cpu")))
    found = compiled.run(inputs, sizes=sizes)
    for name, expected in evaluate(algorithm, inputs, sizes=sizes).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name)


INSTRUCTIONS: dict[str, tuple[str, str, Callable[[Expr, Expr], Expr]]] = {
    "pavgb": ("uint8", "pavgb", fixed.rounding_halving_add),
    "pavgw": ("uint16", "pavgw", fixed.rounding_halving_add),
    "paddusb": ("uint8", "paddusb", fixed.saturating_add),
    "psubusw": ("uint16", "psubusw", fixed.saturating_sub),
    "paddsw": ("int16", "paddsw", fixed.saturating_add),
    "psubsb": ("int8", "psubsb", fixed.saturating_sub),
    "pmulhw": ("int16", "pmulhw", lambda a, b: fixed.mul_shift_right(a, b, 16)),
    "pmulhuw": ("uint16", "pmulhuw", lambda a, b: fixed.mul_shift_right(a, b, 16)),
}


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_the_host_has_an_instruction_for_it(name: str) -> None:
    element, instruction, function = INSTRUCTIONS[name]
    a, b, out = ImageParam(element, 1, "a"), ImageParam(element, 1, "b"), Func("out")
    out[X] = function(a[X], b[X])
    algorithm = pipeline(out)
    chosen = schedule(algorithm).vectorize("x", 16).schedule
    compiled = compile_cpu(verify(algorithm, chosen, device("cpu")))
    if "xmm" not in compiled.assembly() and "ymm" not in compiled.assembly():
        pytest.skip("the host is no x86")
    assert instruction in compiled.assembly()
