"""Instructions of the host that LLVM does not find by itself, matched in vector expressions.

On x86: the high halves of rounded products (``pmulhrsw``, for ``rounding_mul_shift_right`` of int16
by 15), and sums of neighboring products (``pmaddwd``).
"""

from __future__ import annotations

from functools import cache

from attrs import frozen

from spaces.backend.ir.vectors import Broadcast, Shuffle
from spaces.machine_code import host_target
from spaces.model.expressions.expr import Cast, Const, Expr, Op
from spaces.model.expressions.types import Int16, Int32

_ROUNDED = {
    8: ("llvm.x86.ssse3.pmul.hr.sw.128", "ssse3"),
    16: ("llvm.x86.avx2.pmul.hr.sw", "avx2"),
    32: ("llvm.x86.avx512.pmul.hr.sw.512", "avx512bw"),
}
_PAIRS = {
    4: ("llvm.x86.sse2.pmadd.wd", "sse2"),
    8: ("llvm.x86.avx2.pmadd.wd", "avx2"),
    16: ("llvm.x86.avx512.pmaddw.d.512", "avx512bw"),
}
"""For each number of lanes of the result: the intrinsic, and the feature of the processor that it
needs.
"""


@frozen
class Instruction:
    """A call of an intrinsic of LLVM."""

    intrinsic: str
    operands: tuple[Expr, ...]


def instruction(node: Expr) -> Instruction | None:
    """The instruction that computes ``node``. None if no instruction does."""
    match node:
        case Cast(type=to, value=Op(name="shift_right") as halved) if to.element == Int16:
            operands = _rounded_product(halved)
            name = _available(_ROUNDED, to.lanes)
        case Op(name="add", type=to, args=(Op(name="mul") as a, Op(name="mul") as b)):
            operands = _neighbors(a, b) if to.element == Int32 and to.lanes > 1 else None
            name = _available(_PAIRS, to.lanes)
        case _:
            return None
    return None if operands is None or name is None else Instruction(name, operands)


def _available(table: dict[int, tuple[str, str]], lanes: int) -> str | None:
    name, feature = table.get(lanes, ("", ""))
    return name if feature in _features() else None


@cache
def _features() -> frozenset[str]:
    """The features of the processor; empty if it is not an x86."""
    host = host_target()
    given = host.features.split(",") if host.triple.startswith("x86_64") else []
    return frozenset(one[1:] for one in given if one.startswith("+"))


def _rounded_product(node: Op) -> tuple[Expr, ...] | None:
    """The factors of ``(a * b >> 14) + 1 >> 1``."""
    match node.args:
        case (Op(name="add", args=(Op(name="shift_right", args=(product, by)), one)), last):
            if (_number(by), _number(one), _number(last)) == (14, 1, 1):
                return _factors(product)
    return None


def _neighbors(a: Op, b: Op) -> tuple[Expr, ...] | None:
    """The two vectors with ``a`` as the product of their even lanes and ``b`` as the product of
    their odd lanes.
    """
    even, odd = _factors(a), _factors(b)
    if even is None or odd is None:
        return None
    whole = tuple(_joined(x, y) for x, y in zip(even, odd, strict=True))
    first, second = whole
    return None if first is None or second is None else (first, second)


def _joined(even: Expr, odd: Expr) -> Expr | None:
    """The vector with these even and odd lanes."""
    if not (isinstance(even, Shuffle) and isinstance(odd, Shuffle)) or even.parts != odd.parts:
        return None
    lanes = 2 * even.type.lanes
    if even.picks != tuple(range(0, lanes, 2)) or odd.picks != tuple(range(1, lanes, 2)):
        return None
    return Shuffle(even.type.with_lanes(lanes), even.parts, tuple(range(lanes)))


def _factors(product: Expr) -> tuple[Expr, ...] | None:
    """The int16 factors of a product of int32."""
    match product:
        case Op(name="mul", args=(Cast(value=a), Cast(value=b))):
            if product.type.element == Int32 and a.type.element == b.type.element == Int16:
                return a, b
    return None


def _number(expr: Expr) -> float | None:
    inner = expr.value if isinstance(expr, Broadcast) else expr
    return inner.value if isinstance(inner, Const) else None
