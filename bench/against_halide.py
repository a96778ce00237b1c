"""The hand-written CPU schedules of every app, compiled and run here and by Halide, in turns.

Both may reorder and contract float arithmetic: that is what Halide does for its plain target.
"""

from __future__ import annotations

import multiprocessing
import os
import statistics
from collections.abc import Collection, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np

from apps.catalog import APPS
from apps.timing import Timing, interleaved
from backend.compile import compile_cpu
from backend.halide.bridge import build
from backend.halide.errors import HalideFailure
from backend.llvm.operators import FloatMode
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
from spaces.constraints.devices import device

EXPERT = "cpu"
"""The schedule of an app that the means are taken over; an app may have others beside it."""

_NOT_FOR_A_CPU = ("gpu", "default")


def measure(
    chosen: Collection[str] = tuple(APPS), earlier: Mapping[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    """For each app and schedule the medians of run and compile times and their ratios, ours divided
    by Halide's, and the geometric means of these. Apps that are not ``chosen`` keep what was found
    ``earlier``.
    """
    cores = getattr(device("cpu"), "cores", 1)
    os.environ["HL_NUM_THREADS"] = str(cores)  # read by Halide's runtime when it first runs
    apps: dict[str, dict[str, Any]] = {}
    for app in APPS:
        if app in chosen:
            apps[app] = _measured(app)
        elif earlier and app in earlier:
            apps[app] = earlier[app]
    return {"threads": cores, "apps": apps, "geometric_means": _means(apps)}


def _measured(app: str) -> dict[str, Any]:
    """What is found of each schedule of an app."""
    found: dict[str, Any] = {}
    for name in APPS[app].schedules:
        if name not in _NOT_FOR_A_CPU:
            found[name] = _alone(app, name)
            print(f"  {app} {name}: {found[name]}", flush=True)
    return found


def _alone(app: str, schedule: str) -> dict[str, Any]:
    """A pair measured in a process of its own: nothing is warm, and a crash is one app's."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as process:
        try:
            return process.submit(_pair, app, schedule).result()
        except BrokenProcessPool:
            return {"halide_refuses": "The process died."}


def _pair(app: str, name: str) -> dict[str, Any]:
    pipeline = pipeline_of(app)
    schedule = written(app, name)
    inputs, sizes = inputs_of(app), sizes_of(app)
    runs = {"ours": program(app, schedule, float_mode=FloatMode.FAST)}
    try:
        runs["halide"] = build(pipeline, schedule).prepare(inputs, sizes=sizes)
        different = apart(runs["ours"](), runs["halide"]())
        compiled = interleaved({"ours": _compile(app, name), "halide": _compile_peer(app, name)}, 3)
    except HalideFailure as error:
        alone = interleaved(runs, rounds=21, budget_s=20)["ours"]
        return {"ours_ms": round(alone.median_ms, 3), "halide_refuses": str(error)}
    return {
        **_compared(interleaved(runs, rounds=21, budget_s=30), "ms", 1),
        **_compared(compiled, "compile_s", 1e-3),
        "apart": float(f"{different:.2g}"),
    }


def apart(ours: Outputs, halide: Outputs) -> float:
    """The share of values that are more than a thousandth of the largest apart.

    Raises:
        ValueError: it is more than a hundredth; one of the two computes something else.
    """
    shares = {}
    for name, array in ours.items():
        one, other = (np.nan_to_num(np.asarray(a, np.float64)) for a in (array, halide[name]))
        shares[name] = float((np.abs(one - other) > np.abs(other).max() / 1000).mean())
    wrong = [f"{share:.3g} of {name}" for name, share in shares.items() if share > 0.01]
    if wrong:
        raise ValueError(f"More than a hundredth is other than Halide's: {', '.join(wrong)}.")
    return max(shares.values())


def _compile(app: str, name: str) -> Program:
    """The definition, verification, lowering and code generation of an app."""

    def run() -> object:
        pipeline = pipeline_of(app)
        schedule = legal(pipeline, written(app, name))
        return compile_cpu(pipeline, schedule, float_mode=FloatMode.FAST)

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
    """Over the expert schedules that both sides run."""
    pairs = [
        found[EXPERT]
        for found in apps.values()
        if "compile_s_ours_over_halide" in found.get(EXPERT, {})
    ]
    keys = ("ms_ours_over_halide", "compile_s_ours_over_halide")
    means = {key: round(statistics.geometric_mean(p[key] for p in pairs), 3) for key in keys}
    worst = {f"largest {key}": max(p[key] for p in pairs) for key in keys}
    return {"apps": len(pairs), **means, **worst}
