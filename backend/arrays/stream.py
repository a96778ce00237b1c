"""A stream of CUDA. This file needs nothing else, so that it goes where the driver's calls go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

LEGACY = 1
"""The number by which interfaces between libraries name the default stream, since there 0 is not
clear: CUDA Array Interface, version 3.
"""


@dataclass(frozen=True, slots=True)
class Stream:
    """A queue of work on a GPU.

    Attributes:
        handle: the driver's number of the stream; 0 is the default stream.
        given: the caller's stream, which must live as long.
    """

    handle: int
    given: Any = field(default=None, compare=False, repr=False)

    @property
    def is_default(self) -> bool:
        """Whether this is the default stream."""
        return self.handle == 0

    @property
    def shared_handle(self) -> int:
        """Its number between libraries, never 0."""
        return self.handle or LEGACY


DEFAULT_STREAM = Stream(0)
"""The default stream. It waits for the other streams of the device, and they wait for it, but for
those that were made not to.
"""
