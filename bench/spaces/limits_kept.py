"""How late searches, counts and samples end after their time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from bench.spaces.limits import Found, limited
from bench.spaces.subjects import DEVICES, THREE, Subject
from spaces.constraints.devices.device import GpuDevice
from spaces.cost.registry import cost_model
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.registry import default_strategy
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.schedule_space import ScheduleSpace

SECONDS = 1.0
"""The time limit that is given."""

GRACE = 15.0
"""Seconds after which a measurement is killed that should have ended."""

MANY = 1_000_000
"""More schedules than a sample draws in time."""


def measure() -> Found:
    """Seconds between the limit and the end of each call; negative if it ends before."""
    return {
        str(subject): {
            name: limited(partial(_late, call, subject), GRACE) for name, call in CALLS.items()
        }
        for subject in (Subject(app, name) for app in THREE for name in DEVICES)
    }


def _late(call: Callable[[ScheduleSpace], object], subject: Subject) -> Found:
    space = subject.space("small")
    start = time.perf_counter()
    with suppress(EmptySpaceError, TimeoutError):  # so these calls say that the time is up
        call(space)
    return {"late_s": time.perf_counter() - start - SECONDS}


def _searched(strategy: str) -> Callable[[ScheduleSpace], object]:
    def call(space: ScheduleSpace) -> object:
        name = "occupancy" if isinstance(space.device, GpuDevice) else "reuse"
        model = cost_model(name, space.device)
        return best(search(space, model, strategy, Limits(seconds=SECONDS)))

    return call


SEARCHES = (default_strategy(), "stagewise", "annealing", "beam", "exhaustive")

CALLS: dict[str, Callable[[ScheduleSpace], object]] = {
    **{f"search {s}": _searched(s) for s in SEARCHES},
    "count": lambda space: space.count(seconds=SECONDS),
    "bounds": lambda space: space.bounds(seconds=SECONDS),
    "sample": lambda space: space.sample(MANY, seconds=SECONDS),
}
