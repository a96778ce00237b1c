"""Which machine of a cluster measures which schedules next. No Dask and no clock here."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import define, field

from spaces.backend.measuring.session import MeasuringError
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.schedules.schedule import Schedule

MOST_AHEAD = 4
"""How many tasks wait for each machine at most: what is proposed far ahead knows few results."""


@define(eq=False)
class QueuedSchedule:
    """A schedule to measure.

    Attributes:
        number: its number.
        schedule: the schedule.
        failures: how many tasks that had it were lost or failed.
        places: the machines of these tasks.
    """

    number: int
    schedule: Schedule
    failures: int = 0
    places: set[str] = field(factory=set)


@define(eq=False)
class Station:
    """A machine that measures one task at a time.

    Attributes:
        place: what tells it from others.
        workers: the addresses of its workers.
        task: the task that runs on it; None if it is idle.
        worker: the worker that has the task.
        queued: the schedules of the task.
        failures: how many tasks in a row failed on it.
        failed: the numbers of their schedules.
        was_starved: whether it ended a task and found no further one.
    """

    place: str
    workers: list[str] = field(factory=list)
    task: Any = None
    worker: str = ""
    queued: Sequence[QueuedSchedule] = ()
    failures: int = 0
    failed: set[int] = field(factory=set)
    was_starved: bool = False


@define(eq=False)
class HandOut:
    """Hands out schedules to machines that come and go.

    Attributes:
        share: how many schedules a task has at most.
        losses: how many tasks may be lost with a schedule before the schedule counts as crashed.
            Also how many tasks in a row, with as many different schedules, may fail on a machine
            before the machine is left out.
        give: called with the number of a schedule and its result.
        stations: the machines by place.
        waiting: the schedules that no machine has.
        ahead: how many tasks wait for each machine: one at first, and one more whenever a machine
            ends its task and none waits. Proposing takes longer then than measuring.
    """

    share: int
    losses: int
    give: Callable[[int, Measurement], None]
    stations: dict[str, Station] = field(init=False, factory=dict)
    waiting: deque[QueuedSchedule] = field(init=False, factory=deque)
    ahead: int = field(init=False, default=1)

    @property
    def wanted(self) -> int:
        """How many further schedules would keep all machines busy: a task that runs, and those
        that wait for it to end.
        """
        running = sum(len(one.queued) for one in self.stations.values())
        room = (1 + self.ahead) * self.share * max(len(self.stations), 1)
        return max(0, room - running - len(self.waiting))

    @property
    def is_at_work(self) -> bool:
        """Whether a schedule has no result yet."""
        return bool(self.waiting) or any(one.queued for one in self.stations.values())

    def add(self, schedules: Sequence[tuple[int, Schedule]]) -> None:
        """Takes schedules, each with its number."""
        self.waiting.extend(QueuedSchedule(number, schedule) for number, schedule in schedules)

    def add_worker(self, worker: str, place: str) -> None:
        """Takes in a worker of a machine, unless it is known."""
        station = self.stations.setdefault(place, Station(place))
        if worker not in station.workers:
            station.workers.append(worker)

    def begin_tasks(self) -> Iterator[Station]:
        """Gives each idle machine its next schedules (:attr:`Station.queued`). Whoever asks sets
        the task.
        """
        for station in self.stations.values():
            if station.task is None:
                queued = self._next(station.place)
                if queued:
                    station.worker, station.queued = station.workers[0], queued
                    station.was_starved = False
                    yield station

    def _next(self, place: str) -> list[QueuedSchedule]:
        """The next schedules for a machine; one whose task failed comes alone, and to a machine
        that has not had it, as long as there is one. Near the end, tasks are smaller: all machines
        end at about the same time.
        """
        may_have = (one for one in self.waiting if self._may_have(place, one))
        first = next(may_have, None)
        if first is None:
            return []
        self.waiting.remove(first)
        queued = [first]
        share = min(self.share, math.ceil((len(self.waiting) + 1) / len(self.stations)))
        while (
            not first.failures
            and len(queued) < share
            and self.waiting
            and not self.waiting[0].failures
        ):
            queued.append(self.waiting.popleft())
        return queued

    def _may_have(self, place: str, one: QueuedSchedule) -> bool:
        return place not in one.places or self.stations.keys() <= one.places

    def finish(self, station: Station, results: Sequence[Measurement | None]) -> None:
        """Takes the results of a task; None for schedules for which there was no time."""
        station.failures = 0
        station.failed.clear()
        if not self.waiting and not station.was_starved:
            station.was_starved = True
            self.ahead = min(MOST_AHEAD, self.ahead + 1)
        for one, found in zip(self._end(station), results, strict=True):
            if found is not None:
                self.give(one.number, found)

    def put_back(self, station: Station) -> None:
        """Takes back the schedules of a task that did not begin."""
        self.waiting.extendleft(reversed(self._end(station)))

    def fail(self, station: Station, error: BaseException) -> list[str]:
        """Takes back the schedules of a task that raised an error. Returns the workers of the
        machine if it is left out from now on: tasks with several schedules failed there, so it is
        not one schedule that fails everywhere.
        """
        station.failures += 1
        if isinstance(error, MeasuringError):  # no fault of the candidates
            self.put_back(station)
        else:
            station.failed |= {one.number for one in station.queued}
            self._take_back(station, f"Tasks that measured it failed: {error}")
            if len(station.failed) < self.losses:
                return []
        if station.failures < self.losses:
            return []
        del self.stations[station.place]
        return station.workers

    def lose_worker(self, worker: str, place: str) -> Any:
        """Forgets a worker that is gone, and returns its task, which measures nothing any more;
        None if it had none.
        """
        station = self.stations.get(place)
        if station is None or worker not in station.workers:
            return None
        station.workers.remove(worker)
        task = station.task if station.worker == worker else None
        if task is not None:
            self._take_back(station, f"Dask lost {self.losses} workers that measured it.")
        if not station.workers:
            del self.stations[place]
        return task

    def drop(self) -> list[Any]:
        """Drops all schedules that have no result, and returns the tasks that measure some."""
        self.waiting.clear()
        tasks = [one.task for one in self.stations.values() if one.task is not None]
        for station in self.stations.values():
            self._end(station)
        return tasks

    def _end(self, station: Station) -> Sequence[QueuedSchedule]:
        queued = station.queued
        station.task, station.queued = None, ()
        return queued

    def _take_back(self, station: Station, reason: str) -> None:
        """Puts the schedules of a task in front of all others, unless their tasks failed too
        often.
        """
        for one in reversed(self._end(station)):
            one.failures += 1
            one.places.add(station.place)
            if one.failures >= self.losses:
                self.give(one.number, Measurement(one.schedule, RunOutcome.CRASHED, reason))
            else:
                self.waiting.appendleft(one)
