"""The measured schedules of a pipeline in a store, the fastest first among results that compare."""

from __future__ import annotations

import heapq
import json
import math
from collections.abc import Iterator, Mapping

from attrs import frozen

from spaces.backend.llvm.operators import FloatMode
from spaces.backend.measuring.conditions import USUAL, RunConditions
from spaces.constraints.devices.device import Device
from spaces.model.algorithm.pipeline import Pipeline
from spaces.tuning.common_references import reference_seconds
from spaces.tuning.identity import this_machine
from spaces.tuning.store import StudySummary, TuningStore
from spaces.tuning.trial import Trial

_Sizes = Mapping[str, tuple[tuple[int, int], ...]]


@frozen(order=True)
class Remoteness:
    """How much the results of a study differ from a run. The most important difference comes first.

    Attributes:
        is_other_device: they are for another device.
        is_other_machine: another processor or GPU measured them.
        is_other_code: the threads, the float mode or the conditions of timed runs differ.
        is_other_size: an estimate of the pipeline differs.
        scale: the sum of the logarithms of how much extents differ.
    """

    is_other_device: bool
    is_other_machine: bool
    is_other_code: bool
    is_other_size: bool
    scale: float


def list_known_schedules(
    store: TuningStore,
    pipeline: Pipeline,
    target: Device,
    threads: int | None = None,
    float_mode: FloatMode = FloatMode.STRICT,
    conditions: RunConditions = USUAL,
) -> Iterator[tuple[int, Trial]]:
    """The measured schedules of the algorithm of a pipeline, each with the number of its study.

    Results of all studies are compared if they agree in the processor, the device, the number of
    threads, the float mode, the conditions and the size. They are compared by their ratios to
    references that are the same, or that common schedules connect (:func:`reference_seconds`).
    Versions of LLVM and of this library do not tell them apart.

    Of such groups, the nearest to a run at the estimates of ``pipeline`` on this machine comes
    first: results for the device before those for others, results of this processor before others,
    results of such code before others, results at these sizes before others, then the nearest
    sizes. Of equally near groups the newest comes first.

    Args:
        store: the store.
        pipeline: the pipeline.
        target: the device.
        threads: how many threads run parallel loops; None for one on each core.
        float_mode: the float mode of the code.
        conditions: the conditions of timed runs.
    """
    machine = this_machine(target)
    wanted_code = (
        threads or conditions.core_count or machine.cores,
        str(float_mode),
        conditions.text,
    )
    asked = _sizes(pipeline)
    wanted = set(store.similar_studies(pipeline))
    groups: dict[tuple[object, ...], list[StudySummary]] = {}
    for line in store.studies():
        if line.id in wanted:
            sizes = json.dumps(line.sizes, sort_keys=True)
            key = (line.device, line.machine.hardware, _code(line), sizes)
            groups.setdefault(key, []).append(line)

    def remoteness(group: list[StudySummary]) -> tuple[Remoteness, int]:
        line = group[-1]
        sizes = _sizes(store.pipeline_of(line.id))
        away = Remoteness(
            line.device != target.name,
            line.machine.hardware != machine.hardware,
            _code(line) != wanted_code,
            any(sizes.get(name) != ranges for name, ranges in asked.items()),
            _scale(asked, sizes),
        )
        return away, -line.id

    for group in sorted(groups.values(), key=remoteness):
        yield from _by_time(store, [line.id for line in group])


def _code(line: StudySummary) -> tuple[int, str, str]:
    """How the schedules of a study were compiled and timed."""
    return line.threads or line.machine.cores, line.float_mode, line.conditions


def _by_time(store: TuningStore, studies: list[int]) -> Iterator[tuple[int, Trial]]:
    """The trials with times of studies whose results compare, sorted by the upper end of the
    interval of the time; read as they are asked for.
    """
    seconds = _reference_seconds(store, studies)
    merged = heapq.merge(
        *(_times(store, study, seconds[study]) for study in studies), key=lambda line: line[0]
    )
    for (_, negative, _), trial in merged:
        yield -negative, trial


def _reference_seconds(store: TuningStore, studies: list[int]) -> dict[int, float]:
    """For each study a time of its reference, so that the studies compare."""
    references = {study: store.reference_digest_of(study) for study in studies}
    if len(set(references.values())) == 1:
        return dict.fromkeys(studies, 1.0)
    seconds = reference_seconds([store.timed_study(study) for study in studies])
    return {study: seconds[references[study]] for study in studies}


def _times(
    store: TuningStore, study: int, reference: float
) -> Iterator[tuple[tuple[float, int, int], Trial]]:
    """The trials of a study, each with the upper end of its time and what tells equal times apart:
    those of the newest study come first.
    """
    for trial in store.fastest(study):
        if trial.result is not None:
            yield (trial.result.interval[1] * reference, -study, trial.number), trial


def _sizes(pipeline: Pipeline) -> _Sizes:
    return {one.buffer: one.ranges for one in pipeline.estimates}


def _scale(asked: _Sizes, found: _Sizes) -> float:
    """How far extents are from those asked for, over the buffers that both name."""
    return sum(
        abs(math.log(max(one, 1) / max(other, 1)))
        for name in asked.keys() & found.keys()
        for (_, one), (_, other) in zip(asked[name], found[name], strict=True)
    )
