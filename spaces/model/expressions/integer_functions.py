"""Fixed-point arithmetic, bits and conversions, under Halide's names."""

from __future__ import annotations

from spaces.model.expressions.expr import Const, Expr, ExprLike, Op, as_expr, cast, match, wider
from spaces.model.expressions.types import Type, type_of


def _require_integers(name: str, *operands: Expr, most_bits: int = 64) -> None:
    for operand in operands:
        if operand.type.is_float or operand.type.is_bool or operand.type.bits > most_bits:
            limit = f" of at most {most_bits} bits (twice as many hold its result)"
            raise TypeError(
                f"`{operand}` is {operand.type}, but {name} takes integers"
                f"{limit if most_bits < 64 else ''}; cast it first."
            )


def _same(name: str, a: ExprLike, b: ExprLike) -> Expr:
    left, right = match(a, b)
    _require_integers(name, left, right)
    return Op(left.type, name, (left, right))


def _unsigned(type: Type) -> Type:
    return Type("uint", type.bits)


def absd(a: ExprLike, b: ExprLike) -> Expr:
    """``abs(a - b)`` without overflow; integers give an unsigned result of the same width."""
    left, right = match(a, b)
    result = left.type if left.type.is_float else _unsigned(left.type)
    return Op(result, "absd", (left, right))


def widening_add(a: ExprLike, b: ExprLike) -> Expr:
    """``a + b`` in twice the bits.

    Raises:
        TypeError: an operand is not an integer of at most 32 bits (every function of this group
            raises it).
    """
    left, right = match(a, b)
    _require_integers("widening_add", left, right, most_bits=32)
    return Op(Type(left.type.code, 2 * left.type.bits), "widening_add", (left, right))


def widening_sub(a: ExprLike, b: ExprLike) -> Expr:
    """``a - b`` in twice the bits, always signed."""
    left, right = match(a, b)
    _require_integers("widening_sub", left, right, most_bits=32)
    return Op(Type("int", 2 * left.type.bits), "widening_sub", (left, right))


def widening_mul(a: ExprLike, b: ExprLike) -> Expr:
    """``a * b`` in twice the bits, signed if ``a`` or ``b`` is signed."""
    left, right = as_expr(a, getattr(b, "type", None)), as_expr(b, getattr(a, "type", None))
    left, right = wider(left, right), wider(right, left)
    _require_integers("widening_mul", left, right, most_bits=32)
    code = left.type.code if left.type.is_int else right.type.code
    return Op(Type(code, 2 * left.type.bits), "widening_mul", (left, right))


def widen_right_add(a: ExprLike, b: ExprLike) -> Expr:
    """``a + b`` where ``b`` has half the bits of ``a`` and its sign."""
    return _widen_right("widen_right_add", a, b)


def widen_right_sub(a: ExprLike, b: ExprLike) -> Expr:
    """``a - b`` where ``b`` has half the bits of ``a`` and its sign."""
    return _widen_right("widen_right_sub", a, b)


def widen_right_mul(a: ExprLike, b: ExprLike) -> Expr:
    """``a * b`` where ``b`` has half the bits of ``a`` and its sign."""
    return _widen_right("widen_right_mul", a, b)


def _widen_right(name: str, a: ExprLike, b: ExprLike) -> Expr:
    left, right = as_expr(a), as_expr(b)
    _require_integers(name, left)
    _require_integers(name, right, most_bits=32)
    if left.type != Type(right.type.code, 2 * right.type.bits):
        raise TypeError(
            f"{name} takes a number and one of half its bits, but `{left}` is {left.type} and "
            f"`{right}` is {right.type}."
        )
    return Op(left.type, name, (left, right))


def halving_add(a: ExprLike, b: ExprLike) -> Expr:
    """``(a + b) / 2`` without overflow, rounded down."""
    return _same("halving_add", a, b)


def rounding_halving_add(a: ExprLike, b: ExprLike) -> Expr:
    """``(a + b + 1) / 2`` without overflow, rounded down: the average, halves rounded up."""
    return _same("rounding_halving_add", a, b)


def halving_sub(a: ExprLike, b: ExprLike) -> Expr:
    """``(a - b) / 2`` without overflow, rounded down, then wrapped to the type."""
    return _same("halving_sub", a, b)


