"""Measures schedules on the machines of a Dask cluster. Importing this file needs no Dask.

Dask finds the machines, moves tasks and runs them again where a machine is lost. A task measures a
few schedules as :class:`~spaces.backend.measuring.local.LocalMeasurer` does.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Self

from attrs import define, evolve, field

from spaces.backend.measuring.local import LocalMeasurer
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.extras import how_to_install
from spaces.model.schedules.schedule import Schedule


class DaskUnavailable(RuntimeError):
    """Dask is not installed, or its scheduler does not answer; ``str`` gives a sentence."""


@define
class DaskMeasurer:
    """Measures schedules on the workers of a Dask cluster. A context manager, which leaves the
    cluster.

    Every task times its schedules beside the trusted schedule on the machine that runs it, so that
    ratios of machines of one kind compare. A machine measures one task at a time. If a worker is
    lost, its tasks run on another one. Workers need this library, in the same version.

    Attributes:
        scheduler: the address of the scheduler, such as ``tcp://host:8786``, or a
            ``distributed.Client``.
        local: how each worker measures.
        share: how many schedules a task measures.
        seconds: how long to wait for the scheduler.
        losses: how many workers may be lost under one task before its schedules count as crashed.

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
    _client: Any = field(init=False, repr=False)
    _is_own: bool = field(init=False)

    def __attrs_post_init__(self) -> None:
        distributed = _import_distributed()
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

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        """One measurement for each schedule, in their order.

        Raises:
            MeasuringError: the trusted schedule cannot be measured.
        """
        killed = _import_distributed().KilledWorker
        parts = [
            tuple(schedules[first : first + self.share])
            for first in range(0, len(schedules), self.share)
        ]
        how = self._client.scatter(evolve(self.local), broadcast=True, hash=False)
        tasks = [
            self._client.submit(measure_here, how, pipeline, part, pure=False, retries=self.losses)
            for part in parts
        ]
        found: list[Measurement] = []
        for part, task in zip(parts, tasks, strict=True):
            try:
                found += task.result()
            except killed as error:
                reason = f"Dask lost {self.losses} workers that measured it: {error}"
                found += (Measurement(one, RunOutcome.CRASHED, reason) for one in part)
        return found

    def close(self) -> None:
        """Leaves the cluster."""
        if self._is_own:
            self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_here: dict[str, LocalMeasurer] = {}
"""The measurer of this process, so that tasks share its workers."""


def measure_here(
    how: LocalMeasurer, pipeline: Pipeline, schedules: Sequence[Schedule]
) -> list[Measurement]:
    """Measures some schedules on this machine."""
    measurer = _here.get("measurer")
    if measurer is None or not measurer.is_like(how):
        if measurer is not None:
            measurer.close()
        measurer = _here["measurer"] = evolve(how)
    return measurer.measure(pipeline, schedules)


def _import_distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise DaskUnavailable(
            f"Measuring on several machines needs Dask, and distributed can't be imported "
            f"({error}): {how_to_install('dask')}."
        ) from None
