"""Vectors of values that were made wider, between limits: code may limit them before."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import spaces
from spaces import Func, ImageParam, Int8, Int16, Int32, UInt8, UInt16, UInt32, Var
from spaces.backend.compile import compile_cpu
from spaces.model.expressions.expr import cast, constant
from spaces.model.expressions.types import Type
from tests.draw_counts import examples

X = Var("x")
NARROW, WIDE = (Int8, UInt8, Int16, UInt16), (Int16, UInt16, Int32, UInt32)


@settings(max_examples=examples(25))
@given(st.sampled_from(NARROW), st.sampled_from(WIDE), st.data())
def test_limits_of_wider_values_are_exact(narrow: Type, wide: Type, data: st.DataObject) -> None:
    """Every narrow value, or every 8-bit part of one, by NumPy's conversion and limits."""
    low, high = (data.draw(st.integers(wide.min_value, wide.max_value)) for _ in range(2))
    near = data.draw(st.sampled_from([(low, high), (-1, 256), (0, 127), (-128, 300)]))
    low, high = (min(max(one, wide.min_value), wide.max_value) for one in near)
    image, f = ImageParam(narrow, 1, "input"), Func("f")
    limited = spaces.min(cast(wide, image[X]), constant(high, wide))
    f[X] = spaces.max(constant(low, wide), limited)
    pipe = spaces.pipeline(f)
    vectors = spaces.schedule(pipe).vectorize("x", 16).schedule
    compiled = compile_cpu(spaces.verify(pipe, vectors, spaces.device("cpu")))

    ends = [narrow.min_value, narrow.max_value, -1, 0, 1, 126, 127, 128, 254, 255, 256]
    values = np.array([narrow.wrap(one) for one in (*ends, *range(-128, 128))], narrow.dtype)
    expected = np.maximum(
        np.array(low, wide.dtype), np.minimum(values.astype(wide.dtype), np.array(high, wide.dtype))
    )
    (found,) = compiled.run({"input": values}, sizes={"f": [len(values)]}).values()
    np.testing.assert_array_equal(found, expected)
