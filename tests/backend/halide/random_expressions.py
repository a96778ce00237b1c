"""Random expressions over every element type, with values that Halide defines.

Halide leaves overflow of signed 32 and 64 bit arithmetic and casts of floats out of range
undefined. It simplifies floats as if none were NaN (``a % a`` is 0, also where ``a`` is 0). The
expressions carry a bound on their magnitude and stay clear of all three.
"""

from __future__ import annotations

import operator

from attrs import frozen
from hypothesis import strategies as st

from spaces import Bool, Expr, ImageParam, Int32, Type, Var, cast
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.expr import constant
from spaces.model.expressions.types import SCALAR_TYPES

SIZE = 32
"""Extent of the images, and of the outputs."""

X = Var("x")
IMAGES = {str(t): ImageParam(t, 1, f"in_{t}") for t in SCALAR_TYPES.values()}
INTEGER_TYPES = [t for t in SCALAR_TYPES.values() if not t.is_float]

COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
FIXED_POINT = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "halving_add": fixed.halving_add,
    "halving_sub": fixed.halving_sub,
    "rounding_halving_add": fixed.rounding_halving_add,
    "saturating_add": fixed.saturating_add,
    "saturating_sub": fixed.saturating_sub,
}
"""Operators of two integers of one type that never overflow."""

WIDENING = {
    "widening_add": fixed.widening_add,
    "widening_mul": fixed.widening_mul,
    "widening_sub": fixed.widening_sub,
    "widening_shift_left": lambda a, b: fixed.widening_shift_left(a, b % (a.type.bits - 1)),
    "widening_shift_right": lambda a, b: fixed.widening_shift_right(a, b % (a.type.bits - 1)),
}
SHIFTS = {
    "left": operator.lshift,
    "right": operator.rshift,
    "rounding left": fixed.rounding_shift_left,
    "rounding right": fixed.rounding_shift_right,
}
COUNTS = [fixed.popcount, fixed.count_leading_zeros, fixed.count_trailing_zeros]

ARITHMETIC = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "mod": operator.mod,
    "min": fn.min,
    "max": fn.max,
}


@frozen
class Bounded:
    """An expression; for integers, also the largest magnitude of its value."""

    expr: Expr
    bound: int


def image_limit(element: Type) -> int:
    """The largest magnitude of values in the image of a type."""
    may_overflow = element.is_int and element.bits >= 32
    return 1000 if may_overflow else element.max_value + element.is_int


@st.composite
def expressions(draw: st.DrawFn, element: Type, depth: int) -> Bounded:
    """An expression of type ``element``."""
    if depth == 0:
        return draw(_leaves(element))
    forms = ["select", "cast", "leaf"]
    if element.is_bool:
        forms += ["comparison", "comparison", "logic", "logic"]
    else:
        forms += ["arithmetic", "arithmetic", "arithmetic"]
    if element.is_uint and not element.is_bool:
        forms += ["abs", "absd"]
    if element.is_float:
        forms += ["rounding", "root"]
    elif not element.is_bool:
        forms += ["fixed point"] * 4
    match draw(st.sampled_from(forms)):
        case "leaf":
            return draw(_leaves(element))
        case "cast":
            return draw(_casts(element, depth))
        case "select":
            condition = draw(expressions(Bool, depth - 1)).expr
            a, b = draw(expressions(element, depth - 1)), draw(expressions(element, depth - 1))
            return Bounded(fn.select(condition, a.expr, b.expr), max(a.bound, b.bound))
        case "comparison":
            other = draw(st.sampled_from(list(SCALAR_TYPES.values())))
            a, b = draw(expressions(other, depth - 1)), draw(expressions(other, depth - 1))
            return Bounded(draw(st.sampled_from(COMPARISONS))(a.expr, b.expr), 1)
        case "logic":
            a, b = draw(expressions(Bool, depth - 1)), draw(expressions(Bool, depth - 1))
            return Bounded(draw(st.sampled_from([a.expr & b.expr, a.expr | b.expr, ~a.expr])), 1)
        case "abs":
            signed = draw(expressions(Type("int", element.bits), depth - 1))
            return Bounded(fn.abs(signed.expr), signed.bound)
        case "rounding":
            value = draw(expressions(element, depth - 1)).expr
            rounding = [fn.floor, fn.ceil, fn.abs, fn.round, fn.trunc]
            return Bounded(draw(st.sampled_from(rounding))(value), 0)
        case "root":
            return Bounded(fn.sqrt(fn.abs(draw(expressions(element, depth - 1)).expr)), 0)
        case "absd":
            of = draw(st.sampled_from([element, Type("int", element.bits)]))
            a, b = draw(expressions(of, depth - 1)), draw(expressions(of, depth - 1))
            return Bounded(fixed.absd(a.expr, b.expr), element.max_value)
        case "arithmetic":
            return draw(_arithmetic(element, depth))
    return draw(_fixed_point(element, depth))


WEIGHTS = [t for t in INTEGER_TYPES if t.is_uint and 8 <= t.bits <= 32]


