"""Numbers that look random and are a pure function of a seed and of where they are computed.

The words are mixed one after the other by the finaliser of MurmurHash3, a public-domain hash whose
every output bit depends on every input bit. The bits are this library's own, not Halide's.
"""

from __future__ import annotations

from spaces.model.expressions.expr import Expr, Op, cast, constant
from spaces.model.expressions.types import Float32, Type, UInt32

_STEP = 0x9E3779B9
"""2**32 over the golden ratio: what sets the words apart by their order."""


def random_uint(type: Type, *words: Expr) -> Expr:
    """32 bits made of all ``words``, integers of 32 bits."""
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
    """A float32 of ``[0, 1)``: the upper 23 bits as the fraction of a number from 1 up to 2."""
    bits = (random_uint(UInt32, *words) >> 9) | constant(0x3F800000, UInt32)
    return Op(Float32, "reinterpret", (bits,)) - constant(1.0, Float32)
