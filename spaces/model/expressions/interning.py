"""Classes whose equal instances are one object, with a digest of their structure."""

from __future__ import annotations

import threading
import zlib
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

from spaces.model.deadline import ask_clock

_table: WeakValueDictionary[Any, Any] = WeakValueDictionary()
_lock = threading.RLock()

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
        known = _table.get(key)
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
            return _table.setdefault(key, node)
