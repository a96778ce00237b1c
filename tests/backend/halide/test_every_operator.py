"""Every operator of the language over values that are read: Halide gives the values of the
reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from spaces import Func, ImageParam, Pipeline, UInt8, UInt64, Var, evaluate, lerp, pipeline
from spaces.backend.halide.errors import LoweringError
from spaces.model.expressions.definitions import RANDOM, REQUIRE
from tests.backend.halide.peer import bridge
from tests.backend.test_every_operator import ROUNDED, SIZE, X, assert_same, inputs, read, value
from tests.draw_counts import examples
from tests.every_operator import OPERATORS, Form, some

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


def is_narrow(name: str) -> bool:
    """Whether Halide defines no value for some numbers: shifts by the width of the type or more,
    bits that a number lacks, and weights below 0 or above 1.
    """
    return "shift" in name or name in ("extract_bits", "lerp")


def given(algorithm: Pipeline, forms: Sequence[Form]) -> dict[str, np.ndarray]:
    """Numbers of all sizes, except where Halide defines no value."""
    arrays = inputs(algorithm)
    for form in forms:
        last = f"in{len(form.operands) - 1}_{form.operands[-1]}"
        if form.name == "lerp" and form.operands[-1].is_float:
            arrays[last] = np.abs(arrays[last] % 1)
        elif form.name != "lerp" and is_narrow(form.name):
            arrays[last] = arrays[last] % arrays[last].dtype.type(8)
    return arrays


def chosen(name: str) -> list[Form]:
    return [form for form in some(name, examples(4, fewest=2)) if not is_cut(form)]


def output(form: Form) -> str:
    return f"{form.name}_{form.result}_{'_'.join(map(str, form.operands))}"


WIDE = [name for name in COMPARED if not is_narrow(name)]
TOGETHER = 12


@cache
def results(names: tuple[str, ...]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """What Halide and the reference compute with operators, by output: Halide compiles one pipeline
    for them, because a second one takes half as long as twelve operators.
    """
    forms = [form for name in names for form in chosen(name) if not is_lacking(form)]
    funcs = [Func(output(form)) for form in forms]
    for func, form in zip(funcs, forms, strict=True):
        func[X] = read(form)
    algorithm = pipeline(funcs)
    sizes = dict.fromkeys(algorithm.outputs, (SIZE,))
    arrays = given(algorithm, forms)
    found = bridge.build(algorithm).realize(arrays, None, sizes, bridge.STRICT)
    wanted = evaluate(algorithm, arrays, sizes=sizes)
    assert found.keys() == wanted.keys()
    return {name: (found[name], wanted[name]) for name in wanted}


@pytest.mark.parametrize("name", COMPARED)
def test_values(name: str) -> None:
    start = WIDE.index(name) // TOGETHER * TOGETHER if name in WIDE else None
    names = (name,) if start is None else tuple(WIDE[start : start + TOGETHER])
    for form in chosen(name):
        if is_lacking(form):
            with pytest.raises(LoweringError):
                bridge.build(pipeline(value(form))).compile(bridge.STRICT)
        else:
            assert_same(*results(names)[output(form)], f"{form}", name in ROUNDED)


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
