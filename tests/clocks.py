"""A clock for tests of time limits."""

from __future__ import annotations


class Clock:
    """A clock that stands still, or moves on by ``step`` seconds whenever somebody looks at it."""

    def __init__(self) -> None:
        self.now, self.step, self.looks = 0.0, 0.0, 0

    def __call__(self) -> float:
        self.looks += 1
        self.now += self.step
        return self.now
