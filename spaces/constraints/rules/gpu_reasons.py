"""Where the numbers of a kernel come from, in words."""

from __future__ import annotations

from spaces.constraints.kernels import Dim3, Kernel, ThreadLoops
from spaces.model.expr import Const, Expr
from spaces.model.simplify import Simplifier


def product(extents: Dim3) -> str:
    """``33 x 33 = 1089``, leaving out last dimensions of 1; formulas where not known."""
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
    own = next(
        (t for t in kernel.threads if (t.func, t.stage) == (kernel.func, kernel.stage)), None
    )
    extra: dict[str, list[str]] = {}
    for d, widest in enumerate(kernel.block):
        most = _number(widest)
        base = 1 if own is None else _extent(own, d, simplify)
        culprit = next((t for t in kernel.threads if _extent(t, d, simplify) == most), None)
        if most is None or base is None or most == base or culprit is None:
            continue
        extra.setdefault(culprit.func, []).append(f"{most - base} along {'xyz'[d]}")
    tile = "one thread" if own is None else f"tile of {' x '.join(map(str, own.extents))}"
    phrases = [
        f"{func} must cover {kernel.func}'s {tile} plus {' and '.join(more)}"
        for func, more in extra.items()
    ]
    return f", because {' and '.join(phrases)}" if phrases else ""


def sum_of_arrays(kernel: Kernel) -> str:
    """``gray 38 x 14 x 4, blur_y 38 x 8 x 4``: each array with its extents and element size."""
    return ", ".join(
        f"{a.func} {' x '.join(map(str, a.extents))} x {a.type.bytes}" for a in kernel.shared
    )


def _extent(threads: ThreadLoops, d: int, simplify: Simplifier) -> int | None:
    return _number(simplify(threads.extents[d])) if d < len(threads.extents) else 1


def _number(expr: Expr) -> int | None:
    return int(expr.value) if isinstance(expr, Const) else None
