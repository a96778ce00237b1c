"""Our search against Halide's autoschedulers: the first schedule that each finds, in turns; and
the fastest of the first five of ours.

Each contender finds its schedule, compiles and runs in a process of its own. Processes run in
turns, so all have the machine for themselves. All compute on as many threads as the machine has
cores.
"""

from __future__ import annotations

import functools
import json
import math
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from bench.against_halide import apart
from bench.contenders import Outputs, compiled, inputs_of, pipeline_of, sizes_of, written
from bench.machine import processor
from bench.processes import Contender, ContenderFailed
from spaces.apps.catalog import APPS
from spaces.backend.halide.autoschedule import AUTOSCHEDULERS, autoscheduled
from spaces.backend.halide.bridge import build
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.llvm.runtime.helpers import release_scratch
from spaces.backend.measuring.cpu_program import SHORTEST, warm_up
from spaces.constraints.devices.device import device, host_cpu
from spaces.cost.measurer import interval_of_median
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule, parse_schedule

OURS, HAND, EXPERT = "ours", "hand", "Halide, hand"
"""What our search finds first; the schedule by hand, by our compiler and by Halide."""

BEST_OF_5 = "ours, best of 5"
"""The fastest of the first five schedules that our search ranks."""

TUNED = "ours, tuned"
"""The fastest schedule that ``python -m bench tuned`` has found on a processor like this one."""

TUNED_RESULTS = Path(__file__).parent / "results" / "tuned.json"
"""Where that measurement keeps its schedules."""

FINDING = 90.0
"""Seconds in which each must find its schedule."""

TRYING = 300.0
"""Seconds in which five schedules of ours must be found, compiled and timed."""

TRIES = 5
"""How often each of the five is timed."""

COMPILING = 120.0
"""Seconds in which it must be compiled and run once."""

ROUNDS = 15
LEAST_ROUNDS = 6
MEASURING = 20.0
"""Seconds after which no round begins, once there are :data:`LEAST_ROUNDS`."""

MOVE_EVERY = 3
"""After this many rounds each contender moves to other memory: where arrays lie, in pages and in
sets of caches, changes the time of the same code by a tenth.
"""

Found: TypeAlias = dict[str, Any]


def chosen_apps() -> tuple[str, ...]:
    """The apps that are measured; the toys are too small."""
    return tuple(name for name in APPS if not name.startswith("toy_"))