@st.composite
def _fixed_point(draw: st.DrawFn, element: Type, depth: int) -> Bounded:
    """Fixed-point operators of integers; signed integers of 32 bits or more stay within their
    bounds.
    """
    narrow = not (element.is_int and element.bits >= 32)
    full = element.max_value + element.is_int
    a, b = draw(expressions(element, depth - 1)), draw(expressions(element, depth - 1))
    match draw(
        st.sampled_from(["pair", "shift", "count", "widening", "lerp", "mul", "bits", "cast"])
    ):
        case "pair":
            function = draw(st.sampled_from(list(FIXED_POINT.values())))
            most = a.bound + b.bound
            return Bounded(function(a.expr, b.expr), min(full, 1 << most.bit_length()))
        case "shift" if narrow:
            function = draw(st.sampled_from(list(SHIFTS.values())))
            if draw(st.booleans()):
                return Bounded(function(a.expr, draw(st.integers(0, element.bits - 1))), full)
            code = draw(st.sampled_from(["int", "uint"]))
            amount = draw(expressions(Type(code, element.bits), depth - 1)).expr
            within = amount % constant(element.bits, amount.type)
            return Bounded(function(a.expr, within), full)
        case "shift":
            by = draw(st.integers(1, element.bits - 1))
            function = draw(st.sampled_from([operator.rshift, fixed.rounding_shift_right]))
            return Bounded(function(a.expr, by), a.bound)
        case "count":
            return Bounded(draw(st.sampled_from(COUNTS))(a.expr), element.bits)
        case "widening" if element.bits > 8:
            name = draw(st.sampled_from(list(WIDENING)))
            code = element.code if name != "widening_sub" or element.is_uint else "uint"
            half = Type(code, element.bits // 2)
            if name == "widening_sub" and element.is_uint:
                name = "widening_add"
            c, d = draw(expressions(half, depth - 1)), draw(expressions(half, depth - 1))
            bound = c.bound * d.bound if name == "widening_mul" else c.bound + d.bound
            if "shift" in name:
                bound = c.bound << half.bits
            return Bounded(WIDENING[name](c.expr, d.expr), bound)
        case "lerp" if element.bits <= 32:
            weight = draw(expressions(draw(st.sampled_from(WEIGHTS)), depth - 1)).expr
            return Bounded(fixed.lerp(a.expr, b.expr, weight), max(a.bound, b.bound))
        case "mul" if element.bits <= 32:
            by = draw(st.integers(0, element.bits))
            function = draw(
                st.sampled_from([fixed.mul_shift_right, fixed.rounding_mul_shift_right])
            )
            return Bounded(function(a.expr, b.expr, by), full)
        case "bits":
            of = draw(st.sampled_from([t for t in INTEGER_TYPES if not t.is_bool]))
            word = draw(expressions(of, depth - 1)).expr
            lowest = draw(st.integers(0, of.bits - 1))
            return Bounded(fixed.extract_bits(element, word, lowest), full)
        case _:
            source = draw(st.sampled_from(INTEGER_TYPES))
            value = draw(expressions(source, depth - 1))
            return Bounded(fixed.saturating_cast(element, value.expr), min(full, value.bound))


@st.composite
def _leaves(draw: st.DrawFn, element: Type) -> Bounded:
    if element.is_float:
        literal = draw(st.sampled_from([0.0, 1.0, -2.5, 0.1, 1e4]))
    else:
        limit = min(image_limit(element), element.max_value)
        corners = [0, 1, 2, 3, 7, limit, element.min_value if element.bits < 32 else -3]
        literal = element.wrap(draw(st.sampled_from(corners)))
    form = draw(st.sampled_from(["pixel", "pixel", "shifted", "looked up", "literal"]))
    if form == "literal":
        return Bounded(constant(literal, element), abs(int(literal)))
    image = IMAGES[str(element)]
    place: Expr = X
    if form == "shifted":
        place = fn.clamp(X + draw(st.integers(-3, 3)), 0, SIZE - 1)
    if form == "looked up":
        place = cast(Int32, draw(st.sampled_from([IMAGES["uint8"], IMAGES["int16"]]))[X]) % SIZE
    return Bounded(image[place], 0 if element.is_float else image_limit(element))


@st.composite
def _casts(draw: st.DrawFn, element: Type, depth: int) -> Bounded:
    source = draw(st.sampled_from(list(SCALAR_TYPES.values())))
    value = draw(expressions(source, depth - 1))
    if element.is_float:
        return Bounded(cast(element, value.expr), 0)
    largest = element.max_value + element.is_int
    if source.is_float:
        limit = min(element.max_value, 100)
        inside = fn.clamp(value.expr, float(-limit if element.is_int else 0), float(limit))
        return Bounded(cast(element, inside), limit)
    if value.bound > element.max_value and element.is_int and element.bits >= 32:
        # Defined, but it would leave no room for arithmetic.
        return Bounded(cast(element, value.expr % constant(1000, source)), 1000)
    return Bounded(
        cast(element, value.expr), min(largest, value.bound) if element.is_uint else largest
    )


@st.composite
def _arithmetic(draw: st.DrawFn, element: Type, depth: int) -> Bounded:
    name = draw(st.sampled_from(list(ARITHMETIC)))
    a, b = draw(expressions(element, depth - 1)), draw(expressions(element, depth - 1))
    bound = {
        "add": a.bound + b.bound,
        "sub": a.bound + b.bound,
        "mul": a.bound * b.bound,
        "div": a.bound,
        "mod": b.bound,
    }.get(name, max(a.bound, b.bound))
    if element.is_int and element.bits >= 32:
        if bound > element.max_value:
            name, bound = "max", max(a.bound, b.bound)
    elif not element.is_float:
        bound = element.max_value + element.is_int
    divides_float = element.is_float and name in ("div", "mod")
    return Bounded(ARITHMETIC[name](a.expr, fn.abs(b.expr) + 1 if divides_float else b.expr), bound)
