"""Every operator of the language, applied to operands that somebody else draws."""

from __future__ import annotations

import random
from collections.abc import Callable

from attrs import frozen

from spaces.model.expressions import approximations as quick
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.expr import Expr, cast, constant
from spaces.model.expressions.intrinsics import FLOAT_FUNCTIONS
from spaces.model.expressions.types import (
    Bool,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Type,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)

SIGNED = (Int8, Int16, Int32, Int64)
UNSIGNED = (UInt8, UInt16, UInt32, UInt64)
INTEGERS = (*SIGNED, *UNSIGNED)
FLOATS = (Float32, Float64)
NUMBERS = (*INTEGERS, *FLOATS)
TYPES = (Bool, *NUMBERS)
"""All element types."""

_NARROW = tuple(type for type in INTEGERS if type.bits < 64)

Operand = Callable[[Type], Expr]
"""Draws an operand of a type."""


@frozen
class Operation:
    """How to apply an operator in one of some types."""

    types: tuple[Type, ...]
    made: Callable[[random.Random, Type, Operand], Expr]


def _of_numbers(function: Callable[..., Expr], operands: int = 1) -> Operation:
    """Of float32 values that are numbers: the bits of others are not said."""

    def made(rng: random.Random, type: Type, operand: Operand) -> Expr:
        return function(*(cast(type, operand(Int16)) / 8.0 for _ in range(operands)))

    return Operation((Float32,), made)


def _reinterpret(rng: random.Random, type: Type, operand: Operand) -> Expr:
    number = cast(type, operand(Int16)) if type.is_float else operand(type)
    return fixed.reinterpret(rng.choice(_same_bits(type)), number)


def _extract_bits(rng: random.Random, type: Type, operand: Operand) -> Expr:
    """Of an integer, from any bit on: also from bits that it does not have."""
    target = rng.choice(NUMBERS if not type.is_float else FLOATS)
    word = operand(rng.choice(INTEGERS))
    lowest = operand(rng.choice((Int32, UInt8))) % 70
    found = fixed.extract_bits(target if target in INTEGERS else Int16, word, lowest)
    return cast(target, found)


def _pair(types: tuple[Type, ...], function: Callable[[Expr, Expr], Expr]) -> Operation:
    return Operation(types, lambda rng, type, operand: function(operand(type), operand(type)))


def _one(types: tuple[Type, ...], function: Callable[[Expr], Expr]) -> Operation:
    return Operation(types, lambda rng, type, operand: function(operand(type)))


