"""Damaged files: each ends in a sentence, or is a pipeline after all, soon and in little memory."""

from __future__ import annotations

import resource
import struct
import time
from collections.abc import Iterator, Sequence

import numpy as np

from spaces import HalideFileError, HalideImportError, read_hlpipe

SECONDS = 1.0
"""Processor time for one file."""

MEGABYTES = 200
"""Memory that all files together may add to the process."""

_NUMBERS = (0, 1, 2, 4, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """A file with damage: other bits, numbers or distances; parts cut off, moved or doubled."""
    found = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        if len(found) < 16:
            break
        at = int(rng.integers(0, len(found) - 8))
        match int(rng.integers(0, 8)):
            case 0:
                found[at] ^= 1 << int(rng.integers(0, 8))
            case 1:
                found[at] = int(rng.integers(0, 256))
            case 2:
                number = _NUMBERS[int(rng.integers(0, len(_NUMBERS)))]
                struct.pack_into("<I", found, at & ~3, number)
            case 3:
                here = struct.unpack_from("<I", found, at & ~3)[0]
                change = int(rng.integers(-64, 65))
                struct.pack_into("<I", found, at & ~3, (here + change) & 0xFFFFFFFF)
            case 4:
                del found[at:]
            case 5:
                size, source = int(rng.integers(1, 64)), int(rng.integers(0, len(found)))
                found[at : at + size] = found[source : source + size]
            case 6:
                # A distance to another table: of two tables with one child, or of another kind.
                target = int(rng.integers(at, len(found))) & ~3
                struct.pack_into("<I", found, at & ~3, max(target - (at & ~3), 0))
            case _:
                struct.pack_into("<H", found, at & ~1, int(rng.integers(0, 300)))
    return bytes(found)


def ending(data: bytes) -> str:
    """How reading a file ends: `read`, or the name of the error that tells what is wrong."""
    try:
        read_hlpipe(data)
    except (HalideFileError, HalideImportError) as error:
        words = str(error)
        assert words.endswith((".", ":")) or "\n" in words, words
        return type(error).__name__
    return "read"


def tried(
    files: Sequence[bytes], count: int, seed: int, first: int = 0
) -> Iterator[tuple[str, float]]:
    """How reading damaged files ends, and the processor time of each in seconds. The damage of a
    file depends on its number alone, and ``first`` is that of the first one.
    """
    for number in range(first, first + count):
        data = damaged(files[number % len(files)], np.random.default_rng([seed, number]))
        began = time.process_time()
        yield ending(data), time.process_time() - began


def megabytes() -> float:
    """The most memory that the process has used."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
