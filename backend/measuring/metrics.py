"""What is noted of a schedule beside its time: the memory of a run, the size of the code, and
whatever a user asks for.
"""

from __future__ import annotations

import logging
import math
import pickle
from collections.abc import Callable, Mapping
from typing import TypeAlias

from spaces.backend.compile import CompiledPipeline
from spaces.cost.batch import Batch
from spaces.cost.measurer import TIME
from spaces.features.records import FuncFeatures
from spaces.model.schedules.domain_order import LoopKind

log = logging.getLogger("spaces.measuring")

Metric: TypeAlias = Callable[[CompiledPipeline], float]
"""Gives a number for a compiled schedule, the lower the better. A function of a module: the worker
that compiled the schedule imports it by name, and calls it once.
"""

MEMORY, CODE = "memory_bytes", "code_bytes"
"""The metrics that are noted of every schedule for a CPU."""


def memory_bytes(compiled: CompiledPipeline) -> float:
    """The bytes that the Funcs between images and outputs take in a run at the estimates: the
    allocation of each, once for each thread that has one of its own. Those that are never alive at
    once are added up, too.
    """
    batch = Batch.of(compiled.pipeline, compiled.schedule)
    threads = compiled.pool.threads
    return sum(
        float(batch.full(one.allocation_bytes)) * min(threads, _instances(batch, one))
        for one in batch.features.funcs
    )


def _instances(batch: Batch, func: FuncFeatures) -> float:
    """How many allocations of a Func may be alive at once: the iterations of the parallel loops
    around its storage.
    """
    around = func.stages[0].loops[: func.store_depth]
    trips = (loop.positive_trips for loop in around if loop.kind is LoopKind.PARALLEL)
    return math.prod(float(batch.full(one)) for one in trips)


def code_bytes(compiled: CompiledPipeline) -> float:
    """The bytes of the machine code of a schedule."""
    return float(compiled.code_bytes)


OF_EVERY_SCHEDULE: Mapping[str, Metric] = {MEMORY: memory_bytes, CODE: code_bytes}


def note_metrics(
    compiled: CompiledPipeline, own: Mapping[str, Metric]
) -> tuple[tuple[str, float], ...]:
    """The metrics of a compiled schedule by name; not a number where a function fails or gives
    none.
    """
    return tuple(
        (name, _value(metric, compiled)) for name, metric in {**OF_EVERY_SCHEDULE, **own}.items()
    )


def _value(metric: Metric, compiled: CompiledPipeline) -> float:
    try:
        return float(metric(compiled))
    except Exception:  # a metric says nothing about a schedule
        return math.nan


def check_metrics(metrics: Mapping[str, Metric]) -> None:
    """Raises:
    ValueError: a name is taken or no identifier, or a function cannot be sent to a worker.
    """
    for name, metric in metrics.items():
        if name in (TIME, *OF_EVERY_SCHEDULE) or not name.isidentifier():
            raise ValueError(
                f"A metric is called {name!r}; choose an identifier other than "
                f"{', '.join((TIME, *OF_EVERY_SCHEDULE))}."
            )
        try:
            pickle.dumps(metric)
        except Exception as error:
            raise ValueError(
                f"Metric {name} cannot be sent to a worker ({error}); give a function of a module, "
                "which the worker imports by name."
            ) from None
