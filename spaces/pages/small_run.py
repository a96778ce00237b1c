"""A small run of a schedule for its picture: the same structure with small tiles and sizes."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from attrs import frozen

from spaces.backend.replay.inputs import TooLargeError
from spaces.backend.replay.recording import Recording, record_nest
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.pipeline import Estimate, Pipeline
from spaces.model.schedules.domain_order import Split
from spaces.model.schedules.schedule import Schedule
from spaces.pages.facts import schedule_facts

MOST = 9000
"""A recording ends after this many values that are computed or read."""

_EVALUATIONS = 20_000
"""The most evaluations of a schedule that is run at a small size."""

_FUNCS = 40
"""The most Funcs of a pipeline whose picture says something."""

_EXTENTS = (12, 8, 2, 2)
"""The extents of outputs, innermost first; further dimensions have one value."""

_TILES = (4, 2)
"""Split factors above these become these: first those of the outermost splits."""


@frozen
class SmallRun:
    """A recording, and what was made smaller for it.

    Attributes:
        pipeline: the pipeline with the small estimates.
        changed: the split factors before and after, such as ``output.y: 32 → 4``.
    """

    pipeline: Pipeline
    recording: Recording
    changed: tuple[str, ...]


def small_run(checked: CheckedSchedule) -> SmallRun | None:
    """The recording of a legal schedule at a small size; None if it is not legal at one, even with
    small tiles.
    """
    if len(checked.pipeline.functions) > _FUNCS:
        return None
    small = _small(checked.pipeline)
    for schedule, changed in _smaller(checked.schedule):
        verdict = verify(small, schedule, checked.device)
        if not isinstance(verdict, CheckedSchedule) or verdict.cases or _is_large(verdict):
            continue
        try:
            recording = record_nest(verdict.nest, small.sizes(), MOST)
        except TooLargeError:
            continue
        return SmallRun(small, recording, changed) if recording.events else None
    return None


def _is_large(checked: CheckedSchedule) -> bool:
    """Whether a run takes more than a moment, and more memory than it is worth."""
    stages = schedule_facts(checked).funcs
    return sum(stage.points for func in stages for stage in func.stages) > _EVALUATIONS


def _small(pipeline: Pipeline) -> Pipeline:
    """The pipeline with small estimates of its outputs; images are as large as these need."""
    estimates = []
    for name in pipeline.outputs:
        dimensions = len(pipeline.function(name).args)
        most = (*_EXTENTS, *(1,) * dimensions)[:dimensions]
        known = pipeline.estimate(name)
        if known is None:
            ranges = tuple((0, extent) for extent in most)
        else:
            pairs = zip(known, most, strict=True)
            ranges = tuple((low, min(extent, limit)) for (low, extent), limit in pairs)
        estimates.append(Estimate(name, ranges))
    return attrs.evolve(pipeline, estimates=tuple(estimates))


def _smaller(schedule: Schedule) -> Iterator[tuple[Schedule, tuple[str, ...]]]:
    """The schedule with smaller tiles, smaller and smaller, and last as it is."""
    for most in _TILES:
        changed: dict[str, None] = {}
        entries = []
        for entry in schedule.funcs:
            stages = []
            for order in entry.stages:
                splits = []
                for one in order.splits:
                    if isinstance(one, Split) and isinstance(one.factor, int) and one.factor > most:
                        changed[f"{entry.name}.{one.old}: {one.factor} → {most}"] = None
                        one = attrs.evolve(one, factor=most)
                    splits.append(one)
                stages.append(attrs.evolve(order, splits=tuple(splits)))
            entries.append(attrs.evolve(entry, stages=tuple(stages)))
        yield schedule.with_funcs(entries), tuple(changed)
    yield schedule, ()