def rounding_shift_right(a: ExprLike, amount: ExprLike) -> Expr:
    """``a / 2**amount`` rounded to the nearest, halves up; ``amount`` may be negative."""
    return _shift("rounding_shift_right", a, amount)


def rounding_shift_left(a: ExprLike, amount: ExprLike) -> Expr:
    """``a * 2**amount``; a negative ``amount`` rounds to the nearest, halves up."""
    return _shift("rounding_shift_left", a, amount)


def widening_shift_left(a: ExprLike, amount: ExprLike) -> Expr:
    """``a * 2**amount`` in twice the bits; ``amount`` may be negative."""
    return _shift("widening_shift_left", a, amount)


def widening_shift_right(a: ExprLike, amount: ExprLike) -> Expr:
    """``a / 2**amount`` rounded down, in twice the bits; ``amount`` may be negative."""
    return _shift("widening_shift_right", a, amount)


_MIRRORED = {
    "widening_shift_right": "widening_shift_left",
    "widening_shift_left": "widening_shift_right",
    "rounding_shift_right": "rounding_shift_left",
    "rounding_shift_left": "rounding_shift_right",
}


def _shift(name: str, a: ExprLike, amount: ExprLike) -> Expr:
    value = as_expr(a)
    if isinstance(amount, int) and amount < 0:
        return _shift(_MIRRORED[name], value, -amount)
    by = as_expr(amount, _unsigned(value.type)) if isinstance(amount, int) else as_expr(amount)
    value, by = wider(value, by), wider(by, value)
    widens = name.startswith("widening")
    _require_integers(name, value, by, most_bits=32 if widens else 64)
    result = Type(value.type.code, 2 * value.type.bits) if widens else value.type
    return Op(result, name, (value, by))


def saturating_add(a: ExprLike, b: ExprLike) -> Expr:
    """``a + b``, limited to the range of the type; for floats the plain sum."""
    return _saturating("saturating_add", a, b)


def saturating_sub(a: ExprLike, b: ExprLike) -> Expr:
    """``a - b``, limited to the range of the type; for floats the plain difference."""
    return _saturating("saturating_sub", a, b)


def _saturating(name: str, a: ExprLike, b: ExprLike) -> Expr:
    left, right = match(a, b)
    if not left.type.is_float:
        _require_integers(name, left, right)
    return Op(left.type, name, (left, right))


def saturating_cast(to: Type | str, value: ExprLike) -> Expr:
    """``value`` converted to ``to`` and limited to its range; a float rounds toward zero.

    Raises:
        TypeError: ``to`` is the boolean type.
    """
    target, given = type_of(to), as_expr(value)
    if target.is_bool:
        raise TypeError(f"saturating_cast makes numbers; it cannot make a condition of `{given}`.")
    same = given.type == target and not target.is_float
    return given if same else Op(target, "saturating_cast", (given,))


def mul_shift_right(a: ExprLike, b: ExprLike, amount: ExprLike) -> Expr:
    """``a * b / 2**amount`` rounded down and limited to the range of the type; ``amount`` is
    unsigned.

    Raises:
        TypeError: a factor is not an integer of at most 32 bits, or ``amount`` is signed.
    """
    return _mul_shift("mul_shift_right", a, b, amount)


def rounding_mul_shift_right(a: ExprLike, b: ExprLike, amount: ExprLike) -> Expr:
    """Like :func:`mul_shift_right`, but rounded to the nearest, halves up."""
    return _mul_shift("rounding_mul_shift_right", a, b, amount)


def _mul_shift(name: str, a: ExprLike, b: ExprLike, amount: ExprLike) -> Expr:
    left, right = match(a, b)
    by = as_expr(amount, _unsigned(left.type)) if isinstance(amount, int) else as_expr(amount)
    if not by.type.is_uint or by.type.is_bool:
        raise TypeError(f"The shift of {name} is unsigned, but `{by}` is {by.type}.")
    left, right, by = wider(left, by), wider(right, by), wider(by, left)
    _require_integers(name, left, right, most_bits=32)
    return Op(left.type, name, (left, right, by))


