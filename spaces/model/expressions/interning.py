"""Classes whose equal instances are one object, with a digest of their structure."""

from __future__ import annotations

import threading
import zlib
from functools import lru_cache
from typing import Any
from weakref import ref

from spaces.model.deadline import ask_clock

_table: dict[Any, ref[Any]] = {}
"""All nodes, by key. The key of a node that is gone stays until the next sweep: a callback for each
node that goes would take longer than to make it.
"""

_lock = threading.RLock()

_FEW = 1 << 15
"""A table of fewer nodes is not swept."""

_sweep_at = _FEW
"""The number of keys at which the table is swept."""

_recent: dict[Any, Any] = {}
"""Recently used nodes, by key. Code that judges one schedule after another builds the same formulas
again and again, and finds them here.
"""

_MOST_RECENT = 1 << 14
"""The most nodes in ``_recent``; at this number it drops all of them."""


@lru_cache(maxsize=4096)
def _text_digest(text: object) -> int:
    """A hash of a text, equal in every run (Python's hashes of strings vary between runs)."""
    return zlib.crc32(str(text).encode())


def _digest(kind: str, fields: tuple[Any, ...]) -> int:
    parts = [_text_digest(kind)]
    for value in fields:
        for item in value if isinstance(value, tuple) else (value,):
            parts.append(item.digest if type(type(item)) is Interned else _text_digest(item))
    return hash(tuple(parts))


class Interned(type):
    """A metaclass: a call of its class returns the one node that has these fields."""

    def __call__(cls, *fields: Any) -> Any:
        key = (cls, cls._identity(fields))  # type: ignore[attr-defined]
        known = _recent.get(key)
        if known is not None:
            return known
        kept = _table.get(key)
        known = None if kept is None else kept()
        if known is None:
            known = cls._made(key, fields)
        if len(_recent) >= _MOST_RECENT:
            _recent.clear()
        _recent[key] = known
        return known

    def _made(cls, key: Any, fields: tuple[Any, ...]) -> Any:
        ask_clock()
        node = super().__call__(*fields)
        # Set all derived attributes before other threads see the node.
        object.__setattr__(node, "children", node._children())
        object.__setattr__(node, "digest", _digest(cls.__name__, key[1]))
        object.__setattr__(node, "names", node._free_names())
        object.__setattr__(node, "loads", node._loads())
        object.__setattr__(node, "has_floats", node._has_floats())
        with _lock:
            kept = _table.get(key)
            known = None if kept is None else kept()  # another thread may have made it meanwhile
            if known is not None:
                return known
            _table[key] = ref(node)
            if len(_table) >= _sweep_at:
                _sweep()
            return node


def _sweep() -> None:
    """Removes the keys of nodes that are gone, from the newest to the oldest. A key holds the
    children of its node, so these go with it, and are older.
    """
    global _sweep_at
    entries = list(_table.items())
    while entries:
        key, kept = entries.pop()
        if kept() is None:
            del _table[key]
    _sweep_at = max(_FEW, 2 * len(_table))