def measure(
    chosen: Collection[str] = (), earlier: Mapping[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    """For each app the times of all contenders, the seconds of their searches, and how often ours
    is faster; the geometric means. Apps outside ``chosen`` keep their ``earlier`` results.
    """
    threads = host_cpu().cores
    os.environ["HL_NUM_THREADS"] = str(threads)
    apps: dict[str, Found] = {}
    for app in chosen_apps():
        if not chosen or app in chosen:
            apps[app] = _measured(app)
            print(f"  {app}: {apps[app]}", flush=True)
        elif earlier and app in earlier:
            apps[app] = earlier[app]
    return {"threads": threads, "apps": apps, "geometric_means": _means(apps)}


def _measured(app: str) -> Found:
    names: tuple[str, ...] = (OURS, BEST_OF_5, HAND, EXPERT, *AUTOSCHEDULERS)
    return compare(app, (*names, TUNED) if tuned_schedule(app) else names)


def compare(app: str, names: Sequence[str], measuring: float = MEASURING) -> Found:
    """Times contenders on an app or on a pipeline of the gallery, in turns.

    Args:
        app: its name.
        names: the contenders: those of this module, and Halide's autoschedulers.
        measuring: seconds after which no round begins, once there are :data:`LEAST_ROUNDS`.
    """
    contenders = [Contender.started(name) for name in names]
    found: Found = {"search_s": {}, "failed": {}}
    ready = []
    with tempfile.TemporaryDirectory() as folder:
        wanted: Outputs | None = None
        for contender in contenders:
            file = Path(folder) / f"{contender.name}.npz"
            try:
                limit = TRYING if contender.name == BEST_OF_5 else FINDING
                seconds, text = contender.ask(_find, app, contender.name, seconds=limit)
                found["search_s"][contender.name] = round(seconds, 2)
                if text:
                    found.setdefault("schedules", {})[contender.name] = text
                contender.ask(_prepare, app, str(file), seconds=COMPILING)
                with np.load(file) as outputs:
                    mine = dict(outputs)
                apart(mine, mine if wanted is None else wanted)
            except (ContenderFailed, ValueError) as failed:
                found["failed"][contender.name] = str(failed)
            else:
                wanted = wanted or mine
                ready.append(contender)
    found |= _compared(_in_turns(ready, measuring))
    for contender in contenders:
        contender.end()
    return found


def _in_turns(contenders: list[Contender], measuring: float) -> dict[str, list[float]]:
    """Milliseconds of each contender, round by round."""
    times: dict[str, list[float]] = {one.name: [] for one in contenders}
    order = random.Random(0)
    start = time.monotonic()
    for number in range(ROUNDS):
        if number >= LEAST_ROUNDS and time.monotonic() - start > measuring:
            break
        for one in order.sample(contenders, len(contenders)):
            if number and number % MOVE_EVERY == 0:
                one.ask(_move, seconds=COMPILING)
            times[one.name].append(one.ask(_timed, seconds=COMPILING) * 1e3)
    return times


def _compared(times: dict[str, list[float]]) -> Found:
    """The medians of all contenders, and for each of ours how many times as long all others take,
    with the interval of 95 %.
    """
    found: Found = {"ms": {name: round(statistics.median(ms), 3) for name, ms in times.items()}}
    for base, key in OVER.items():
        if base in times:
            found[key] = {
                name: _ratios(ms, times[base]) for name, ms in times.items() if name not in OVER
            }
    return found


def _ratios(theirs: list[float], ours: list[float]) -> list[float]:
    """The median of the ratios of the rounds, and the ends of its interval."""
    ratios = [one / mine for one, mine in zip(theirs, ours, strict=True)]
    return [round(end, 3) for end in (statistics.median(ratios), *interval_of_median(ratios))]


OVER = {OURS: "over_ours", BEST_OF_5: "over_best_of_5", TUNED: "over_tuned"}
"""Under which key the ratios to a contender of ours are."""


def best_of(
    found: Mapping[str, Any], names: Collection[str], ours: str = OURS
) -> list[float] | None:
    """How many times as long as ours the fastest of some contenders takes, with its interval."""
    ratios = found.get(OVER[ours], {})
    return min((ratios[one] for one in names if one in ratios), default=None)


GROUPS = {
    "autoschedulers": (AUTOSCHEDULERS, OURS),
    "all of Halide": ((EXPERT, *AUTOSCHEDULERS), OURS),
    "hand": ((HAND,), OURS),
    "all of Halide, best of 5": ((EXPERT, *AUTOSCHEDULERS), BEST_OF_5),
    "all of Halide, tuned": ((EXPERT, *AUTOSCHEDULERS), TUNED),
}
"""What is compared with which of ours: the best of each group."""


def _means(apps: dict[str, Found]) -> Found:
    means: Found = {"apps": len(apps)}
    for group, (names, ours) in GROUPS.items():
        ratios = [ratio[0] for found in apps.values() if (ratio := best_of(found, names, ours))]
        if ratios:
            means[group] = round(statistics.geometric_mean(ratios), 3)
            means[f"apps: {group}"] = len(ratios)
    return means


_here: dict[str, Any] = {}
"""What this process holds between two tasks."""


def _find(app: str, name: str) -> tuple[float, str]:
    """Finds the schedule of a contender; its seconds, and the schedule if our search found it."""
    pipeline = pipeline_of(app)
    start = time.perf_counter()
    schedule: Schedule | None = None
    if name == OURS:
        (schedule,) = _ranked(pipeline, 1)
    elif name == BEST_OF_5:
        schedule = _fastest(app, _ranked(pipeline, 5))
    elif name == TUNED:
        schedule = parse_schedule(tuned_schedule(app), pipeline)
    if schedule is not None:
        seconds = time.perf_counter() - start
        _here["make"] = _maker(app, schedule)
        return seconds, format_schedule(schedule, pipeline)
    if name == HAND:
        _here["make"] = _maker(app, written(app, "cpu"))
    else:
        peer = (
            build(pipeline, written(app, "cpu"))
            if name == EXPERT
            else autoscheduled(pipeline, name, host_cpu().cores).peer
        )
        _here["make"] = lambda: peer.prepare(inputs_of(app), sizes=sizes_of(app))
    return time.perf_counter() - start, ""


def _maker(app: str, schedule: Schedule) -> Callable[[], Callable[[], Outputs]]:
    """Compiles a schedule when it is first called; each call prepares a run in new memory."""
    compile_once = functools.cache(
        functools.partial(compiled, app, schedule, float_mode=FloatMode.FAST)
    )

    def make() -> Callable[[], Outputs]:
        inputs = {name: array.copy() for name, array in inputs_of(app).items()}
        return compile_once().prepare(inputs, sizes=sizes_of(app))

    return make


def _ranked(pipeline: Pipeline, top: int) -> list[Schedule]:
    """The first schedules that our search ranks."""
    space = ScheduleSpace(pipeline, device("cpu"))
    found = best(search(space, limits=Limits(top=top))).best
    return [one.schedule for one in found]


def tuned_schedule(app: str) -> str:
    """The schedule that tuning has found for an app on a processor like this one. Without one the
    text is empty.
    """
    if not TUNED_RESULTS.exists():
        return ""
    apps = json.loads(TUNED_RESULTS.read_text("utf-8"))["results"]["apps"]
    found = apps.get(app, {})
    is_here = found.get("processor") == processor()
    return str(found.get("schedule", "")) if is_here else ""


def _fastest(app: str, schedules: list[Schedule]) -> Schedule:
    """The fastest of some schedules, timed in turns, each time in other memory."""
    makers = [_maker(app, one) for one in schedules]
    times: list[list[float]] = [[] for _ in makers]
    for _ in range(TRIES):
        for make, seconds in zip(makers, times, strict=True):
            seconds.append(_seconds(make()))
        release_scratch()
    return schedules[min(range(len(makers)), key=lambda i: statistics.median(times[i]))]


def _prepare(app: str, file: str) -> None:
    """Compiles, runs once and keeps the outputs in a file."""
    _here["run"] = _here["make"]()
    np.savez(file, **_here["run"]())


def _move() -> None:
    """Runs in other memory from now on."""
    release_scratch()
    _here["before"] = _here["run"]  # keeps its memory, so that the new run gets another one
    _here["run"] = _here["make"]()


def _timed() -> float:
    """Seconds of a run of the contender of this process."""
    return _seconds(_here["run"])


def _seconds(run: Callable[[], Outputs]) -> float:
    """Seconds of a run in warm caches; the mean of several short ones."""
    warm_up(run)
    start = time.perf_counter()
    run()
    once = time.perf_counter() - start
    times = max(1, math.ceil(SHORTEST / max(once, 1e-6)))
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times
