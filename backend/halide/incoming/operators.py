"""Halide's intrinsics and functions as expressions of this library, by name.

Names and meanings are those of ``src/IR.cpp`` and ``src/IROperator.h`` of Halide 21.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from spaces.backend.halide.file import nodes
from spaces.backend.halide.incoming.problems import Unsupported
from spaces.model.expressions import functions as fn
from spaces.model.expressions.definitions import LANGUAGE, fits
from spaces.model.expressions.expr import Expr, Op, cast, compare, constant
from spaces.model.expressions.intrinsics import FLOAT_FUNCTIONS
from spaces.model.expressions.types import Type

OperatorMaker: TypeAlias = Callable[[Type, Sequence[Expr]], Expr]
"""Makes an expression of a type from operands."""

BINARY: Mapping[type[nodes.BinaryNode], str] = {
    nodes.AddNode: "add",
    nodes.SubNode: "sub",
    nodes.MulNode: "mul",
    nodes.DivNode: "div",
    nodes.ModNode: "mod",
    nodes.MinNode: "min",
    nodes.MaxNode: "max",
    nodes.EQNode: "eq",
    nodes.NENode: "ne",
    nodes.LTNode: "lt",
    nodes.LENode: "le",
    nodes.GTNode: "gt",
    nodes.GENode: "ge",
    nodes.AndNode: "and",
    nodes.OrNode: "or",
}
"""The operators between two operands."""


def operation(name: str, type: Type, args: Sequence[Expr]) -> Expr:
    """An operator of this library, if its operands have types that it takes.

    Raises:
        Unsupported: they have not.
    """
    operands = tuple(args)
    if not fits(name, type, tuple(one.type for one in operands)):
        shown = ", ".join(str(one.type) for one in operands)
        raise Unsupported(f"{name} of ({shown}) that gives {type} has no counterpart here.")
    if name in ("eq", "ne") and operands[0] is operands[1]:
        return compare(name, *operands)
    return Op(type, name, operands)


def _named(name: str) -> OperatorMaker:
    return lambda type, args: operation(name, type, args)


def _logical(of_bits: str, of_conditions: str) -> OperatorMaker:
    """An operator that has another name where its operands are conditions."""
    return lambda type, args: operation(of_conditions if type.is_bool else of_bits, type, args)


def _taking(count: int, maker: OperatorMaker) -> OperatorMaker:
    """What takes that many operands; a damaged file may have others."""

    def made(type: Type, args: Sequence[Expr]) -> Expr:
        if len(args) != count:
            raise Unsupported(f"it has {len(args)} operands, and Halide gives it {count}.")
        return maker(type, args)

    return made


def _first(type: Type, args: Sequence[Expr]) -> Expr:
    return args[0]


def _first_of_some(type: Type, args: Sequence[Expr]) -> Expr:
    if not args:
        raise Unsupported("it has no operands.")
    return args[0]


def _magnitude(type: Type, args: Sequence[Expr]) -> Expr:
    return args[0] if args[0].type.is_uint else operation("abs", type, args)


def _kept_inside(type: Type, args: Sequence[Expr]) -> Expr:
    """A promise that a value lies between two others: that it does changes no value, and keeps its
    range known.
    """
    value, low, high = args
    return operation("max", type, (operation("min", type, (value, high)), low))


def _choice(type: Type, args: Sequence[Expr]) -> Expr:
    if len(args) != 3:
        raise Unsupported("if_then_else without a value for the other case has no counterpart.")
    return operation("select", type, args)


def _extracted(type: Type, args: Sequence[Expr]) -> Expr:
    """Some bits of a value; the number of the lowest one is at least as wide as the value here."""
    value, lowest = args
    wide = Type(lowest.type.code, max(lowest.type.bits, value.type.bits))
    return operation("extract_bits", type, (value, cast(wide, lowest)))


def _joined(type: Type, args: Sequence[Expr]) -> Expr:
    """The bits of several values one after the other, those of the first lowest."""
    result: Expr = constant(0, type)
    place = 0
    for one in args:
        bits = Type("uint", one.type.bits)
        raw = one if one.type == bits else Op(bits, "reinterpret", (one,))
        result = result | (cast(type, raw) << constant(place, type))
        place += one.type.bits
    return result


def _quotient_to_zero(type: Type, args: Sequence[Expr]) -> Expr:
    a, b = args
    if not type.is_int:
        return a / b
    unsigned = fn.abs(a) / fn.abs(b)
    size = cast(type, unsigned)
    return fn.select((a < 0) ^ (b < 0), constant(0, type) - size, size)


def _rest_to_zero(type: Type, args: Sequence[Expr]) -> Expr:
    a, b = args
    return a - _quotient_to_zero(type, args) * b if type.is_int else a % b


_SAME = frozenset(LANGUAGE) - {
    *FLOAT_FUNCTIONS,
    *("abs", "select", "undef", "require", "likely_at", "foreign"),
    *("random_uint", "random_int", "random_float", "is_nan", "is_inf", "is_finite"),
} | {"round"}
"""Intrinsics that this library has under their own names."""

INTRINSICS: Mapping[str, OperatorMaker] = {
    **{name: _named(name) for name in sorted(_SAME)},
    "abs": _taking(1, _magnitude),
    "bitwise_and": _logical("bit_and", "and"),
    "bitwise_or": _logical("bit_or", "or"),
    "bitwise_xor": _logical("bit_xor", "ne"),
    "bitwise_not": _logical("bit_not", "not"),
    "concat_bits": _joined,
    "div_round_to_zero": _taking(2, _quotient_to_zero),
    "extract_bits": _taking(2, _extracted),
    "if_then_else": _choice,
    "memoize_expr": _first_of_some,
    "mod_round_to_zero": _taking(2, _rest_to_zero),
    "promise_clamped": _taking(3, _kept_inside),
    "unsafe_promise_clamped": _taking(3, _kept_inside),
    **{
        f"strict_{name}": _named(name)
        for name in ("add", "sub", "mul", "div", "min", "max", "eq", "le", "lt")
    },
}
"""The intrinsics that are functions of their operands."""

INTRINSICS_OF_CONDITIONS: Mapping[str, OperatorMaker] = {
    **INTRINSICS,
    **dict.fromkeys(("promise_clamped", "unsafe_promise_clamped"), _taking(3, _first)),
}
"""The same in the condition of an update. What is promised there holds where the condition does:
`rfactor` tests so whether a place lies inside of the domain.
"""

_SUFFIXES = ("_f32", "_f64")

_OF_FLOATS = {
    **{name: _named(name) for name in FLOAT_FUNCTIONS},
    **{
        name: _named(name)
        for name in ("is_nan", "is_inf", "is_finite", "fast_inverse", "fast_inverse_sqrt")
    },
    "nan": lambda type, args: constant(math.nan, type),
    "inf": lambda type, args: constant(math.inf, type),
    "neg_inf": lambda type, args: constant(-math.inf, type),
}

EXTERNS: Mapping[str, OperatorMaker] = {
    f"{name}{suffix}": maker for name, maker in _OF_FLOATS.items() for suffix in _SUFFIXES
}
"""The functions of Halide's runtime that are functions of their operands."""

STRICT = frozenset(name for name in INTRINSICS if name.startswith("strict_"))
"""Float operators that Halide calculates as written whatever the target says."""

WITHOUT_COUNTERPART: Mapping[str, str] = {
    "debug_to_file": "writing values to a file (debug_to_file)",
    "return_second": "printing values (print, print_when)",
    "scatter_gather": "storing several values at once (scatter, gather)",
    "target_arch_is": "asking for the target",
    "target_bits": "asking for the target (target_bits)",
    "target_has_feature": "asking for the target (target_has_feature)",
    "target_natural_vector_size": "asking for the target (natural_vector_size)",
    "target_os_is": "asking for the target",
}
"""What people know some intrinsics by that this library lacks."""
