"""Quick elementary functions, and numbers that look random, under Halide's names."""

from __future__ import annotations

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Const, Expr, ExprLike, Op, as_expr, cast
from spaces.model.expressions.types import Float32, Int32, Type, UInt32


def _fast(name: str, *values: ExprLike) -> Expr:
    args = tuple(as_expr(v) for v in values)
    for arg in args:
        if arg.type != Float32:
            raise TypeError(f"`{arg}` is {arg.type}, but {name} takes float32; cast it first.")
    return Op(Float32, name, args)


def fast_exp(x: ExprLike) -> Expr:
    """E raised to ``x``, to 3e-7 of the result (:mod:`spaces.model.expressions.fast_math`).

    Raises:
        TypeError: ``x`` is no float32 (as in all of this group).
    """
    return _fast("fast_exp", x)


def fast_log(x: ExprLike) -> Expr:
    """Natural logarithm of a positive number, to 4e-7."""
    return _fast("fast_log", x)


def fast_pow(x: ExprLike, y: ExprLike) -> Expr:
    """``x`` raised to ``y`` for ``x`` not negative; a constant whole ``y`` multiplies, as in
    :func:`~spaces.model.expressions.functions.pow`.
    """
    exponent = as_expr(y)
    if isinstance(exponent, Const) and exponent.type.is_int:
        return fn.pow(x, exponent)
    return _fast("fast_pow", cast(Float32, as_expr(x)), cast(Float32, exponent))


def fast_sin(x: ExprLike) -> Expr:
    """Sine of an angle in radians, to 3e-7 for angles up to 1000."""
    return _fast("fast_sin", x)


def fast_cos(x: ExprLike) -> Expr:
    """Cosine of an angle in radians, to 3e-7 for angles up to 1000."""
    return _fast("fast_cos", x)


def fast_inverse(x: ExprLike) -> Expr:
    """``1 / x``, here exactly that."""
    return _fast("fast_inverse", x)


def fast_inverse_sqrt(x: ExprLike) -> Expr:
    """``1 / sqrt(x)``, here exactly that."""
    return _fast("fast_inverse_sqrt", x)


def random_float(seed: ExprLike = 0) -> Expr:
    """A float32 of ``[0, 1)``, a pure function of ``seed`` and of the coordinates (Vars and RVars)
    of the definition it stands in; equal seeds give equal numbers there.

    Raises:
        TypeError: ``seed`` is no integer of 32 bits (as in all of this group).
    """
    return _random(Float32, "random_float", seed)


def random_uint(seed: ExprLike = 0) -> Expr:
    """A uint32 of which every bit looks random, as :func:`random_float`."""
    return _random(UInt32, "random_uint", seed)


def random_int(seed: ExprLike = 0) -> Expr:
    """An int32 of which every bit looks random, as :func:`random_float`."""
    return _random(Int32, "random_int", seed)


def _random(type: Type, name: str, seed: ExprLike) -> Expr:
    given = as_expr(seed)
    if given.type not in (Int32, UInt32):
        raise TypeError(
            f"The seed `{given}` of {name} is {given.type}; it must be int32 or uint32."
        )
    return Op(type, name, (given,))
