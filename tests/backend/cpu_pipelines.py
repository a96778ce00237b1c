"""Hypothesis strategies for pipelines that exercise a code generator: types, operators, boundary
conditions, updates.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from spaces.model.algorithm import boundary
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.expr import Expr, binary, cast, constant
from spaces.model.expressions.types import SCALAR_TYPES, Int32, Type, UInt8, UInt16

X, Y = Var("x"), Var("y")

TYPES = tuple(SCALAR_TYPES.values())

_BINARY = ("add", "sub", "mul", "div", "mod", "min", "max")

_FIXED_POINT: dict[str, Callable[[Expr, Expr], Expr]] = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "not": lambda a, b: ~a,
    "left": operator.lshift,
    "right": operator.rshift,
    "left by 3": lambda a, b: a << 3,
    "right by 3": lambda a, b: a >> 3,
    "absd": fixed.absd,
    "halving_add": fixed.halving_add,
    "halving_sub": fixed.halving_sub,
    "rounding_halving_add": fixed.rounding_halving_add,
    "rounding_shift_right": fixed.rounding_shift_right,
    "rounding_shift_left": fixed.rounding_shift_left,
    "saturating_add": fixed.saturating_add,
    "saturating_sub": fixed.saturating_sub,
    "widened": lambda a, b: (
        cast(a.type, fixed.widening_shift_left(cast(UInt8, a), cast(UInt8, b)))
        + fixed.saturating_cast(a.type, fixed.widening_shift_right(cast(UInt16, a), cast(UInt8, b)))
    ),
    "narrowed": lambda a, b: fixed.saturating_cast(UInt8, a),
    "count": lambda a, b: fixed.count_leading_zeros(a) + fixed.popcount(b),
    "trailing": lambda a, b: fixed.count_trailing_zeros(a),
    "picked": lambda a, b: fn.mux(a, [b, a, b]),
}


def random_image(type: Type, shape: tuple[int, ...], seed: int) -> NDArray[np.generic]:
    """Values of all magnitudes, including the extremes and (for floats) infinities and NaN."""
    random = np.random.default_rng(seed)
    if type.is_bool:
        return random.integers(0, 2, shape).astype(bool)
    if type.is_float:
        values = random.normal(0, 1, shape) * 10.0 ** random.integers(-3, 12, shape)
        special = random.choice([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan], shape)
        return np.where(random.random(shape) < 0.2, special, values).astype(type.dtype)
    values = random.integers(type.min_value, type.max_value, shape, type.dtype, endpoint=True)
    small = random.integers(0, 4, shape).astype(type.dtype)
    extreme = random.choice(np.array([type.min_value, type.max_value], type.dtype), shape)
    kind = random.integers(0, 4, shape)
    return np.where(kind == 0, extreme, np.where(kind < 3, small, values)).astype(type.dtype)


@st.composite
def values(draw: st.DrawFn, leaves: list[Expr], steps: int) -> Expr:
    """A value made of ``leaves`` by operators whose results are exact."""
    pool = list(leaves)
    for _ in range(steps):
        a, b = (draw(st.sampled_from(pool[-6:])) for _ in range(2))
        if a.type.is_bool and b.type.is_bool:
            pool.append(draw(st.sampled_from([a & b, a | b, ~a, cast(UInt8, a)])))
            continue
        a, b = (cast(UInt8, v) if v.type.is_bool else v for v in (a, b))
        form = draw(
            st.sampled_from([*_BINARY, *_FIXED_POINT, "cast", "select", "abs", "unary", "constant"])
        )
        if form == "cast":
            pool.append(cast(draw(st.sampled_from(TYPES)), a))
        elif form == "select":
            compare = draw(st.sampled_from([a < b, a <= b, a == b, a != b, a > b, a >= b]))
            other = draw(st.sampled_from([a > 1, b < 2]))
            condition = draw(st.sampled_from([compare, compare & other, compare | ~other]))
            pool.append(fn.select(condition, a, b))
        elif form in _FIXED_POINT and not (a.type.is_float or a.type.is_bool):
            b = cast(a.type, b)
            pool.append(_FIXED_POINT[form](a, b))
        elif form == "abs":
            pool.append(fn.abs(a))
        elif form == "unary":
            unary = draw(st.sampled_from([fn.sqrt, fn.floor, fn.ceil, fn.round, fn.trunc]))
            pool.append(unary(a))
        elif form == "constant" and not (a.type.is_float or a.type.is_bool):
            number = draw(st.sampled_from([-7, -1, 0, 1, 2, 3, 5, 8, 100]))
            known = constant(number, a.type)
            pool.append(binary(draw(st.sampled_from(_BINARY)), a, known))
        else:
            operator = form if form in _BINARY else "add"
            pool.append(binary(operator, a, b))
    return pool[-1]


@st.composite
def typed_pipelines(draw: st.DrawFn) -> Pipeline:
    """Two stages of random arithmetic over images of random types."""
    images = [ImageParam(draw(st.sampled_from(TYPES)), 2, f"image{i}") for i in range(2)]
    strides = st.sampled_from([X, X, X + 1, X * 2, X * 3 + 1, 6 - X, X / 2])
    taps: list[Expr] = [image[draw(strides), Y] for image in images for _ in range(2)]
    first, last = Func("first"), Func("last")
    first[X, Y] = draw(values([*taps, X - 2 * Y], draw(st.integers(1, 6))))
    reads: list[Expr] = [first[X, Y].as_expr(), first[X + 1, Y].as_expr(), taps[0]]
    last[X, Y] = draw(values(reads, draw(st.integers(1, 5))))
    return pipeline(last)


@st.composite
def edge_pipelines(draw: st.DrawFn) -> Pipeline:
    """A stencil over an image with one of Halide's boundary conditions."""
    image = ImageParam(UInt16, 2, "input")
    conditions = [
        boundary.repeat_edge,
        boundary.repeat_image,
        boundary.mirror_image,
        boundary.mirror_interior,
        lambda source: boundary.constant_exterior(source, 7),
    ]
    source = draw(st.sampled_from(conditions))(image)
    first, last = Func("first"), Func("last")
    shifts = st.integers(-3, 3)
    first[X, Y] = source[X + draw(shifts), Y + draw(shifts)] + source[X, Y + draw(shifts)] * 3
    last[X, Y] = first[X + draw(shifts), Y + draw(shifts)] - first[X, Y] / 3
    return pipeline(last)


