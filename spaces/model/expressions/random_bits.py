"""Pseudorandom numbers: pure functions of a seed and of coordinates.

The finaliser of MurmurHash3, a public-domain hash, mixes in one word after another; each of its
output bits depends on every input bit. The resulting bits differ from Halide's.
"""

from __future__ import annotations

from spaces.model.expressions.expr import Expr, Op, cast, constant
from spaces.model.expressions.types import Float32, Type, UInt32

_STEP = 0x9E3779B9
"""2**32 over the golden ratio; it makes the result depend on the order of the words."""


def random_uint(type: Type, *words: Expr) -> Expr:
    """A number of 32 bits made of all ``words``, integers of 32 bits."""
    state: Expr = constant(_STEP, UInt32)
    for word in words:
        state = _mixed(state * 5 + _STEP ^ cast(UInt32, word))
    return state


def _mixed(word: Expr) -> Expr:
    word = (word ^ (word >> 16)) * constant(0x85EBCA6B, UInt32)
    word = (word ^ (word >> 13)) * constant(0xC2B2AE35, UInt32)
    return word ^ (word >> 16)


def random_int(type: Type, *words: Expr) -> Expr:
    """The same bits as a signed number."""
    return cast(type, random_uint(UInt32, *words))


def random_float(type: Type, *words: Expr) -> Expr:
    """A float32 in ``[0, 1)``: the upper 23 bits become the fraction of a number in ``[1, 2)``."""
    bits = (random_uint(UInt32, *words) >> 9) | constant(0x3F800000, UInt32)
    return Op(Float32, "reinterpret", (bits,)) - constant(1.0, Float32)
