"""How long the number of candidates, the first schedule and three random ones take, app by app."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from bench.spaces.limits import Found, limited
from bench.spaces.subjects import SUBJECTS, Subject
from spaces.enumerate.space.counting.estimate import about
from spaces.enumerate.space.schedule_space import ScheduleSpace

SECONDS = 5.0
"""The time limit of one app; building its space takes part of it."""

LISTED = ("small", "expert")
"""The presets whose schedules are listed and drawn."""


def candidates() -> Found:
    """The number of candidates of each space of patterns."""
    return _each(("small",), _candidates)


def first() -> Found:
    """The first schedule of each iteration."""
    return _each(LISTED, _first)


def sample() -> Found:
    """Three random schedules of each space."""
    return _each(LISTED, _sample)


def _each(presets: tuple[str, ...], ask: Callable[[ScheduleSpace], Found]) -> Found:
    return {
        preset: {
            str(subject): limited(partial(_asked, ask, subject, preset), SECONDS)
            for subject in SUBJECTS
        }
        for preset in presets
    }


def _asked(ask: Callable[[ScheduleSpace], Found], subject: Subject, preset: str) -> Found:
    return ask(subject.space(preset))


def _candidates(space: ScheduleSpace) -> Found:
    start = time.process_time()
    number = space.candidates
    return {"s": time.process_time() - start, "candidates": about(number)}


def _first(space: ScheduleSpace) -> Found:
    start = time.process_time()
    next(iter(space))
    return {"s": time.process_time() - start}


def _sample(space: ScheduleSpace) -> Found:
    start = time.process_time()
    drawn = space.sample(3, seconds=SECONDS)
    seconds = time.process_time() - start
    return {"s": seconds, "schedules_per_second": len(drawn) / seconds}
