"""Every operator of the language over values that are read: Halide gives the values of the
reference.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from spaces import Func, ImageParam, Pipeline, UInt8, UInt64, Var, evaluate, lerp, pipeline
from spaces.backend.halide.errors import LoweringError
from spaces.model.expressions.definitions import RANDOM, REQUIRE
from tests.backend.halide.peer import bridge
from tests.backend.test_every_operator import ROUNDED, SIZE, assert_same, inputs, value
from tests.every_operator import OPERATORS, Form, some
from tests.examples import examples

COMPARED = tuple(
    name for name in OPERATORS if name not in (*RANDOM, REQUIRE) and not name.startswith("fast_")
)
"""Left out: Halide's random numbers and fast approximations differ, and `require` may end a run."""


def is_lacking(form: Form) -> bool:
    """Whether Halide refuses to compile an operator of these types."""
    if form.name in ("saturating_add", "saturating_sub"):
        return form.result.is_float
    return form.name == "lerp" and form.result.is_bool


def is_cut(form: Form) -> bool:
    """Whether Halide 21 gives wrong values: it scales a weight of 64 bits to the type of the ends
    by a factor that it truncates to 32 bits.
    """
    ends, weight = form.operands[0], form.operands[-1]
    return form.name == "lerp" and not ends.is_float and weight.is_uint and weight.bits == 64


def given(algorithm: Pipeline, form: Form) -> dict[str, np.ndarray]:
    """Numbers of all sizes, except where Halide defines no value: shifts by the width of the type
    or more, bits that a number lacks, and weights below 0 or above 1.
    """
    arrays, last = inputs(algorithm), str(len(form.operands) - 1)
    if "shift" in form.name or form.name == "extract_bits":
        arrays |= {name: a % a.dtype.type(8) for name, a in arrays.items() if name[2] == last}
    if form.name == "lerp" and form.operands[-1].is_float:
        arrays |= {name: np.abs(a % 1) for name, a in arrays.items() if name[2] == last}
    return arrays


@pytest.mark.parametrize("name", COMPARED)
def test_values(name: str) -> None:
    for form in some(name, examples(4, fewest=2)):
        if is_cut(form):
            continue
        algorithm = pipeline(value(form))
        sizes = dict.fromkeys(algorithm.outputs, (SIZE,))
        arrays, built = given(algorithm, form), bridge.build(algorithm, None)
        if is_lacking(form):
            with pytest.raises(LoweringError):
                built.realize(arrays, None, sizes, bridge.STRICT)
            continue
        wanted = evaluate(algorithm, arrays, sizes=sizes)
        found = built.realize(arrays, None, sizes, bridge.STRICT)
        for output, values in wanted.items():
            assert_same(found[output], values, f"{form}", name in ROUNDED)


def test_weights_of_64_bits_blend_in_proportion() -> None:
    x = Var("x")
    low, high, weight = (
        ImageParam(t, 1, n) for t, n in ((UInt8, "a"), (UInt8, "b"), (UInt64, "w"))
    )
    blended = Func("blended")
    blended[x] = lerp(low[x], high[x], weight[x])
    most = UInt64.max_value
    ends = np.array([[0, 255], [255, 0], [10, 200], [7, 7]], np.uint8)
    weights = [0, 1, most // 3, most // 2, most - 1, most]
    for a, b in ends.tolist():
        arrays = {
            "a": np.full(len(weights), a, np.uint8),
            "b": np.full(len(weights), b, np.uint8),
            "w": np.array(weights, np.uint64),
        }
        found = evaluate(pipeline(blended), arrays, sizes={"blended": (len(weights),)})["blended"]
        for value_found, part in zip(found.tolist(), weights, strict=True):
            assert abs(Fraction(value_found) - a - (b - a) * Fraction(part, most)) <= Fraction(3, 2)
