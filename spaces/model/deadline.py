"""The time limit of a call, for all work that the call leads to.

A call with a time limit makes one :class:`Deadline` and keeps it. Everything inside that walks
formulas, asks rules or adds up counts asks the clock, and raises :class:`OutOfTime` once the
deadline is past. The caller then returns the best answer so far. Work outside of a deadline takes
as long as it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import TypeVar

from attrs import frozen

Made = TypeVar("Made")


class OutOfTime(BaseException):
    """The deadline around the work is past.

    Not an ``Exception``: no handler of errors takes the end of the time for an error.
    """


@frozen
class Deadline:
    """The moment at which a call has to return.

    Attributes:
        at: in seconds of the monotonic clock; infinity for no limit.
    """

    at: float = math.inf

    @staticmethod
    def after(seconds: float | None) -> Deadline:
        """The deadline that many seconds from now; none for None."""
        return Deadline(math.inf if seconds is None else monotonic() + seconds)

    def later(self, seconds: float) -> Deadline:
        """The deadline that many seconds after this one."""
        return Deadline(self.at + seconds)

    @property
    def is_past(self) -> bool:
        """Whether the time is up."""
        return monotonic() >= self.at

    @property
    def left(self) -> float:
        """The seconds that are left, at least 0."""
        return max(0.0, self.at - monotonic())

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keeps the deadline: work inside ends soon after it. Of two deadlines around the same work
        the earlier one counts.

        Raises:
            OutOfTime: the deadline passed.
        """
        token = _kept.set(min(self.at, _kept.get()))
        try:
            ask_clock()
            yield
        finally:
            _kept.reset(token)

    def each(self, values: Iterable[Made]) -> Iterator[Made]:
        """The same values; the deadline is kept while each is made.

        Raises:
            OutOfTime: the deadline passed.
        """
        made = iter(values)
        while True:
            with self.kept():
                try:
                    value = next(made)
                except StopIteration:
                    return
            yield value


NO_DEADLINE = Deadline()
"""The deadline of a call without a time limit."""

_kept: ContextVar[float] = ContextVar("deadline", default=math.inf)


_stop: ContextVar[Callable[[], None] | None] = ContextVar("stop", default=None)


@contextmanager
def stopping_at(stop: Callable[[], None]) -> Iterator[None]:
    """Calls a function whenever work inside asks the clock: it may wait there, or end the work with
    :class:`OutOfTime`.
    """
    token = _stop.set(stop)
    try:
        yield
    finally:
        _stop.reset(token)


def ask_clock() -> None:
    """Ends the work if its time is up.

    Raises:
        OutOfTime: a deadline around this call is past.
    """
    stop = _stop.get()
    if stop is not None:
        stop()
    at = _kept.get()
    if at < math.inf and monotonic() >= at:
        raise OutOfTime


def time_left() -> float:
    """The seconds until the deadline around this call; infinity if there is none."""
    return _kept.get() - monotonic()
