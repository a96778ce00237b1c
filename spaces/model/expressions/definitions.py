"""Operators that are defined by simpler ones: their signatures, and one definition for all layers.

A node such as ``rounding_halving_add(a, b)`` keeps its name in a pipeline, in text and on the way
to Halide. Code that evaluates, bounds or compiles an expression reads :func:`expanded` instead,
which holds only operators of :data:`spaces.model.expressions.signatures.OPERATORS`. An operator
added here works in every layer. All meanings are Halide's, bit for bit on integers.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Container, Mapping
from typing import TypeAlias

import numpy as np
from attrs import frozen

from spaces.model.expressions import fast_math, signatures
from spaces.model.expressions.expr import (
    Call,
    Cast,
    Const,
    Expr,
    Op,
    binary,
    cast,
    compare,
    constant,
    walk,
)
from spaces.model.expressions.functions import abs as magnitude
from spaces.model.expressions.functions import clamp, max, min, select
from spaces.model.expressions.lerp import blended
from spaces.model.expressions.random_bits import random_float, random_int, random_uint
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.signatures import OPERATORS, SIGNATURES
from spaces.model.expressions.types import Bool, Float32, Int16, Int32, Type, UInt32

REQUIRE = "require"
"""The operator of (condition, value, parts of a message). It equals the value; code that computes
it also checks the condition (module ``required``).
"""

FOREIGN = "foreign"
"""The value that foreign code computes. Its operands are the name of the code, the number of the
component, what an element costs (0 if nothing is stated), and the arguments of the code. Arguments
are reads of all that the code needs, and scalars, which read nothing.
"""

UNDEFINED = "undef"
"""The operator without operands that stands for any value: a store of it alone may be left out."""

LIKELY_AT = "likely_at"
"""The operator of (call, coordinates of the call). It equals the call. The coordinates still hold
the hints that say which side of a test is likely; the call itself has lost them.
"""

OperatorDefinition: TypeAlias = Callable[..., Expr]
"""Makes the expression that an operator means, from the result type and the operands."""


@frozen
class DerivedOperator:
    """An operator defined by others.

    Attributes:
        fits: the types that it may have.
        definition: what it means.
        to_type: whether its function takes the type of the result first, here and in Halide.
    """

    fits: signatures.Signature
    definition: OperatorDefinition
    to_type: bool = False


def fits(name: str, result: Type, operands: tuple[Type, ...]) -> bool:
    """Whether an operator of :data:`LANGUAGE` may have these types. The functions that build
    expressions give an operator these types and no others.
    """
    return (SIGNATURES[name] if name in SIGNATURES else DERIVED[name].fits)(result, operands)


def expanded(expr: Expr, names: Container[str] | None = None) -> Expr:
    """An equal expression without the operators of :data:`DERIVED` (or only those in ``names``)."""
    without = DERIVED if names is None else names
    return rewrite(expr, lambda n: _expanded(n) if isinstance(n, Op) and n.name in without else n)


def arithmetic(expr: Expr, but: Container[str] = ()) -> Expr:
    """An equal expression for a coordinate. Shifts by constants and masks become products,
    quotients and remainders, which interval analysis, normal forms and solvers understand. The
    operators named in ``but`` stay.
    """
    return rewrite(expr, lambda n: n if isinstance(n, Op) and n.name in but else _arithmetic(n))


def definition(node: Op) -> Expr:
    """The meaning of one operator of :data:`DERIVED`, over its operands."""
    return DERIVED[node.name].definition(node.type, *node.args)


def _expanded(node: Expr) -> Expr:
    return definition(node) if isinstance(node, Op) and node.name in DERIVED else node


def _arithmetic(node: Expr) -> Expr:
    match node:
        case Cast(type=to, value=Const(value=value)) if node.value.type.is_float:
            return node if to.is_bool or to.is_float else _truncated(to, value)
        case Op(name="reinterpret", args=(Const(value=value) as number,)) if number.type.is_float:
            bits = np.asarray(value, number.type.dtype).view(node.type.dtype)
            return node if node.type.is_float else constant(int(bits), node.type)
        case Op(name="absd", args=(a, b)) if not a.type.is_float and a.type.bits < 32:
            return cast(node.type, magnitude(cast(Int32, a) - cast(Int32, b)))
        case Op(name="absd", args=(a, b)) if a.type == Int32:
            return magnitude(a - b)  # coordinates do not wrap
        case Op(name="halving_add", args=(a, b), type=kind) if kind.bits < 64:
            return cast(kind, (cast(_wide(kind), a) + cast(_wide(kind), b)) >> 1)
        case Op(name="shift_left" | "shift_right", args=(value, Const(value=by))):
            # A power of two beyond the type would wrap to a negative number.
            if 0 <= by < value.type.bits - value.type.is_int:
                power = constant(1 << int(by), node.type)
                return binary("mul" if node.name == "shift_left" else "div", value, power)
        case Op(name="bit_and", args=(value, Const(value=mask)) | (Const(value=mask), value)):
            if mask >= 0 and (int(mask) + 1) & int(mask) == 0 and node.type.holds(int(mask) + 1):
                return binary("mod", value, constant(int(mask) + 1, node.type))
    return _expanded(node)


def _truncated(type: Type, value: float) -> Expr:
    """A float as an integer: rounded toward zero and limited to the type; NaN gives 0."""
    if math.isnan(value):
        return constant(0, type)
    limited = builtins.max(float(type.min_value), builtins.min(value, float(type.max_value)))
    whole = builtins.min(int(limited), type.max_value)
    return constant(whole, type)


def _unsigned(type: Type) -> Type:
    return Type("uint", type.bits)


def _wide(type: Type) -> Type:
    return Type(type.code, 2 * type.bits)


def _highest(type: Type) -> Expr:
    return constant(type.max_value, type)


def _bit_not(type: Type, a: Expr) -> Expr:
    return constant(-1, type) - a


def _absd(type: Type, a: Expr, b: Expr) -> Expr:
    if type.is_float:
        return magnitude(a - b)
    if type.is_bool:
        return Op(type, "ne", (a, b))
    left, right = cast(type, a), cast(type, b)
    return select(a < b, right - left, left - right)


def _halving_add(type: Type, a: Expr, b: Expr) -> Expr:
    return (a & b) + ((a ^ b) >> 1)


def _rounding_halving_add(type: Type, a: Expr, b: Expr) -> Expr:
    if type.bits == 64:
        return (a | b) - ((a ^ b) >> 1)
    wide = _wide(type)  # the form that compilers find averaging instructions for
    return cast(type, (cast(wide, a) + cast(wide, b) + constant(1, wide)) >> 1)


def _halving_sub(type: Type, a: Expr, b: Expr) -> Expr:
    # (a - b) / 2 is (a + ~b + 1) / 2; unsigned numbers add half of their range.
    half = constant(0 if type.is_int else 1 << (type.bits - 1), type)
    return _rounding_halving_add(type, a, _bit_not(type, b)) + half


def _rounding_shift_right(type: Type, a: Expr, by: Expr) -> Expr:
    if isinstance(by, Const) and by.value > 0:
        return (a >> by) + ((a >> constant(by.value - 1, by.type)) & _one(a))
    last = (a >> _saturating_sub(by.type, by, _one(by))) & _one(a)
    return (a >> by) + select(by > 0, last, constant(0, type))


def _rounding_shift_left(type: Type, a: Expr, by: Expr) -> Expr:
    if by.type.is_uint:
        return a << by
    last = (a << _saturating_add(by.type, by, _one(by))) & _one(a)
    return (a << by) + select(by < 0, last, constant(0, type))


def _one(like: Expr) -> Expr:
    return constant(1, like.type)


def _widened_shift(shift: Callable[[Expr, Expr], Expr]) -> OperatorDefinition:
    def definition(type: Type, a: Expr, by: Expr) -> Expr:
        return shift(cast(type, a), cast(_wide(by.type), by))

    return definition


def _narrowed(type: Type, wide: Expr) -> Expr:
    """``wide`` limited to the values of a narrower type of the same signedness."""
    return cast(
        type, clamp(wide, constant(type.min_value, wide.type), cast(wide.type, _highest(type)))
    )


def _saturating_add(type: Type, a: Expr, b: Expr) -> Expr:
    if type.is_float:
        return a + b
    total = a + b
    if type.is_uint:
        return select(total < a, _highest(type), total)
    if type.bits < 64:
        return _narrowed(type, cast(_wide(type), a) + cast(_wide(type), b))
    # An overflow shows in the sign: the sum has the sign that neither operand has.
    return select(((a ^ total) & (b ^ total)) < 0, _limit_by_sign(type, a), total)


def _saturating_sub(type: Type, a: Expr, b: Expr) -> Expr:
    if type.is_float:
        return a - b
    if type.is_uint:
        return select(b < a, a - b, constant(0, type))
    if type.bits < 64:
        return _narrowed(type, cast(_wide(type), a) - cast(_wide(type), b))
    rest = a - b
    return select(((a ^ b) & (a ^ rest)) < 0, _limit_by_sign(type, a), rest)


def _limit_by_sign(type: Type, a: Expr) -> Expr:
    return select(a < 0, constant(type.min_value, type), _highest(type))


def _saturating_cast(type: Type, a: Expr) -> Expr:
    source = a.type
    if type.is_float:
        return _finite(type, a)
    low, high = (constant(v, source) for v in (type.min_value, type.max_value))
    if source.is_float and type.bits >= source.bits:
        # The largest value rounds up to a power of two, the first value out of range.
        above = max(a, low)
        return select(above >= high, _highest(type), cast(type, above))
    if source.is_float or source.holds(type.max_value):
        a = min(a, high)
    if source.is_float or source.holds(type.min_value):
        a = max(a, low)
    return cast(type, a)


def _extract_bits(type: Type, a: Expr, lowest: Expr) -> Expr:
    bits = cast(_unsigned(lowest.type), _reinterpreted(_unsigned(a.type), a))
    return _reinterpreted(type, cast(_unsigned(type), bits >> lowest))


def _reinterpreted(type: Type, a: Expr) -> Expr:
    return a if a.type == type else Op(type, "reinterpret", (a,))


def _finite(type: Type, a: Expr) -> Expr:
    """``a`` with infinities limited to the largest magnitude of ``type``; the limiting happens in
    the wider of the two types.
    """
    if not a.type.is_float:
        return cast(type, a)
    wider = type if type.bits >= a.type.bits else a.type
    most = constant(_largest_float(type), wider)
    return cast(type, max(min(cast(wider, a), most), constant(0.0, wider) - most))


def _largest_float(type: Type) -> float:
    return float(np.finfo(type.dtype).max)


def _product(type: Type, a: Expr, b: Expr) -> Expr:
    return cast(_wide(type), a) * cast(_wide(type), b)


def _mul_shift_right(type: Type, a: Expr, b: Expr, by: Expr) -> Expr:
    return _narrowed(type, _product(type, a, b) >> by)


def _rounding_mul_shift_right(type: Type, a: Expr, b: Expr, by: Expr) -> Expr:
    if type == Int16 and isinstance(by, Const) and by.value == 15:
        # Compilers find an instruction for this form; it wraps for the largest product.
        wrapped = cast(type, ((_product(type, a, b) >> 14) + 1) >> 1)
        least = constant(type.min_value, type)
        return select(compare("eq", wrapped, least), _highest(type), wrapped)
    amount = cast(Type("uint", 2 * type.bits), by)
    return _narrowed(type, _rounding_shift_right(_wide(type), _product(type, a, b), amount))


def _mux(type: Type, index: Expr, *values: Expr) -> Expr:
    result = values[-1]
    for number in range(len(values) - 2, -1, -1):
        result = select(compare("eq", index, constant(number, index.type)), values[number], result)
    return result


def _is_infinite(type: Type, a: Expr) -> Expr:
    return compare("eq", magnitude(a), constant(math.inf, a.type))


def _foreign(type: Type, *operands: Expr) -> Expr:
    """No expression: it stands for the reads where only these count. Printers call the code."""
    either = "or" if type.is_bool else "max"
    found: Expr = constant(0, type)
    for argument in operands[3:]:
        if any(isinstance(node, Call) for node in walk(argument)):
            found = Op(type, either, (found, cast(type, argument)))
    return found


DERIVED: Mapping[str, DerivedOperator] = {
    "bit_not": DerivedOperator(signatures.is_integer_unary, _bit_not),
    "absd": DerivedOperator(
        lambda result, operands: (
            len(operands) == 2
            and operands[0] == operands[1]
            and result == (operands[0] if operands[0].is_float else _unsigned(operands[0]))
        ),
        _absd,
    ),
    "widening_add": DerivedOperator(
        lambda result, operands: (
            signatures.is_widening(result, operands) and operands[0] == operands[1]
        ),
        lambda t, a, b: cast(t, a) + cast(t, b),
    ),
    "widening_mul": DerivedOperator(
        signatures.is_widening, lambda t, a, b: cast(t, a) * cast(t, b)
    ),
    "widening_sub": DerivedOperator(
        lambda result, operands: (
            result.is_int
            and len(operands) == 2
            and operands[0] == operands[1]
            and not operands[0].is_float
            and 2 * operands[0].bits == result.bits
        ),
        lambda t, a, b: cast(t, a) - cast(t, b),
    ),
    **{
        f"widen_right_{name}": DerivedOperator(
            lambda result, operands: (
                len(operands) == 2
                and operands[0] == result
                and not result.is_float
                and result == _wide(operands[1])
            ),
            lambda t, a, b, _name=name: binary(_name, a, cast(t, b)),
        )
        for name in ("add", "sub", "mul")
    },
    "halving_add": DerivedOperator(signatures.is_integer_pair, _halving_add),
    "halving_sub": DerivedOperator(signatures.is_integer_pair, _halving_sub),
    "rounding_halving_add": DerivedOperator(signatures.is_integer_pair, _rounding_halving_add),
    "rounding_shift_left": DerivedOperator(signatures.is_shift, _rounding_shift_left),
    "rounding_shift_right": DerivedOperator(signatures.is_shift, _rounding_shift_right),
    "widening_shift_left": DerivedOperator(
        signatures.is_widening_shift, _widened_shift(operator.lshift)
    ),
    "widening_shift_right": DerivedOperator(
        signatures.is_widening_shift, _widened_shift(operator.rshift)
    ),
    "saturating_add": DerivedOperator(signatures.is_pair, _saturating_add),
    "saturating_sub": DerivedOperator(signatures.is_pair, _saturating_sub),
    "saturating_cast": DerivedOperator(
        lambda result, operands: len(operands) == 1 and not result.is_bool,
        _saturating_cast,
        to_type=True,
    ),
    "extract_bits": DerivedOperator(
        lambda result, operands: (
            len(operands) == 2
            and not any(t.is_bool for t in (result, *operands))
            and not operands[1].is_float
            and operands[1].bits >= operands[0].bits
        ),
        _extract_bits,
        to_type=True,
    ),
    "mul_shift_right": DerivedOperator(signatures.is_mul_shift, _mul_shift_right),
    "rounding_mul_shift_right": DerivedOperator(signatures.is_mul_shift, _rounding_mul_shift_right),
    "lerp": DerivedOperator(signatures.is_lerp, blended),
    "mux": DerivedOperator(signatures.is_mux, _mux),
    "likely": DerivedOperator(signatures.is_unary, lambda t, a: a),
    "likely_if_innermost": DerivedOperator(signatures.is_unary, lambda t, a: a),
    LIKELY_AT: DerivedOperator(
        lambda result, operands: operands[:1] == (result,), lambda t, call, *places: call
    ),
    UNDEFINED: DerivedOperator(lambda result, operands: not operands, lambda t: constant(0, t)),
    REQUIRE: DerivedOperator(signatures.is_required, lambda t, condition, value, *message: value),
    FOREIGN: DerivedOperator(signatures.is_foreign, _foreign),
    "is_nan": DerivedOperator(signatures.is_float_test, lambda t, a: Op(Bool, "ne", (a, a))),
    "is_inf": DerivedOperator(signatures.is_float_test, _is_infinite),
    "is_finite": DerivedOperator(
        signatures.is_float_test,
        lambda t, a: compare("lt", magnitude(a), constant(math.inf, a.type)),
    ),
    "fast_exp": DerivedOperator(signatures.is_float32(1), fast_math.exponential),
    "fast_log": DerivedOperator(signatures.is_float32(1), fast_math.logarithm),
    "fast_pow": DerivedOperator(signatures.is_float32(2), fast_math.power),
    "fast_sin": DerivedOperator(signatures.is_float32(1), fast_math.sine),
    "fast_cos": DerivedOperator(signatures.is_float32(1), fast_math.cosine),
    "fast_inverse": DerivedOperator(signatures.is_float32(1), lambda t, a: constant(1.0, t) / a),
    "fast_inverse_sqrt": DerivedOperator(
        signatures.is_float32(1), lambda t, a: constant(1.0, t) / Op(t, "sqrt", (a,))
    ),
    "random_uint": DerivedOperator(signatures.of_integers(UInt32), random_uint),
    "random_int": DerivedOperator(signatures.of_integers(Int32), random_int),
    "random_float": DerivedOperator(signatures.of_integers(Float32), random_float),
}
"""The operators with a definition. Definitions over floats, such as ``a != a`` for ``is_nan``,
assume strict arithmetic; ``likely`` equals its operand.
"""

LANGUAGE = (*OPERATORS, *DERIVED)
"""The names of all operators: the ones that every layer knows, and the ones with a definition."""

CONVERSIONS = ("reinterpret", *(name for name, one in DERIVED.items() if one.to_type))
"""Operators whose functions take the type of the result first, here and in Halide."""

HINTS = ("likely", "likely_if_innermost")
"""Operators that equal their operand, and say which side of a test is the usual one."""

SAYING = (*HINTS, LIKELY_AT)
"""Operators that equal their first operand, and say which side of a test in it is likely."""

RANDOM = ("random_uint", "random_int", "random_float")
"""Operators that Halide also has under these names, with other values."""
