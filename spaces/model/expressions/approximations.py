"""Fast elementary functions and pseudorandom numbers, under Halide's names."""

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
    """E raised to ``x``, with a relative error up to 3e-7
    (:mod:`spaces.model.expressions.fast_math`).

    Raises:
        TypeError: ``x`` is not a float32 (every function of this group raises it).
    """
    return _fast("fast_exp", x)


def fast_log(x: ExprLike) -> Expr:
    """Natural logarithm of a positive number, with an error up to 4e-7."""
    return _fast("fast_log", x)


def fast_pow(x: ExprLike, y: ExprLike) -> Expr:
    """``x`` raised to ``y``, for ``x`` from 0 on. A constant integer ``y`` becomes a product, as in
    :func:`~spaces.model.expressions.functions.pow`.
    """
    exponent = as_expr(y)
    if isinstance(exponent, Const) and exponent.type.is_int:
        return fn.pow(x, exponent)
    return _fast("fast_pow", cast(Float32, as_expr(x)), cast(Float32, exponent))


def fast_sin(x: ExprLike) -> Expr:
    """Sine of an angle in radians, with an error up to 3e-7 for angles up to 1000."""
    return _fast("fast_sin", x)


def fast_cos(x: ExprLike) -> Expr:
    """Cosine of an angle in radians, with an error up to 3e-7 for angles up to 1000."""
    return _fast("fast_cos", x)


def fast_inverse(x: ExprLike) -> Expr:
    """``1 / x``; here an exact division, not an approximation."""
    return _fast("fast_inverse", x)


def fast_inverse_sqrt(x: ExprLike) -> Expr:
    """``1 / sqrt(x)``; here an exact division, not an approximation."""
    return _fast("fast_inverse_sqrt", x)


def random_float(seed: ExprLike = 0) -> Expr:
    """A pseudorandom float32 in ``[0, 1)``: a pure function of ``seed`` and of the coordinates
    (Vars and RVars) of the definition that holds it. Equal seeds give equal numbers in one
    definition.

    Raises:
        TypeError: ``seed`` is not an integer of 32 bits (every function of this group raises it).
    """
    return _random(Float32, "random_float", seed)


def random_uint(seed: ExprLike = 0) -> Expr:
    """A pseudorandom uint32 over all its values; otherwise as :func:`random_float`."""
    return _random(UInt32, "random_uint", seed)


def random_int(seed: ExprLike = 0) -> Expr:
    """A pseudorandom int32 over all its values; otherwise as :func:`random_float`."""
    return _random(Int32, "random_int", seed)


def _random(type: Type, name: str, seed: ExprLike) -> Expr:
    given = as_expr(seed)
    if given.type not in (Int32, UInt32):
        raise TypeError(
            f"The seed `{given}` of {name} is {given.type}; it must be int32 or uint32."
        )
    return Op(type, name, (given,))
