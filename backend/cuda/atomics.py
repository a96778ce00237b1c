"""Functions of CUDA that change an element in one atomic step."""

from __future__ import annotations

from collections.abc import Mapping

from spaces.backend.cuda.c_text import CExpression, call, conversion, ctype
from spaces.model.expressions.types import Type

_FUNCTIONS: Mapping[str, str] = {
    "add": "atomicAdd",
    "min": "atomicMin",
    "max": "atomicMax",
    "bit_and": "atomicAnd",
    "bit_or": "atomicOr",
    "bit_xor": "atomicXor",
}
"""CUDA C++ Programming Guide, "Atomic Functions"; every supported device has them."""


def atomic_call(operator: str, type: Type, place: str, value: CExpression) -> str | None:
    """The call that changes the element at the address ``place``; None if CUDA has no such
    function. CUDA's sums of 32-bit floats treat denormal numbers in global memory as zero.
    """
    name = _FUNCTIONS.get(operator)
    if type.is_float:
        native = operator == "add" and type.bits == 32
        return str(call(name or "", CExpression(place), value)) if native else None
    if name is None or type.bits < 32:
        return None
    word = ctype(type)
    if operator not in ("min", "max"):  # other results have the same bits for both signs
        word = f"unsigned {'int' if type.bits == 32 else 'long long'}"
    if word == ctype(type):
        return str(call(name, CExpression(place), value))
    return str(call(name, CExpression(f"({word}*){place}"), conversion(word, value)))
