"""A search that goes on in turns with other work, and pauses in between."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable
from time import monotonic

from attrs import define, field

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Done, Event, Found, Improved, Scored
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.registry import Strategy
from spaces.enumerate.search.search import search
from spaces.enumerate.search.structure_distance import strip_factors
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.deadline import Deadline, OutOfTime, ask_clock, stopping_at

POLL = 0.2
"""Seconds between two looks at a search that goes on."""

_ENDING = 1.0
"""The most seconds to wait for the end of a search that is given up."""


@define(eq=False)
class PausingSearch:
    """A search that works only while somebody lets it. A context manager, which gives it up.

    It has a thread of its own, and pauses wherever it asks the clock. So it needs no events, and
    never works at the same time as its caller.

    Attributes:
        space: the space.
        model: the cost model.
        strategy: the search; None for the default one.
        limits: its limits; without a time limit.
        found: its best schedules so far, cheapest first, at most ``limits.top``.
        structures: how many structures it has scored.
        considered: how many structures it has looked at.
        legal: how many structures have a legal choice, among those judged.
        is_over: whether it ended by itself.
        worked: the seconds that it has worked.
    """

    space: ScheduleSpace
    model: CostModel
    strategy: Strategy | None
    limits: Limits
    found: tuple[Found, ...] = field(init=False, default=())
    structures: int = field(init=False, default=0)
    considered: int = field(init=False, default=0)
    legal: int = field(init=False, default=0)
    is_over: bool = field(init=False, default=False)
    worked: float = field(init=False, default=0.0)
    _turn: threading.Condition = field(init=False, factory=threading.Condition, repr=False)
    _may_go: bool = field(init=False, default=False)
    _rests: bool = field(init=False, default=False)
    _is_given_up: bool = field(init=False, default=False)
    _error: Exception | None = field(init=False, default=None)
    _thread: threading.Thread | None = field(init=False, default=None, repr=False)

    def advance(self, seconds: float, look: Callable[[], None] = lambda: None) -> None:
        """Lets the search go on for that many seconds, or until it ends.

        Args:
            seconds: the time.
            look: called every :data:`POLL` seconds meanwhile.

        Raises:
            OutOfTime: a deadline around this call is past.
            EmptySpaceError, PluginError, ValueError: as :func:`search` does.
        """
        if self.is_over or seconds <= 0:
            return
        deadline, began = Deadline.after(seconds), monotonic()
        with self._turn:
            self._may_go, self._rests = True, False
            self._turn.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="search", daemon=True)
            self._thread.start()
        try:
            while not deadline.is_past and not self._await_rest(min(POLL, deadline.left)):
                ask_clock()
                look()
        finally:
            self._may_go = False
            self._await_rest(None)
            self.worked += monotonic() - began
        if self._error is not None:
            raise self._error

    def _await_rest(self, seconds: float | None) -> bool:
        """Waits until the thread rests, at most that many seconds; returns whether it does."""
        with self._turn:
            return self._turn.wait_for(lambda: self._rests, seconds)

    def _work(self) -> None:
        """What the thread does."""
        try:
            with stopping_at(self._pause):
                for event in search(self.space, self.model, self.strategy, self.limits):
                    self._note(event)
        except OutOfTime:
            pass
        except Exception as error:  # whoever waits gets it
            self._error = error
            self.is_over = True
        with self._turn:
            self._rests = True
            self._turn.notify_all()

    @property
    def _must_rest(self) -> bool:
        return not (self._may_go or self._is_given_up)

    def _pause(self) -> None:
        """Called where the search asks the clock."""
        if not self._may_go:
            self._rest()
        if self._is_given_up:
            raise OutOfTime

    def _rest(self) -> None:
        with self._turn:
            while self._must_rest:
                self._rests = True
                self._turn.notify_all()
                self._turn.wait()
            self._rests = False

    def _note(self, event: Event) -> None:
        match event:
            case Improved(best):
                others = [
                    one
                    for one in self.found
                    if strip_factors(one.schedule) != strip_factors(best.schedule)
                ]
                ranked = heapq.nsmallest(self.limits.top, [best, *others], key=lambda f: f.cost)
                self.found = tuple(ranked)
            case Scored():
                self.structures = event.structures
                self.considered, self.legal = event.considered, event.legal
            case Done():
                self.found, self.structures = event.best, event.structures
                self.is_over = True
            case _:
                pass

    def close(self) -> None:
        """Gives the search up."""
        with self._turn:
            self._is_given_up = True
            self._turn.notify_all()
        if self._thread is not None:
            self._thread.join(_ENDING)

    def __enter__(self) -> PausingSearch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
