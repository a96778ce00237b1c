"""Runs a profiled pipeline and reads its counters."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from spaces.backend.arguments import Scalars, Sizes
from spaces.backend.compile import compile_cpu
from spaces.backend.llvm.counters import CounterKey, CounterKind
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.measuring.cpu_program import warm_up
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
    what the counters cost (:attr:`Profile.overhead`).

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
        clock, start = counting.now(), time.perf_counter()
        taken: list[list[float]] = [[], []]
        while len(taken[0]) < _FEWEST or time.perf_counter() < start + lasting:
            if taken[0] and time.perf_counter() > start + _PATIENCE * lasting:
                break
            for program, times in zip(programs, taken, strict=True):
                times.append(_seconds(program))
        rate = (counting.now() - clock) / (time.perf_counter() - start)
        counts = counting.counts()
    runs = len(taken[1])
    return Profile(
        pipeline.name,
        counting.compiled.pool.threads,
        runs,
        sum(taken[1]) / runs,
        sum(taken[0]) / runs,
        _times(counting, counts, rate * runs, runs),
    )


_FEWEST = 3
"""Each program runs at least so often ..."""

_PATIENCE = 8
"""... unless that takes so many times as long as was asked for."""


def _seconds(program: Callable[[], object]) -> float:
    start = time.perf_counter()
    program()
    return time.perf_counter() - start


def _times(
    counting: ProfiledPipeline,
    counts: Mapping[CounterKey, int],
    rate: float,
    runs: int,
) -> tuple[FuncTime, ...]:
    """What each Func took in a run, the longest first; ``rate`` is the ticks of a second, for all
    runs together.
    """
    ticks = dict.fromkeys(counting.periods.timed, 0.0)
    visits = dict.fromkeys(ticks, 0)
    waited, tasks = dict.fromkeys(ticks, 0), dict.fromkeys(ticks, 0)
    for region in counting.table.regions:
        func, timed = region.func, counts[region, CounterKind.TIMED]
        seen = counts[region, CounterKind.VISITS]
        whole = counts[region, CounterKind.TICKS] * (seen / timed if timed else 0.0)
        visits[func] += seen
        waited[func] += counts[region, CounterKind.WAITED]
        tasks[func] += counts[region, CounterKind.TASKS]
        ticks[func] += (
            whole - counts[region, CounterKind.WAITED] + counts[region, CounterKind.TASKS]
        )
        if region.parent in ticks:
            ticks[region.parent] -= whole
    inside: dict[str, list[str]] = {}
    for name, holder in counting.periods.within.items():
        inside.setdefault(holder, []).append(name)
    found = [
        FuncTime(
            func,
            max(own, 0.0) / rate,
            visits[func] // runs,
            tasks[func] / waited[func] if waited[func] else 1.0,
            counts.get((func, CounterKind.BYTES), 0) // runs,
            counts.get((func, CounterKind.ALLOCATIONS), 0) // runs,
            tuple(inside.get(func, ())),
        )
        for func, own in ticks.items()
    ]
    return tuple(sorted(found, key=lambda one: -one.seconds))
