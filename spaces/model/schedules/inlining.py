"""The Funcs that a schedule computes."""

from __future__ import annotations

from spaces.model.algorithm.inlined import without_inlined
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.schedules.schedule import Schedule


def inlined_functions(pipeline: Pipeline, schedule: Schedule) -> tuple[Function, ...]:
    """The Funcs that are computed, producers first, calling only each other and images.

    A Func that cannot be inlined (it has update stages and is read, or is an output) is kept
    whatever the schedule says; the rule catalogue reports such a schedule.
    """
    wanted = (f.name for f in pipeline.functions if schedule.of(f.name).compute.is_inline)
    return without_inlined(pipeline, frozenset(wanted))
