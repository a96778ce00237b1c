"""Rarer garbage collection while a search works.

A search makes millions of small formulas that live until it ends. Python looks through all of them
again and again for unreachable cycles: a sixth of the time on pipelines of 40 stages or more.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")

THRESHOLDS = (50_000, 20, 100)
"""How many new objects, younger collections and middle ones start a collection (``gc``)."""


def with_rare_garbage(items: Iterator[T]) -> Iterator[T]:
    """The same items. Between them the thresholds are those of the caller."""
    while True:
        before = gc.get_threshold()
        gc.set_threshold(*THRESHOLDS)
        try:
            item = next(items)
        except StopIteration:
            return
        finally:
            gc.set_threshold(*before)
        yield item
