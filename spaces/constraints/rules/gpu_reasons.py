"""Explains the numbers of a kernel in words, and suggests smaller ones."""

from __future__ import annotations

from collections.abc import Iterable

from spaces.constraints.sizes.kernels import Kernel, SymbolicDim3, ThreadLoops, element_bytes
from spaces.model.expressions.expr import Const, Expr
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.allocation import Allocation

_AXES = "xyz"


def product(extents: SymbolicDim3) -> str:
    """``33 x 33 = 1089``, without trailing dimensions of 1; formulas for unknown numbers."""
    kept = list(extents)
    while len(kept) > 1 and _number(kept[-1]) == 1:
        kept.pop()
    numbers = [_number(e) for e in kept]
    total = 1
    for number in numbers:
        total = total * number if number is not None else 0
    text = " x ".join(str(e) if n is None else str(n) for e, n in zip(kept, numbers, strict=True))
    return text if None in numbers or len(kept) == 1 else f"{text} = {total}"


def widening(kernel: Kernel, simplify: Simplifier) -> str:
    """`` because blur_x must cover blur_y's tile of 32 x 32 plus 1 along x and 1 along y``, or
    nothing where the stage that begins the kernel is itself the widest.
    """
    own = _own_threads(kernel)
    extra: dict[str, list[str]] = {}
    for d, widest in enumerate(kernel.block):
        most = _number(widest)
        base = 1 if own is None else _extent(own, d, simplify)
        culprit = next((t for t in kernel.threads if _extent(t, d, simplify) == most), None)
        if most is None or base is None or most == base or culprit is None:
            continue
        extra.setdefault(culprit.func, []).append(f"{most - base} along {_AXES[d]}")
    tile = "one thread" if own is None else f"tile of {' x '.join(map(str, own.extents))}"
    phrases = [
        f"{func} must cover {kernel.func}'s {tile} plus {' and '.join(more)}"
        for func, more in extra.items()
    ]
    return f", because {' and '.join(phrases)}" if phrases else ""


def smaller_tiles(kernel: Kernel, limit: int, simplify: Simplifier) -> str:
    """``, such as 30 x 32 or 32 x 30``: tiles with one side made smaller until the block fits.

    A producer adds no more to a smaller side, so that these tiles fit; larger ones may fit as well.
    """
    own = _own_threads(kernel)
    block = [_number(extent) for extent in kernel.block]
    tile = [] if own is None else [_extent(own, d, simplify) for d in range(len(own.extents))]
    found = []
    for d, side in enumerate(tile):
        whole = block[d]
        if side is None or whole is None or None in block or None in tile:
            return ""
        others = 1
        for other in (*block[:d], *block[d + 1 :]):
            others *= other or 1
        fits = limit // others - (whole - side)
        if fits >= 1:
            found.append(" x ".join(map(str, (*tile[:d], fits, *tile[d + 1 :]))))
    return f", such as {' or '.join(found)}" if found else ""


def in_bytes(allocations: Iterable[Allocation]) -> str:
    """``gray 38 x 14 x 4 bytes = 2128, blur_y 38 x 8 x 4 bytes = 1216``: the extents of each array
    and the size of its elements.
    """
    return ", ".join(map(_bytes, allocations))


def _bytes(allocation: Allocation) -> str:
    numbers = [_number(extent) for extent in allocation.extents]
    sides = " x ".join(str(e) for e in (*allocation.extents, element_bytes(allocation)))
    total = element_bytes(allocation)
    for number in numbers:
        total *= number or 0
    return f"{allocation.func} {sides} bytes" + ("" if None in numbers else f" = {total}")


def derivation(number: Expr) -> str:
    """``(f.extent.0 + 31) / 32 = `` for a computed number; nothing for a literal."""
    return "" if isinstance(number, Const) else f"{number} = "


def _own_threads(kernel: Kernel) -> ThreadLoops | None:
    """The thread loops of the stage that begins the kernel."""
    own = (kernel.func, kernel.stage)
    return next((t for t in kernel.threads if (t.func, t.stage) == own), None)


def _extent(threads: ThreadLoops, d: int, simplify: Simplifier) -> int | None:
    return _number(simplify(threads.extents[d])) if d < len(threads.extents) else 1


def _number(expr: Expr) -> int | None:
    return int(expr.value) if isinstance(expr, Const) else None
