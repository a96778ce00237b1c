"""Numbers in the short forms that people read: ``43.2 KiB``, ``4.72 M``, ``1536 × 2560``."""

from __future__ import annotations

import math
from collections.abc import Iterable

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def shown_bytes(size: float) -> str:
    """Bytes in the largest unit that fits: ``532 B``, ``43.2 KiB``."""
    power = 0
    while size >= 1024 and power < len(_UNITS) - 1:
        size, power = size / 1024, power + 1
    return f"{size:,.{0 if power == 0 or size >= 100 else 1}f} {_UNITS[power]}"


def shown_count(number: float) -> str:
    """A count: whole up to ten thousand, then with three digits and a unit."""
    if not math.isfinite(number):
        return "∞"
    if abs(number) < 10_000:
        return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.3g}"
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:,.0f}"


def shown_number(number: float) -> str:
    """A number in a table: whole numbers with all digits, others with four."""
    return f"{number:,}" if isinstance(number, int) else f"{number:,.4g}"


def shown_seconds(seconds: float) -> str:
    """A time: ``12.3 ms``, ``450 µs``."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def shown_box(extents: Iterable[float]) -> str:
    """Extents of a box: ``1536 × 7``; ``one value`` without dimensions."""
    return " × ".join(map(shown_count, extents)) or "one value"


def shown_share(share: float) -> str:
    """A share in percent; small ones as such."""
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{share:.1%}".replace("%", " %")
