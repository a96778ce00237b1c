"""The fastest schedule that a store knows of a pipeline, and its code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from spaces.backend.compile import CompiledPipeline, compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.measuring.conditions import USUAL, RunConditions
from spaces.constraints.devices.device import Device, GpuDevice, device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.cost.model import CostModel
from spaces.cost.registry import default_model
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.further_sizes import as_sizes
from spaces.enumerate.space.options import default_options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.fitted_models import load_model
from spaces.tuning.known_schedules import list_known_schedules
from spaces.tuning.store import TuningStore, default_store
from spaces.tuning.trial import Trial


def best_known(
    store: TuningStore,
    pipeline: Pipeline,
    target: Device,
    *,
    exact: bool = True,
    threads: int | None = None,
    float_mode: FloatMode = FloatMode.STRICT,
    conditions: RunConditions = USUAL,
) -> tuple[int, Trial] | None:
    """The fastest schedule that a store has for a pipeline on a device, and the number of its
    study; None if it has no legal one. All studies of this processor at the estimates compete, with
    that many threads, in this float mode and under these conditions, as
    :func:`list_known_schedules` compares them. Results at other sizes come next, then those of
    other threads, float modes or conditions, then those of other processors. Unless ``exact`` is
    false, schedules that round floats in another order do not count.
    """
    known = list_known_schedules(store, pipeline, target, threads, float_mode, conditions)
    for study, trial in known:
        is_here = store.device_of(study) == target.name
        if is_here and verify(pipeline, trial.schedule, target, exact=exact):
            return study, trial
    return None


def compile_best(
    pipeline: Pipeline,
    sizes: Mapping[Any, Any] | None = None,
    *,
    target: Device | None = None,
    store: TuningStore | str | Path | None = None,
    seconds: float | None = None,
    exact: bool = True,
    threads: int | None = None,
    float_mode: FloatMode = FloatMode.STRICT,
    conditions: RunConditions = USUAL,
) -> CompiledPipeline | GpuPipeline:
    """Compiles the fastest schedule that the store has for a pipeline. If it has none, compiles one
    that a search by the cost model finds.

    Args:
        pipeline: the pipeline.
        sizes: the sizes that it will run at, as ``pipeline(..., estimates=...)`` takes them; its
            estimates if left out.
        target: the device; by default the CPU of this machine.
        store: a store or its file; by default :func:`default_store`.
        seconds: the time limit of the search, which it uses to improve its result; without one it
            ends after a quick search (:class:`Improving`).
        exact: whether schedules that round floats in another order do not count.
        threads: how many threads run parallel loops on a CPU; None for one on each core.
        float_mode: the float mode of code for a CPU.
        conditions: the conditions of timed runs whose results come first.

    Raises:
        EmptySpaceError: the store has no schedule, and no schedule that is found is legal.
        StoreError: the file is no store.
    """
    chosen = target or device("cpu")
    if sizes is not None:
        (estimates,) = as_sizes([sizes])
        pipeline = evolve(pipeline, estimates=estimates)
    opened = store if isinstance(store, TuningStore) else TuningStore.read(store or default_store())
    known = best_known(
        opened,
        pipeline,
        chosen,
        exact=exact,
        threads=threads,
        float_mode=float_mode,
        conditions=conditions,
    )
    model = load_model(default_model(chosen), chosen, opened)
    if known is None:
        space = ScheduleSpace(pipeline, chosen, evolve(default_options(chosen), exact=exact))
        schedule = _search_schedule(space, model, seconds)
    else:
        schedule = known[1].schedule
    verdict = verify(pipeline, schedule, chosen)
    assert isinstance(verdict, CheckedSchedule)  # both ways give legal schedules alone
    if isinstance(chosen, GpuDevice):
        return compile_gpu(verdict)
    return compile_cpu(verdict, threads=threads, float_mode=float_mode)


def _search_schedule(space: ScheduleSpace, model: CostModel, seconds: float | None) -> Schedule:
    """The schedule that the cost model likes best."""
    found = search(space, model, limits=Limits(seconds=seconds))
    return best(found).best[0].schedule
