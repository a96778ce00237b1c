"""Measures schedules on the machines of a Dask cluster. Importing this file needs no Dask.

Dask finds the workers and moves the tasks. Which machine gets which schedules is decided here: a
machine measures one task at a time, however many workers it has, and gets the next as soon as it is
idle. A task measures a few schedules as :class:`~spaces.backend.measuring.local.LocalMeasurer`
does.
"""

from __future__ import annotations

import importlib
import logging
import math
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

from attrs import define, evolve, field

from spaces.backend.measuring.hand_out import HandOut, Station
from spaces.backend.measuring.local import LocalMeasurer
from spaces.backend.measuring.machine import TuningMachine
from spaces.backend.measuring.session import MeasuringError
from spaces.backend.measuring.stations import (
    WorkerDescription,
    describe_worker,
    difference,
    most_common,
)
from spaces.backend.measuring.task import free_memory_bytes
from spaces.constraints.devices.device import CpuDevice, GpuDevice
from spaces.cost.measurer import Measurement
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline, OutOfTime, ask_clock, time_left
from spaces.model.extras import how_to_install
from spaces.model.schedules.schedule import Schedule

log = logging.getLogger("spaces.measuring")

SENDING = 10.0
"""Seconds in which a cluster takes the inputs."""

LOOKING = 0.5
"""Seconds between two looks at which workers there are."""


class DaskUnavailable(RuntimeError):
    """Dask is not installed, or its scheduler does not answer; ``str`` gives a sentence."""