@st.composite
def update_pipelines(draw: st.DrawFn) -> Pipeline:
    """Funcs with update stages: histograms, reductions, scans, scatters."""
    image = ImageParam(UInt8, 2, "input")
    domain = RDom([(0, draw(st.integers(1, 5))), (0, draw(st.integers(1, 5)))], "r")
    result, last = Func("result"), Func("last")
    form = draw(st.sampled_from(["histogram", "sum", "scan", "two", "maximum"]))
    if form == "histogram":
        result[X] = 0
        result[cast(Int32, image[domain.x, domain.y]) / 16] += 1
        last[X, Y] = result[fn.clamp(X, 0, 15)] + Y
        return pipeline(last)
    if form == "sum":
        result[X, Y] = 0
        result[X, Y] += cast(Int32, image[X + domain.x, Y + domain.y])
    elif form == "maximum":
        result[X, Y] = cast(UInt8, 0)
        result[X, Y] = fn.max(result[X, Y].as_expr(), image[X * 2 + domain.x, Y + domain.y])
    elif form == "scan":
        result[X, Y] = cast(Int32, image[X, Y])
        result[X, domain.x] = result[X, domain.x] + result[X, domain.x - 1] * 3
    else:
        result[X, Y] = X + Y
        result[X, 3] = result[X, 3] + domain.x
        result[X, Y] = result[X, Y] * 2 + cast(Int32, image[X, Y])
    last[X, Y] = result[X, Y].as_expr() + result[X + 1, Y + 1]
    return pipeline(last)
