"""Runs a profiled pipeline and reads its counters."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Any

from spaces.backend.arguments import Scalars, Sizes
from spaces.backend.compile import compile_cpu
from spaces.backend.llvm.counters import CounterKey, CounterKind
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.measuring.cpu_program import warm_up
from spaces.backend.measuring.disturbance import ProcessorTimes
from spaces.backend.measuring.inputs import random_inputs
from spaces.backend.profiling.compile import ProfiledPipeline, compile_profiled
from spaces.backend.profiling.profile import FuncTime, Profile
from spaces.constraints.legality.verdict import Verdict
from spaces.model.expressions.numbers import seconds_given


def profile(
    checked: Verdict,
    inputs: Mapping[str, Any] | None = None,
    params: Scalars | None = None,
    sizes: Sizes | None = None,
    *,
    threads: int | None = None,
    float_mode: FloatMode = FloatMode.STRICT,
    seconds: float = 0.5,
) -> Profile:
    """Runs a pipeline under a legal schedule on this CPU, and says where its time goes.

    The compiled code reads a clock where the computation of a Func begins and ends, outside of
    inner loops. If visits of a Func are short, it times a part of them, or counts the Func with the
    one in whose loops it is (:attr:`FuncTime.within`). Plain code runs in turn with it, to show
    what the counters cost (:attr:`Profile.overhead`). A time is the median of all runs. The clock
    goes on while a thread waits for its processor, so run it on a machine that does nothing else
    (:attr:`Profile.is_disturbed`).

    Args:
        checked: what :func:`verify` returns for a schedule that is legal for a CPU.
        inputs: an array for each image; random ones at the estimates if none are given.
        params: values of scalar parameters.
        sizes: as for :meth:`CompiledPipeline.run`.
        threads: how many threads execute parallel loops; by default one for each usable core.
        float_mode: how far float results may differ from the expressions as written.
        seconds: how long to run, about. Each program runs at least once, after a run that does
            not count.

    Raises:
        ValueError: the schedule is illegal, or for a GPU; or an image without an estimate needs
            ``inputs``.
        BatchError: an output has no estimate.
        ArgumentError, SizeError: the arguments do not fit the pipeline, or its schedule.

    >>> print(profile(verify(pipeline, schedule, device("cpu"))))
    """
    lasting = seconds_given("profile(seconds)", seconds)
    counting = compile_profiled(checked, threads=threads, float_mode=float_mode)
    pipeline = counting.compiled.pipeline
    given = random_inputs(pipeline) if inputs is None else inputs
    plain = compile_cpu(checked, threads=threads, float_mode=float_mode)
    programs = [one.prepare(given, params, sizes) for one in (plain, counting.compiled)]
    with counting.lock:
        for program in programs:
            warm_up(program)
        counting.clear()
        clock, start, before = counting.now(), time.perf_counter(), _processors()
        plain_times: list[float] = []
        times: list[float] = []
        counted = [counting.counts()]
        while len(times) < _FEWEST or time.perf_counter() < start + lasting:
            if times and time.perf_counter() > start + _PATIENCE * lasting:
                break
            plain_times.append(_seconds(programs[0]))
            times.append(_seconds(programs[1]))
            counted.append(counting.counts())
        rate = (counting.now() - clock) / (time.perf_counter() - start)
        after = _processors()
    others = before.share_of_others(after) if before is not None and after is not None else 0.0
    return Profile(
        pipeline.name,
        counting.compiled.pool.threads,
        len(times),
        median(times),
        median(plain_times),
        func_times(counting, counted, rate),
        others,
    )


def _processors() -> ProcessorTimes | None:
    return ProcessorTimes.now([os.getpid()])


_FEWEST = 3
"""Each program runs at least so often ..."""

_PATIENCE = 8
"""... unless that takes this many times as long as was asked for."""


def _seconds(program: Callable[[], object]) -> float:
    start = time.perf_counter()
    program()
    return time.perf_counter() - start


def func_times(
    counting: ProfiledPipeline, counted: Sequence[Mapping[CounterKey, int]], rate: float
) -> tuple[FuncTime, ...]:
    """What each Func took in a run, the longest first.

    Args:
        counting: what ran.
        counted: the counters before the first run and after each.
        rate: the ticks of a second.
    """
    runs = [
        _ticks(counting, {key: after[key] - before[key] for key in after})
        for before, after in pairwise(counted)
    ]
    visits = dict.fromkeys(counting.periods.timed, 0)
    waited, tasks = dict.fromkeys(visits, 0), dict.fromkeys(visits, 0)
    counts = counted[-1]
    for region in counting.table.regions:
        visits[region.func] += counts[region, CounterKind.VISITS]
        waited[region.func] += counts[region, CounterKind.WAITED]
        tasks[region.func] += counts[region, CounterKind.TASKS]
    inside: dict[str, list[str]] = {}
    for name, holder in counting.periods.within.items():
        inside.setdefault(holder, []).append(name)
    found = [
        FuncTime(
            func,
            max(median(run[func] for run in runs), 0.0) / rate,
            visits[func] // len(runs),
            tasks[func] / waited[func] if waited[func] else 1.0,
            counts.get((func, CounterKind.BYTES), 0) // len(runs),
            counts.get((func, CounterKind.ALLOCATIONS), 0) // len(runs),
            tuple(inside.get(func, ())),
        )
        for func in visits
    ]
    return tuple(sorted(found, key=lambda one: -one.seconds))


def _ticks(counting: ProfiledPipeline, counts: Mapping[CounterKey, int]) -> dict[str, float]:
    """The ticks of all threads in each Func, by the counts of one run."""
    ticks = dict.fromkeys(counting.periods.timed, 0.0)
    for region in counting.table.regions:
        timed, seen = counts[region, CounterKind.TIMED], counts[region, CounterKind.VISITS]
        whole = counts[region, CounterKind.TICKS] * (seen / timed if timed else 0.0)
        ticks[region.func] += (
            whole - counts[region, CounterKind.WAITED] + counts[region, CounterKind.TASKS]
        )
        if region.parent in ticks:
            ticks[region.parent] -= whole
    return ticks
