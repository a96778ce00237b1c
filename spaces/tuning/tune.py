"""Tunes a pipeline in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from spaces.backend.arguments import Array, Scalars
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.measuring.agreement import EXACT
from spaces.backend.measuring.conditions import USUAL, RunConditions, check_conditions
from spaces.backend.measuring.cpu_program import CPU_PROGRAMS
from spaces.backend.measuring.local import LocalMeasurer
from spaces.backend.measuring.metrics import Metric
from spaces.backend.measuring.over_dask import DaskMeasurer
from spaces.backend.measuring.task import NO_METRICS
from spaces.backend.measuring.tolerances import tolerance
from spaces.constraints.devices.device import Device, GpuDevice, device
from spaces.cost.measurer import Measurer
from spaces.enumerate.space.options import Options, default_options
from spaces.enumerate.space.restrictions.restriction import Restriction
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.space import NOTHING_FIXED
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline
from spaces.model.expressions.numbers import seconds_given
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.store import TuningStore, default_store
from spaces.tuning.strategy import TuningStrategy
from spaces.tuning.study import Callback, Study

SEARCHING = 10.0
"""The most seconds in which a new study searches before it measures anything."""

SHARE = 0.1
"""The most of the time limit in which a new study searches before it measures anything."""


def tune(
    pipeline: Pipeline,
    target: Device | None = None,
    *,
    store: TuningStore | str | Path | None = None,
    seconds: float | None = 600.0,
    trials: int | None = None,
    options: Options | None = None,
    fixed: Schedule = NOTHING_FIXED,
    where: Iterable[Restriction] = (),
    model: str = "",
    strategy: str | TuningStrategy | None = None,
    start: Sequence[Schedule] = (),
    seed: int = 0,
    reference: Schedule | None = None,
    inputs: Mapping[str, Array] | None = None,
    params: Scalars | None = None,
    threads: int | None = None,
    float_mode: FloatMode = FloatMode.STRICT,
    conditions: RunConditions = USUAL,
    metrics: Mapping[str, Metric] = NO_METRICS,
    measurer: Measurer | None = None,
    scheduler: str = "",
    callbacks: Iterable[Callback] = (),
    phase: Callable[[str], None] = lambda what: None,
    begin: Callable[[Study], None] = lambda study: None,
) -> Study:
    """Measures schedules of a pipeline until the time is over, and keeps every result. The same
    call later goes on where this one stopped.

    Args:
        pipeline: the pipeline, with estimates of the sizes to tune for.
        target: the device; by default the CPU of this machine.
        store: a store or its file; by default :func:`default_store`.
        seconds: the time limit; None for none.
        trials: how many schedules are measured at most; None for no limit.
        options: the options of the space; by default :meth:`Options.expert`.
        fixed: entries of Funcs that every schedule keeps, such as
            :attr:`HalideProgram.fixed`; the others are decided.
        where: restrictions of the space.
        model: the cost model that chooses what is measured; by default ``reuse`` on a CPU and
            ``occupancy`` on a GPU.
        strategy: what proposes schedules, or its name (:func:`tuning_strategy_names`); by default
            :class:`Evolving`.
        start: schedules to measure first, such as one by hand.
        seed: the seed of random choices.
        reference: a legal schedule to run beside all others; by default the one that a search by
            the model finds.
        inputs: an array for each image; by default random values.
        params: values of scalar parameters; those left out have their default.
        threads: how many threads run parallel loops; None for one on each core. Studies with
            different numbers are apart.
        float_mode: the float mode of the code. Studies in different modes are apart.
        conditions: under which conditions schedules are timed, such as cold caches or some cores.
            Studies under different conditions are apart.
        metrics: what is noted of each schedule beside its time, memory and code size: functions of
            the compiled pipeline (:data:`Metric`), by name. For CPUs.
        measurer: what measures; by default a :class:`LocalMeasurer`.
        scheduler: the address of a Dask scheduler, whose workers measure then.
        callbacks: functions of the study and a trial, called when a trial has its first result.
        phase: called with what comes next, such as "searching", and several times a second during
            the first search.
        begin: called with the study when it is open, before anything is measured.

    Returns:
        The study, with all its trials; other processes may go on with it. Ctrl-C ends the
        measurements, and the study has what was measured (:attr:`Study.was_interrupted`).

    Raises:
        BusyStudyError, EmptySpaceError, MeasuringError, StoreError, UnknownTuningStrategyError,
            ValueError: as :meth:`Study.open` and :meth:`Study.run` do.
        DaskUnavailable: Dask is not installed, or no scheduler answers.

    >>> study = tune(pipeline, seconds=60, start=[by_hand])
    >>> print(study.best)
    """
    chosen = target or device("cpu")
    if isinstance(chosen, GpuDevice) and float_mode is not FloatMode.STRICT:
        raise ValueError(f"Float modes are for code for CPUs, and {chosen.name} is a GPU.")
    check_conditions(conditions, chosen)
    space = ScheduleSpace(
        pipeline, chosen, options or default_options(chosen), fixed, where=tuple(where)
    )
    opened = store if isinstance(store, TuningStore) else TuningStore.open(store or default_store())
    deadline = Deadline.after(None if seconds is None else seconds_given("tune(seconds)", seconds))
    with ExitStack() as opened_here:
        pool: DaskMeasurer | None = None
        if measurer is None and scheduler:
            pool = DaskMeasurer(scheduler, LocalMeasurer(device=chosen))
            measurer = opened_here.enter_context(pool)
        study = Study.open(
            opened,
            space,
            model=model,
            strategy=strategy,
            start=start,
            seed=seed,
            reference=reference,
            searching=min(SEARCHING, SHARE * deadline.left),
            threads=threads,
            float_mode=float_mode,
            conditions=conditions,
            machine=None if pool is None else pool.machine,
            look=lambda: phase("searching"),
        )
        opened_here.enter_context(study)
        begin(study)
        local = _measure_here(study, inputs, params, threads, float_mode, conditions, metrics)
        if pool is not None:
            pool.local = local
        if measurer is None:
            measurer = opened_here.enter_context(local)
        left = None if seconds is None else deadline.left
        study.run(measurer, seconds=left, trials=trials, callbacks=callbacks, phase=phase)
    return study


def _measure_here(
    study: Study,
    inputs: Mapping[str, Array] | None,
    params: Scalars | None,
    threads: int | None,
    float_mode: FloatMode,
    conditions: RunConditions,
    metrics: Mapping[str, Metric],
) -> LocalMeasurer:
    """What measures the trials of a study on one machine, in its own processes."""
    is_strict = float_mode is FloatMode.STRICT
    return LocalMeasurer(
        device=study.space.device,
        reference=study.reference,
        trusted=study.trusted,
        inputs=inputs,
        params=params,
        threads=threads,
        conditions=conditions,
        metrics=metrics,
        make=None if is_strict else CPU_PROGRAMS[float_mode],
        allowed=EXACT if is_strict else tolerance(study.pipeline),
    )
