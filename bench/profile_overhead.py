"""What the counters of a profiled run cost: each app under its hand schedule for the CPU, with
counters and without, in turns.

The two programs run in several places of memory, because the place alone decides some percent.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bench.contenders import inputs_of, legal, pipeline_of, sizes_of, written
from spaces.apps.catalog import APPS
from spaces.apps.timing import interleaved
from spaces.backend.compile import CompiledPipeline, compile_cpu
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.llvm.runtime.helpers import release_scratch
from spaces.backend.profiling.compile import compile_profiled
from spaces.constraints.devices.device import host_cpu
from spaces.cost.measurer import interval_of_median

MEASURED = "cpu"
"""The schedule of each app."""

PLACES = 4
"""Each program runs in this many places of memory ..."""

ROUNDS = 11
"""... and in each of them this many rounds ..."""

SECONDS = 8.0
"""... none of them begins after this time."""

ALLOWED = 0.05
"""The share of a run that counters may take."""

WHAT = f"""\
What counters cost: each app under its hand schedule, compiled with the counters of
`spaces.profile` and without, in turns in {PLACES} places of memory. The overhead is the median of
the ratios of all rounds, less 1, with its interval of 95 %; a profiled run may take
{ALLOWED:.0%} more."""
"""What the table shows, printed above it."""

HEADERS = ("app", "plain, ms", "with counters, ms", "overhead", "Funcs timed", "within others")
"""The headers of :func:`rows`."""


def measure(
    chosen: Collection[str] = tuple(APPS), earlier: Mapping[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    """For each app the medians, and the overhead with its interval. Apps outside ``chosen`` keep
    their ``earlier`` results.
    """
    apps: dict[str, dict[str, Any]] = {}
    for app in APPS:
        if app in chosen:
            apps[app] = _measured(app)
            print(f"  {app}: {apps[app]}", flush=True)
        elif earlier and app in earlier:
            apps[app] = earlier[app]
    return {"threads": host_cpu().cores, "schedule": MEASURED, "apps": apps}


def _measured(app: str) -> dict[str, Any]:
    checked = legal(pipeline_of(app), written(app, MEASURED))
    plain = compile_cpu(checked, float_mode=FloatMode.FAST)
    counting = compile_profiled(checked, float_mode=FloatMode.FAST)
    times: dict[str, list[float]] = {"plain": [], "counting": []}
    for _ in range(PLACES):
        # A process that has its memory from a run before would get the same again.
        release_scratch()
        runs = {"plain": _prepared(app, plain), "counting": _prepared(app, counting.compiled)}
        for name, timing in interleaved(runs, ROUNDS, SECONDS).items():
            times[name] += timing.times_ms
    return {
        "plain_ms": round(statistics.median(times["plain"]), 3),
        "profiled_ms": round(statistics.median(times["counting"]), 3),
        "overhead": overhead(times["plain"], times["counting"]),
        "rounds": len(times["plain"]),
        "timed": len(counting.periods.timed),
        "within": len(counting.periods.within),
    }


def _prepared(app: str, program: CompiledPipeline) -> Any:
    inputs = {name: array.copy() for name, array in inputs_of(app).items()}
    return program.prepare(inputs, sizes=sizes_of(app))


def overhead(plain: Sequence[float], counting: Sequence[float]) -> list[float]:
    """The share that counters add to a run: the median over the rounds, and the ends of its
    interval.
    """
    ratios = [longer / shorter for longer, shorter in zip(counting, plain, strict=True)]
    return [round(one - 1, 4) for one in (statistics.median(ratios), *interval_of_median(ratios))]


def rows(results: Mapping[str, Any]) -> list[tuple[object, ...]]:
    """A row for each app, and one for all of them together."""
    found = results["apps"]
    made: list[tuple[object, ...]] = [
        (app, one["plain_ms"], one["profiled_ms"], "{:.1%} ({:.1%} to {:.1%})".format(
            *one["overhead"]), one["timed"], one["within"])
        for app, one in found.items()
    ]  # fmt: skip
    shares = [one["overhead"][0] for one in found.values()]
    made.append((f"median of {len(shares)}", "", "", f"{statistics.median(shares):.1%}", "", ""))
    return made


def verdict(results: Mapping[str, Any]) -> str:
    """A sentence about the apps whose counters take more than they may."""
    above = [name for name, one in results["apps"].items() if one["overhead"][0] > ALLOWED]
    if not above:
        return f"No app is above {ALLOWED:.0%}."
    return f"Above {ALLOWED:.0%}: {', '.join(above)}."
