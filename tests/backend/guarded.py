"""Arrays with guards around them: pages without access after the last element (or before the
first), and canaries between rows.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LIBRARY = ctypes.CDLL(None)
_CANARY = 0xAB


def guarded(
    values: NDArray[Any], *, at_end: bool = True, padding: int = 0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """A copy of ``values`` in new memory, and its canaries.

    With ``at_end`` its last element ends at a page that traps, else its first begins after one.
    ``padding`` elements of canary follow each row (the last axis).
    """
    if values.ndim == 0:
        row, canaries = guarded(values.reshape(1), at_end=at_end, padding=padding)
        return row.reshape(()), canaries
    rows = values.shape[:-1]
    padded = (*rows, values.shape[-1] + padding)
    size = int(np.prod(padded)) * values.itemsize
    page = mmap.PAGESIZE
    inner = -(-size // page) * page
    block = mmap.mmap(-1, inner + 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(block))
    for guard in (address, address + page + inner):
        assert _LIBRARY.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(page), 0) == 0
    offset = page + (inner - size if at_end else 0)
    whole = (
        np.frombuffer(block, np.uint8)[offset : offset + size].view(values.dtype).reshape(padded)
    )
    whole.view(np.uint8)[...] = _CANARY
    array = whole[..., : values.shape[-1]]
    array[...] = values
    return array, whole[..., values.shape[-1] :]


def assert_untouched(canaries: NDArray[Any]) -> None:
    """Asserts that the canaries are unchanged."""
    assert (np.ascontiguousarray(canaries).view(np.uint8) == _CANARY).all()
