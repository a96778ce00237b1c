"""The table of a run on a GPU."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from bench.gpu.runner.run import best_ms, is_bad
from spaces.apps.pipelines.sgemm import SIZE

OURS = ("by hand, strict", "by hand, fast", "found, strict", "found, fast")
"""Our contenders."""

OTHERS = ("Halide, by hand", "Halide, Anderson2021", "Halide, Li2018", "library")
"""Those that are compared with the fastest of ours."""


def conditions(results: Mapping[str, Any]) -> str:
    """The card and the way of measuring, printed above the table."""
    card, machine, ceilings = results["card"], results["machine"], results["ceilings"]
    copy = ceilings.get("copy", {}).get("gb_per_s", "not measured")
    return (
        f"Measured on {card['card']} ({card['arch']}), CUDA driver {card['driver_of_cuda']}, "
        f"Python {machine['python']}; kernels of {results['bundle']['commit']}. The card copies "
        f"{copy} GB/s (bytes read and written); products of matrices: {_product(results)}. Times "
        "are milliseconds with the L2 cache flushed before each run, of a CUDA graph where the "
        "launches fit one. Columns *X / ours* divide by the fastest of ours; above 1 it is "
        "the faster one."
    )


def _product(results: Mapping[str, Any]) -> str:
    """How fast the card multiplies matrices: by a library, else by our fastest kernel."""
    found = results["ceilings"].get("matmul", {})
    if "by" in found:
        return f"{found['tflop_per_s']} TFLOP/s ({found['by']})"
    timed = results["times"].get("sgemm", {})
    own = [ms for name in OURS if (ms := _ms(timed, name)) is not None]
    if not own:
        return "not measured"
    return f"{2 * SIZE**3 / min(own) * 1e-9:.2f} TFLOP/s (ours of {SIZE} x {SIZE})"


def means(results: Mapping[str, Any]) -> dict[str, tuple[float, int]]:
    """For each other contender the geometric mean of its time over ours, and the number of apps
    where both have a time.
    """
    found = {}
    for name in OTHERS:
        ratios = (_over_ours(timed, name) for timed in results["times"].values())
        known = [ratio for ratio in ratios if ratio is not None]
        if known:
            found[name] = statistics.geometric_mean(known), len(known)
    return found


def table(results: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """The headers and the rows of the table."""
    rows: list[tuple[object, ...]] = []
    for app, timed in results["times"].items():
        own = (_ms(timed, name) or _why(results, app, name) for name in OURS)
        ratios = ((name, _over_ours(timed, name)) for name in OTHERS)
        others = (f"{one:.2f}" if one else _why(results, app, name) for name, one in ratios)
        rows.append((app, *own, *others))
    averages = means(results)
    shown = (averages.get(name) for name in OTHERS)
    last = (f"{one[0]:.2f} of {one[1]}" if one else "" for one in shown)
    rows.append(("geometric mean", *("" for _ in OURS), *last))
    return ("app", *OURS, *(f"{name} / ours" for name in OTHERS)), rows


def _over_ours(timed: Mapping[str, Any], name: str) -> float | None:
    """The time of a contender divided by that of the fastest of ours; None if one has no time."""
    own = [ms for one in OURS if (ms := _ms(timed, one)) is not None]
    ms = _ms(timed, name)
    return ms / min(own) if own and ms is not None else None


def _ms(timed: Mapping[str, Any], name: str) -> float | None:
    return best_ms(timed.get(name, {}))


def _why(results: Mapping[str, Any], app: str, name: str) -> str:
    """Why a contender has no time, in a word."""
    checked = results.get("check", {}).get(app, {}).get(name, {})
    for found in (*checked.values(), results["times"][app].get(name, {})):
        if is_bad(found):
            return "failed" if "failed" in found else "wrong"
    return ""