def lerp(zero: ExprLike, one: ExprLike, weight: ExprLike) -> Expr:
    """Linear interpolation from ``zero`` (at weight 0) to ``one`` (at weight 1). ``weight`` is a
    float from 0 to 1, or an unsigned integer whose largest value stands for 1. Integers round to
    the nearest.

    Raises:
        TypeError: the ends have different types, or are integers of 64 bits, or the weight is
            signed.
        ValueError: the ends are integers, and a constant float weight is not from 0 to 1.
    """
    low, high = as_expr(zero), as_expr(one)
    if isinstance(low, Const) and low.type.is_int:
        low = cast(high.type, low)
    elif isinstance(high, Const) and high.type.is_int:
        high = cast(low.type, high)
    part = as_expr(weight)
    if low.type != high.type or (not low.type.is_float and low.type.bits == 64):
        raise TypeError(
            f"lerp goes between two values of one type, of at most 32 bits if integers, not from "
            f"`{low}`, which is {low.type}, to `{high}`, which is {high.type}; cast them."
        )
    if part.type.is_int:
        raise TypeError(f"The weight of lerp is unsigned or a float, but `{part}` is {part.type}.")
    is_share = part.type.is_float and not low.type.is_float
    if is_share and isinstance(part, Const) and not 0 <= part.value <= 1:
        raise ValueError(f"The weight {part} of a lerp of integers is not between 0 and 1.")
    return Op(low.type, "lerp", (low, high, part))


def popcount(x: ExprLike) -> Expr:
    """The number of set bits, in the type of ``x``."""
    return _bits("popcount", x)


def count_leading_zeros(x: ExprLike) -> Expr:
    """The number of zero bits above the highest set bit, in the type of ``x``; all bits for 0."""
    return _bits("count_leading_zeros", x)


def count_trailing_zeros(x: ExprLike) -> Expr:
    """The number of zero bits below the lowest set bit, in the type of ``x``; all bits for 0."""
    return _bits("count_trailing_zeros", x)


def _bits(name: str, x: ExprLike) -> Expr:
    value = as_expr(x)
    _require_integers(name, value)
    return Op(value.type, name, (value,))


def reinterpret(to: Type | str, value: ExprLike) -> Expr:
    """The bits of ``value`` read as another type of the same width.

    Raises:
        TypeError: the widths differ, or ``to`` is the boolean type.
    """
    target, given = type_of(to), as_expr(value)
    if target.bits != given.type.bits or target.is_bool:
        raise TypeError(
            f"`{given}` is {given.type}; reinterpret cannot read its bits as {target}. The types "
            "must be numbers of one width."
        )
    return given if target == given.type else Op(target, "reinterpret", (given,))


def extract_bits(to: Type | str, value: ExprLike, lowest: ExprLike) -> Expr:
    """The bits of ``value`` from bit number ``lowest`` on, as many as ``to`` has, read as ``to``.
    Bits that ``value`` does not have are 0. So ``extract_bits(UInt8, word, 8 * n)`` is byte ``n``.

    Raises:
        TypeError: ``to`` or ``value`` is a condition, or ``lowest`` is not an integer.
    """
    target, given, first = type_of(to), as_expr(value), as_expr(lowest)
    if target.is_bool or given.type.is_bool:
        raise TypeError(f"extract_bits cannot take {target} from `{given}`, which is {given.type}.")
    _require_integers("The lowest bit of extract_bits", first)
    return Op(target, "extract_bits", (given, wider(first, given)))


def likely(value: ExprLike) -> Expr:
    """``value``, with a hint: this side of a test is the usual one. Compilation splits loops into a
    steady state and its boundaries by such hints.
    """
    return _hint("likely", value)


def likely_if_innermost(value: ExprLike) -> Expr:
    """``value``, with the hint of :func:`likely` for innermost loops only."""
    return _hint("likely_if_innermost", value)


def _hint(name: str, value: ExprLike) -> Expr:
    given = as_expr(value)
    return Op(given.type, name, (given,))


def _float_test(name: str, x: ExprLike) -> Expr:
    value = as_expr(x)
    if not value.type.is_float:
        raise TypeError(f"`{value}` is {value.type}, but {name} takes floats only.")
    return Op(Type("uint", 1), name, (value,))


def is_nan(x: ExprLike) -> Expr:
    """Whether ``x`` is NaN.

    Raises:
        TypeError: ``x`` is not a float (``is_inf`` and ``is_finite`` raise it, too).
    """
    return _float_test("is_nan", x)


def is_inf(x: ExprLike) -> Expr:
    """Whether ``x`` is infinite."""
    return _float_test("is_inf", x)


def is_finite(x: ExprLike) -> Expr:
    """Whether ``x`` is neither infinite nor NaN."""
    return _float_test("is_finite", x)