@define(eq=False)
class DaskMeasurer:
    """Measures schedules on the workers of a Dask cluster. A context manager, which leaves the
    cluster.

    Every task times its schedules beside the reference on the machine that runs it. Ratios compare
    only between machines of one kind: the same processor, cores and versions. Workers of another
    kind are refused: a warning names each, and so does :attr:`refused`.

    Workers may come and go. If one is lost, its schedules are measured elsewhere, each apart.
    A study keeps all results up to the moment at which the scheduler ends.

    Dask runs whatever it is sent. Use it in a network that you trust, or give a
    ``distributed.Client`` with TLS (``security=``).

    Attributes:
        scheduler: the address of the scheduler, such as ``tcp://host:8786``, or a
            ``distributed.Client``.
        local: how each worker measures.
        share: how many schedules a task measures.
        losses: how many tasks may be lost with a schedule before it counts as crashed, and how many
            in a row may fail on a machine before it is refused.
        seconds: how long to wait for the scheduler, and for a first worker.
        kind: the kind of machine that measures; by default the kind that most workers are of at
            first.
        describe: tells the machine of the worker that runs it.
        refused: why workers are not used, by address.

    Raises:
        DaskUnavailable: Dask is not installed, or nothing answers at the address.

    >>> with DaskMeasurer("tcp://host:8786", LocalMeasurer(reference=study.reference)) as measurer:
    ...     study.run(measurer, seconds=600)
    """

    scheduler: Any
    local: LocalMeasurer = field(factory=LocalMeasurer)
    share: int = 2
    losses: int = 3
    seconds: float = 30.0
    kind: TuningMachine | None = None
    describe: Callable[[CpuDevice | GpuDevice], WorkerDescription] = describe_worker
    refused: dict[str, str] = field(init=False, factory=dict)
    _client: Any = field(init=False, repr=False)
    _is_own: bool = field(init=False)
    _hand_out: HandOut = field(init=False, repr=False)
    _known: dict[str, WorkerDescription] = field(init=False, factory=dict, repr=False)
    _asked: dict[str, Any] = field(init=False, factory=dict, repr=False)
    _found: queue.SimpleQueue[tuple[int, Measurement] | Exception] = field(
        init=False, factory=queue.SimpleQueue, repr=False
    )
    _sent: tuple[LocalMeasurer, Any] | None = field(init=False, default=None, repr=False)
    _pipeline: Pipeline | None = field(init=False, default=None, repr=False)
    _deadline: Deadline = field(init=False, factory=Deadline, repr=False)
    _alone_since: float = field(init=False, default=math.inf, repr=False)
    _looked: float = field(init=False, default=-math.inf, repr=False)
    _lock: threading.RLock = field(init=False, factory=threading.RLock, repr=False)

    def __attrs_post_init__(self) -> None:
        distributed = _import_distributed()
        self._hand_out = HandOut(
            self.share, self.losses, lambda number, found: self._found.put((number, found))
        )
        self._is_own = isinstance(self.scheduler, str)
        if not self._is_own:
            self._client = self.scheduler
            return
        try:
            self._client = distributed.Client(
                self.scheduler, timeout=self.seconds, set_as_default=False
            )
        except (OSError, ValueError) as error:
            raise DaskUnavailable(
                f"No Dask scheduler answers at {self.scheduler}: {error}. Start one with dask "
                "scheduler, and workers with dask worker."
            ) from None

    @property
    def machine(self) -> TuningMachine:
        """The kind of machine that measures.

        Raises:
            DaskUnavailable: no worker tells its kind within :attr:`seconds`.
        """
        end = time.monotonic() + self.seconds
        while self.kind is None:
            self._look_at_workers()
            if time.monotonic() > end:
                raise DaskUnavailable(
                    f"No worker of the Dask cluster can measure{self._refusals}. Start some with "
                    "dask worker, where this library has the same version."
                )
            time.sleep(0.02)
        return self.kind

    @property
    def wanted(self) -> int:
        """How many schedules would keep all machines busy now: a task that runs, and the next."""
        self._look_at_workers()
        with self._lock:
            return self._hand_out.wanted

    def submit(self, pipeline: Pipeline, schedules: Sequence[tuple[int, Schedule]]) -> None:
        """Takes schedules of one pipeline, each with a number of its own.

        Raises:
            ValueError: schedules of another pipeline have no result yet.
        """
        with self._lock:
            if self._pipeline not in (None, pipeline) and self._hand_out.is_at_work:
                raise ValueError("Collect all results of a pipeline, then measure another one.")
            self._pipeline = pipeline
            left = time_left()
            self._deadline = Deadline.after(None if math.isinf(left) else left)
            self._hand_out.add(schedules)
        self._begin_tasks()

    def collect(self, seconds: float) -> list[tuple[int, Measurement]]:
        """The results that have come; waits up to that many seconds for the first.

        Raises:
            DaskUnavailable: the scheduler is gone.
            MeasuringError: the trusted schedule or the reference fails on every machine.
        """
        end = time.monotonic() + seconds
        found: list[tuple[int, Measurement]] = []
        while True:
            self._look_at_workers()
            self._begin_tasks()
            self._check_machines()
            left = max(0.0, end - time.monotonic())
            try:
                one = self._found.get(timeout=0.0 if found else min(left, LOOKING))
            except queue.Empty:
                if found or left <= 0.0:
                    return found
                continue
            if isinstance(one, Exception):
                raise one
            found.append(one)

    def _check_machines(self) -> None:
        """Raises:
        DaskUnavailable: schedules wait, and there has been no machine for :attr:`seconds`.
        """
        with self._lock:
            work = self._hand_out
            has_some = bool(work.stations) or not work.waiting or self._is_asking
        now = time.monotonic()
        if has_some:
            self._alone_since = math.inf
        elif math.isinf(self._alone_since):
            self._alone_since = now
            log.warning("the Dask cluster has no worker that measures; waiting for one")
        elif now - self._alone_since > self.seconds:
            raise DaskUnavailable(
                f"The Dask cluster has had no worker that measures for {self.seconds:g} s"
                f"{self._refusals}. What was told before is kept; start workers, and run the same "
                "again."
            )

    @property
    def _refusals(self) -> str:
        """Why workers are not used, as the end of a sentence."""
        said = "; ".join(f"{worker}: {why}" for worker, why in self.refused.items())
        return f" ({said})" if said else ""

    def cancel(self) -> None:
        """Drops all schedules that have no result."""
        with self._lock:
            tasks = self._hand_out.drop()
            self._found = queue.SimpleQueue()
        for task in tasks:
            task.cancel()

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        """One measurement for each schedule, in their order.

        Raises:
            DaskUnavailable: the scheduler is gone.
            MeasuringError: the trusted schedule or the reference fails on every machine.
            OutOfTime: the time limit of the caller is over.
        """
        found: dict[int, Measurement] = {}
        try:
            self.submit(pipeline, list(enumerate(schedules)))
            while len(found) < len(schedules):
                ask_clock()
                found.update(self.collect(min(LOOKING, max(time_left(), 0.0))))
        except BaseException:
            self.cancel()
            raise
        return [found[number] for number in range(len(schedules))]

    def _look_at_workers(self) -> None:
        """Takes new workers in, and takes the schedules of lost ones back.

        Raises:
            DaskUnavailable: the scheduler is gone.
        """
        if time.monotonic() < self._looked + (LOOKING if self._known else 0.0):
            return
        try:
            if self._client.status != "running":
                raise OSError(f"the connection is {self._client.status}")
            present = set(self._client.nthreads())
        except (OSError, TimeoutError, RuntimeError, ValueError) as error:
            raise DaskUnavailable(
                f"The Dask scheduler at {self._address} is gone ({error}). What was told before "
                "is kept; start the scheduler and its workers, and run the same again."
            ) from None
        self._looked = time.monotonic()
        for worker in present - self._asked.keys():
            self._asked[worker] = self._client.submit(
                self.describe, self.local.device, workers=[worker], pure=False
            )
        for worker, task in list(self._asked.items()):
            if worker not in present:
                self._lose(worker)
            elif worker not in self._known and worker not in self.refused and task.done():
                self._meet(worker, task)
        self._choose_kind()

    @property
    def _is_asking(self) -> bool:
        """Whether a worker has not told its machine yet."""
        return any(one not in self._known and one not in self.refused for one in self._asked)

    @property
    def _address(self) -> str:
        return self.scheduler if self._is_own else str(self._client.scheduler)

    def _meet(self, worker: str, task: Any) -> None:
        """Takes the answer of a worker that was asked for its machine."""
        if task.status == "finished":
            self._known[worker] = task.result()
        elif task.status == "error":
            self._refuse(worker, f"it cannot tell its machine ({task.exception()!r})")
        else:
            del self._asked[worker]  # to be asked again

    def _choose_kind(self) -> None:
        """Decides the kind when the first workers have answered, and gives workers their places."""
        if self.kind is None and not self._is_asking:
            self.kind = most_common(one.machine for one in self._known.values())
        if self.kind is None:
            return
        for worker, found in self._known.items():
            if worker in self.refused:
                continue
            differs = difference(found.machine, self.kind)
            if differs:
                self._refuse(worker, f"its {differs}")
                continue
            with self._lock:
                self._hand_out.add_worker(worker, found.place)

    def _refuse(self, worker: str, why: str) -> None:
        log.warning("worker %s does not measure: %s", worker, why)
        self.refused[worker] = why

    def _lose(self, worker: str) -> None:
        """Forgets a worker that is gone."""
        self._asked.pop(worker, None)
        self.refused.pop(worker, None)
        known = self._known.pop(worker, None)
        if known is None:
            return
        with self._lock:
            task = self._hand_out.lose_worker(worker, known.place)
        if task is not None:
            log.info("worker %s is lost; its schedules are measured elsewhere", worker)
            task.cancel()

    def _begin_tasks(self) -> None:
        """Gives each idle machine its next schedules."""
        with self._lock:
            if not self._deadline.is_past:
                for station in self._hand_out.begin_tasks():
                    try:
                        self._begin(station)
                    except OSError as error:  # its workers are gone; the next look will tell
                        log.info("no task begins on %s: %s", station.worker, error)
                        self._hand_out.put_back(station)
                        return

    def _begin(self, station: Station) -> None:
        """Raises:
        OSError: the cluster takes no data.
        """
        left = self._deadline.left
        station.task = task = self._client.submit(
            measure_here,
            self._measurer(),
            self._pipeline,
            [one.schedule for one in station.queued],
            None if math.isinf(left) else left,
            workers=[station.worker],
            pure=False,
        )
        task.add_done_callback(lambda done: self._finish(station, done))

    def _measurer(self) -> Any:
        """The measurer with its inputs, which the cluster has; it is sent once."""
        is_there = self._sent is not None and self._sent[0] is self.local
        if not is_there or self._sent is None or self._sent[1].status != "finished":
            sent = self._client.scatter(
                evolve(self.local), broadcast=True, hash=False, timeout=SENDING
            )
            self._sent = (self.local, sent)
        return self._sent[1]

    def _finish(self, station: Station, task: Any) -> None:
        """Takes the result of a task, and gives the machine the next one."""
        with self._lock:
            if station.task is not task:
                return  # it was lost or dropped before
            if task.status == "finished":
                self._hand_out.finish(station, task.result())
            elif task.status == "error":
                self._fail(station, task.exception())
            else:
                self._hand_out.put_back(station)
                return
        self._begin_tasks()

    def _fail(self, station: Station, error: BaseException) -> None:
        log.info("a task failed on %s: %s", station.worker, error)
        for worker in self._hand_out.fail(station, error):
            self._refuse(worker, str(error))
        if isinstance(error, MeasuringError) and not self._hand_out.stations:
            self._found.put(error)

    def close(self) -> None:
        """Drops what has no result, and leaves the cluster."""
        self.cancel()
        if self._is_own:
            self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_here: dict[str, tuple[LocalMeasurer, LocalMeasurer]] = {}
"""For each worker in this process the measurer that it was sent, and the one that measures."""


def measure_here(
    how: LocalMeasurer, pipeline: Pipeline, schedules: Sequence[Schedule], seconds: float | None
) -> list[Measurement | None]:
    """Measures some schedules on this machine; None for those for which there is no time."""
    worker = str(_import_distributed().get_worker().address)
    before = _here.get(worker)
    if before is None or not before[0].is_like(how):
        if before is not None:
            before[1].close()
        _here[worker] = before = (how, how.as_here(free_memory_bytes()))
    try:
        with Deadline.after(seconds).kept():
            return list(before[1].measure(pipeline, schedules))
    except OutOfTime:
        return [None] * len(schedules)


def _import_distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise DaskUnavailable(
            f"Measuring on several machines needs Dask, and distributed can't be imported "
            f"({error}): {how_to_install('dask')}."
        ) from None