def _half(function: Callable[[Expr, Expr], Expr]) -> Operation:
    """The second operand has half the bits."""

    def made(rng: random.Random, type: Type, operand: Operand) -> Expr:
        return function(operand(type), operand(Type(type.code, type.bits // 2)))

    return Operation(tuple(t for t in INTEGERS if t.bits > 8), made)


def _shift(types: tuple[Type, ...], function: Callable[[Expr, Expr], Expr]) -> Operation:
    """By a number, by a drawn number of bits that the type has, or by a small one of any sign."""

    def made(rng: random.Random, type: Type, operand: Operand) -> Expr:
        signed, unsigned = Type("int", type.bits), Type("uint", type.bits)
        form = rng.randrange(3)
        if form == 0:
            return function(operand(type), constant(rng.randrange(min(5, type.bits)), unsigned))
        if form == 1:
            return function(operand(type), operand(unsigned) & (type.bits - 1))
        return function(operand(type), operand(signed) % 7 - 3)

    return Operation(types, made)


def _product(function: Callable[[Expr, Expr, Expr], Expr]) -> Operation:
    def made(rng: random.Random, type: Type, operand: Operand) -> Expr:
        amount = constant(rng.choice((1, type.bits // 2, type.bits - 1)), Type("uint", type.bits))
        return function(operand(type), operand(type), amount)

    return Operation(_NARROW, made)


def _lerp(rng: random.Random, type: Type, operand: Operand) -> Expr:
    weight = operand(rng.choice((UInt8, UInt16)))
    if type.is_float:
        weight = cast(type, weight) / float(weight.type.max_value)
    return fixed.lerp(operand(type), operand(type), weight)


def _converted(
    function: Callable[[Type, Expr], Expr], to: Callable[[Type], tuple[Type, ...]]
) -> Operation:
    def made(rng: random.Random, type: Type, operand: Operand) -> Expr:
        return function(rng.choice(to(type)), operand(type))

    return Operation(NUMBERS, made)


def _same_bits(type: Type) -> tuple[Type, ...]:
    return tuple(t for t in NUMBERS if t.bits == type.bits and t != type)


ELEMENTARY = tuple(
    n for n in FLOAT_FUNCTIONS if n not in ("sqrt", "floor", "ceil", "round", "trunc")
)
"""Functions that differ in the last place between the reference and compiled code."""


def coarse(name: str, *places: Expr) -> Expr:
    """An elementary function at one of sixteen numbers, or of pairs of them, in steps that are so
    coarse that the last place decides nothing.
    """
    numbers = tuple(place * _STEP + _FIRST for place in places)
    return fn.floor(getattr(fn, name)(*numbers) * 8 + _OFF)


_STEP, _FIRST, _OFF = 0.375, -2.0625, 0.3671875


def _math(name: str) -> Operation:
    if name not in ELEMENTARY:
        return _one(FLOATS, getattr(fn, name))
    operands = 2 if name in ("pow", "atan2") else 1

    def made(rng: random.Random, type: Type, operand: Operand) -> Expr:
        return coarse(name, *(cast(type, operand(UInt8) & 15) for _ in range(operands)))

    return Operation(FLOATS, made)


def _mux(rng: random.Random, type: Type, operand: Operand) -> Expr:
    return fn.mux(operand(UInt8) % 3, [operand(type) for _ in range(3)])


OPERATIONS: dict[str, Operation] = {
    "add": _pair(NUMBERS, lambda a, b: a + b),
    "sub": _pair(NUMBERS, lambda a, b: a - b),
    "mul": _pair(NUMBERS, lambda a, b: a * b),
    "div": _pair(NUMBERS, lambda a, b: a / b),
    "mod": _pair(NUMBERS, lambda a, b: a % b),
    "min": _pair(NUMBERS, fn.min),
    "max": _pair(NUMBERS, fn.max),
    "lt": _pair(NUMBERS, lambda a, b: a < b),
    "le": _pair(NUMBERS, lambda a, b: a <= b),
    "gt": _pair(NUMBERS, lambda a, b: a > b),
    "ge": _pair(NUMBERS, lambda a, b: a >= b),
    "eq": _pair(NUMBERS, lambda a, b: a == b),
    "ne": _pair(NUMBERS, lambda a, b: a != b),
    "and": _pair((Bool,), lambda a, b: a & b),
    "or": _pair((Bool,), lambda a, b: a | b),
    "not": _one((Bool,), lambda a: ~a),
    "bit_and": _pair(INTEGERS, lambda a, b: a & b),
    "bit_or": _pair(INTEGERS, lambda a, b: a | b),
    "bit_xor": _pair(INTEGERS, lambda a, b: a ^ b),
    "bit_not": _one(INTEGERS, lambda a: ~a),
    "shift_left": _shift(INTEGERS, lambda a, b: a << b),
    "shift_right": _shift(INTEGERS, lambda a, b: a >> b),
    "count_leading_zeros": _one(INTEGERS, fixed.count_leading_zeros),
    "count_trailing_zeros": _one(INTEGERS, fixed.count_trailing_zeros),
    "popcount": _one(INTEGERS, fixed.popcount),
    "reinterpret": Operation(NUMBERS, _reinterpret),
    "abs": _one((*SIGNED, *FLOATS), fn.abs),
    "select": Operation(
        TYPES, lambda rng, type, operand: fn.select(operand(Bool), operand(type), operand(type))
    ),
    "cast": _converted(cast, lambda type: tuple(t for t in TYPES if t != type)),
    "absd": _pair(NUMBERS, fixed.absd),
    "widening_add": _pair(_NARROW, fixed.widening_add),
    "widening_sub": _pair(_NARROW, fixed.widening_sub),
    "widening_mul": _pair(_NARROW, fixed.widening_mul),
    "widen_right_add": _half(fixed.widen_right_add),
    "widen_right_sub": _half(fixed.widen_right_sub),
    "widen_right_mul": _half(fixed.widen_right_mul),
    "halving_add": _pair(INTEGERS, fixed.halving_add),
    "halving_sub": _pair(INTEGERS, fixed.halving_sub),
    "rounding_halving_add": _pair(INTEGERS, fixed.rounding_halving_add),
    "rounding_shift_left": _shift(INTEGERS, fixed.rounding_shift_left),
    "rounding_shift_right": _shift(INTEGERS, fixed.rounding_shift_right),
    "widening_shift_left": _shift(_NARROW, fixed.widening_shift_left),
    "widening_shift_right": _shift(_NARROW, fixed.widening_shift_right),
    "saturating_add": _pair(INTEGERS, fixed.saturating_add),
    "saturating_sub": _pair(INTEGERS, fixed.saturating_sub),
    "saturating_cast": _converted(fixed.saturating_cast, lambda type: NUMBERS),
    "extract_bits": Operation(NUMBERS, _extract_bits),
    "mul_shift_right": _product(fixed.mul_shift_right),
    "rounding_mul_shift_right": _product(fixed.rounding_mul_shift_right),
    "lerp": Operation((*(t for t in _NARROW), *FLOATS), _lerp),
    "mux": Operation(NUMBERS, _mux),
    "likely": _one(TYPES, fixed.likely),
    "likely_if_innermost": _one(TYPES, fixed.likely_if_innermost),
    "is_nan": _one(FLOATS, fixed.is_nan),
    "is_inf": _one(FLOATS, fixed.is_inf),
    "is_finite": _one(FLOATS, fixed.is_finite),
    "fast_exp": _of_numbers(quick.fast_exp),
    "fast_log": _of_numbers(quick.fast_log),
    "fast_pow": _of_numbers(quick.fast_pow, 2),
    "fast_sin": _of_numbers(quick.fast_sin),
    "fast_cos": _of_numbers(quick.fast_cos),
    "fast_inverse": _of_numbers(quick.fast_inverse),
    "fast_inverse_sqrt": _of_numbers(quick.fast_inverse_sqrt),
    "random_uint": Operation((UInt32,), lambda rng, *_: quick.random_uint(rng.randrange(9))),
    "random_int": Operation((Int32,), lambda rng, *_: quick.random_int(rng.randrange(9))),
    "random_float": Operation((Float32,), lambda rng, *_: quick.random_float(rng.randrange(9))),
    **{name: _math(name) for name in FLOAT_FUNCTIONS},
}
"""By the name that a node has where the operator is written."""

IN_COORDINATES = tuple(
    name
    for name in OPERATIONS
    if name not in FLOAT_FUNCTIONS and not name.startswith(("fast_", "random_", "is_"))
)
"""Operators that are drawn in coordinates; of floats only what makes integers of them."""


def applied(rng: random.Random, name: str, type: Type | None, operand: Operand) -> Expr:
    """An operator applied in ``type``, where it can be, or in some type."""
    operation = OPERATIONS[name]
    chosen = type if type in operation.types else None
    return operation.made(rng, chosen or rng.choice(operation.types), operand)
