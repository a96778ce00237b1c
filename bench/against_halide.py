"""The hand-written CPU schedules of every app, compiled and run here and by Halide, in turns.

Both compile the same pipeline of :mod:`apps` under the same schedule; Halide's own apps have other
schedules, which this comparison leaves out. Both may reorder and contract float arithmetic, as
Halide does for its plain target.

Our runtime keeps scratch memory for the next run; Halide's runtime frees it after each run. If the
C library then returns the memory to the system, the next run gets it again, page by page. So each
pair is timed twice: plainly, and with a C library that keeps freed memory (:data:`KEEPING`).
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from bench.contenders import (
    Outputs,
    Program,
    inputs_of,
    legal,
    pipeline_of,
    program,
    sizes_of,
    written,
)
from bench.page_faults import page_faults
from spaces.apps.catalog import APPS
from spaces.apps.timing import Timing, interleaved
from spaces.backend.compile import compile_cpu
from spaces.backend.halide.bridge import build
from spaces.backend.halide.errors import HalideFailure
from spaces.backend.llvm.operators import FloatMode
from spaces.constraints.devices.device import host_cpu

MEASURED = "cpu"
"""The schedule of each app that counts in the means; an app may have others, too."""

_NOT_FOR_A_CPU = ("gpu", "default")

KEEPING = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 40),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(1 << 28),
}
"""Environment variables, in bytes, that make glibc keep freed memory instead of returning it to the
system; glibc reads them when a process begins.
"""

Found: TypeAlias = dict[str, Any]

_REFUSES = "halide_refuses"

_RATIOS = ("ms_ours_over_halide", "kept_ms_ours_over_halide", "compile_s_ours_over_halide")


def measure(
    chosen: Collection[str] = tuple(APPS), earlier: Mapping[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    """For each app and schedule the medians of run and compile times, their ratios (ours divided by
    Halide's), and the geometric means of the ratios. Apps outside ``chosen`` keep their ``earlier``
    results.

    Names with ``kept`` are of runs in which both sides keep memory.
    """
    cores = host_cpu().cores
    os.environ["HL_NUM_THREADS"] = str(cores)  # Halide's runtime reads it at its first run
    apps: dict[str, dict[str, Any]] = {}
    for app in APPS:
        if app in chosen:
            apps[app] = _measured(app)
        elif earlier and app in earlier:
            apps[app] = earlier[app]
    return {"threads": cores, "apps": apps, "geometric_means": _means(apps)}


def _measured(app: str) -> dict[str, Any]:
    """The results for each schedule of an app."""
    found: dict[str, Any] = {}
    for name in APPS[app].schedules:
        if name not in _NOT_FOR_A_CPU:
            found[name] = _alone(_pair, app, name)
            if _REFUSES not in found[name]:
                with variables(KEEPING):
                    found[name] |= _alone(_kept, app, name)
            print(f"  {app} {name}: {found[name]}", flush=True)
    return found


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """Sets environment variables for processes that begin inside the block."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _alone(measured: Callable[[str, str], Found], app: str, schedule: str) -> Found:
    """Measures a pair in a process of its own: nothing is warm, and a crash costs one app."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as process:
        try:
            return process.submit(measured, app, schedule).result()
        except BrokenProcessPool:
            return {_REFUSES: "The process died."}


def _pair(app: str, name: str) -> Found:
    """Run and compile times; each side keeps memory or frees it as usual."""
    try:
        runs = _both(app, name)
        different = apart(runs["ours"](), runs["halide"]())
        compiled = interleaved({"ours": _compile(app, name), "halide": _compile_peer(app, name)}, 3)
    except HalideFailure as error:
        alone = interleaved({"ours": _ours(app, name)}, rounds=21, budget_s=20)["ours"]
        return {"ours_ms": round(alone.median_ms, 3), _REFUSES: str(error)}
    return {
        **_compared(interleaved(runs, rounds=21, budget_s=30), "ms", 1),
        **_compared(compiled, "compile_s", 1e-3),
        "apart": float(f"{different:.2g}"),
        "halide_page_faults": page_faults(runs["halide"]),
    }


def _kept(app: str, name: str) -> Found:
    """Run times when both sides keep memory."""
    runs = _both(app, name)
    return {
        **_compared(interleaved(runs, rounds=21, budget_s=30), "kept_ms", 1),
        "halide_kept_page_faults": page_faults(runs["halide"]),
    }


def _both(app: str, name: str) -> dict[str, Callable[[], Outputs]]:
    """A function that runs our code, and one that runs Halide's.

    Raises:
        HalideFailure: Halide refuses the pipeline or the schedule.
    """
    peer = build(pipeline_of(app), written(app, name))
    runs = {"ours": _ours(app, name)}
    runs["halide"] = peer.prepare(inputs_of(app), sizes=sizes_of(app))
    return runs


def _ours(app: str, name: str) -> Callable[[], Outputs]:
    return program(app, written(app, name), float_mode=FloatMode.FAST)


def apart(ours: Outputs, halide: Outputs) -> float:
    """The share of values that differ by more than a thousandth of the largest, integers by more
    than one: Halide may round a float that is almost a whole number to the other side.

    Raises:
        ValueError: the share is more than a hundredth, so one side computes something else.
    """
    shares = {}
    for name, array in ours.items():
        one, other = (np.nan_to_num(np.asarray(a, np.float64)) for a in (array, halide[name]))
        least = 0.0 if np.asarray(array).dtype.kind == "f" else 1.0
        allowed = max(least, np.abs(other).max() / 1000)
        shares[name] = float((np.abs(one - other) > allowed).mean())
    wrong = [f"{share:.3g} of {name}" for name, share in shares.items() if share > 0.01]
    if wrong:
        raise ValueError(f"More than a hundredth is other than Halide's: {', '.join(wrong)}.")
    return max(shares.values())


def _compile(app: str, name: str) -> Program:
    """Defines, verifies, lowers and compiles an app."""

    def run() -> object:
        pipeline = pipeline_of(app)
        checked = legal(pipeline, written(app, name))
        return compile_cpu(checked, float_mode=FloatMode.FAST)

    return run


def _compile_peer(app: str, name: str) -> Program:
    return lambda: build(pipeline_of(app), written(app, name)).compile()


def _compared(timings: dict[str, Timing], unit: str, factor: float) -> dict[str, Any]:
    ours, halide = timings["ours"], timings["halide"]
    return {
        f"ours_{unit}": round(ours.median_ms * factor, 3),
        f"halide_{unit}": round(halide.median_ms * factor, 3),
        f"{unit}_ours_over_halide": round(ours.ratio_to(halide), 3),
    }


def _means(apps: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The geometric means over all measured hand-written schedules that both sides run."""
    pairs = [found[MEASURED] for found in apps.values() if _RATIOS[0] in found.get(MEASURED, {})]
    ratios = {key: [pair[key] for pair in pairs if key in pair] for key in _RATIOS}
    means = {k: round(statistics.geometric_mean(r), 3) for k, r in ratios.items() if r}
    worst = {f"largest {key}": max(r) for key, r in ratios.items() if r}
    return {"apps": len(pairs), **means, **worst}
