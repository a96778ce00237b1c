"""The machine code of the hand-written GPU schedules of every app, ours beside Halide's. No kernel
runs.

Both compile the same pipeline under the same schedule to PTX, and one assembler makes machine code
of both. By default we compute floats as they are written, and Halide computes them fast: it
contracts, and it multiplies by reciprocals instead of dividing. So each side counts with strict
floats and with fast ones.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from apps.catalog import APPS
from backend.compile_gpu import compile_gpu
from backend.cuda.errors import CudaError
from backend.cuda.nvrtc import compile_cuda
from backend.halide.bridge import CUDA, build
from backend.llvm.operators import FloatMode
from bench.contenders import pipeline_of, written
from bench.processes import Contender, ContenderFailed
from bench.sass import MachineCode, assembled
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify

Found: TypeAlias = dict[str, Any]

ARCH = "sm_90"
"""The architecture of the machine code."""

SCHEDULE = "gpu"
"""The name of the hand-written schedules."""

OURS, OURS_FAST, HALIDE, HALIDE_STRICT = "ours", "ours, fast", "Halide", "Halide, strict"

COMPARED = {
    "default": (OURS, HALIDE),
    "strict": (OURS, HALIDE_STRICT),
    "fast": (OURS_FAST, HALIDE),
}
"""The pairs that are compared: what both do by default, then each like with like."""

MEAN, LARGEST = 1.1, 1.8
"""The most that our instructions over Halide's should be, in geometric mean and for each app."""

_COMPILING = 300.0
"""Seconds in which a side must compile an app."""

_SHOWN = 6
"""How many of the most frequent instructions of a kernel are kept."""

CONDITIONS = f"""\
Instructions of all kernels in machine code for {ARCH}, without padding, for the pipelines of `apps`
under the same hand-written schedules. One ptxas assembles the PTX of both compilers; no kernel ran,
and an instruction in a loop counts once. By default we compute floats strictly and Halide computes
them fast, so the ratios (ours / Halide's) are of both defaults, of both strict, and of both fast;
only our fast floats have approximate functions. The target is {MEAN} in geometric mean and
{LARGEST} for each app. Then, ours / Halide's by default: the most registers of a thread, the bytes
of registers that a thread spills, added over the kernels, and the bytes of the CUBIN."""
"""The conditions of the comparison, printed above its table."""


def measure(
    chosen: Collection[str] = (), earlier: Mapping[str, Found] | None = None
) -> dict[str, Any]:
    """The machine code of each side, for each app. Apps outside ``chosen`` keep their ``earlier``
    results.
    """
    apps: dict[str, Found] = {}
    for app, found in APPS.items():
        if SCHEDULE not in found.schedules:
            continue
        if not chosen or app in chosen:
            apps[app] = dict(_measured(app))
            counts = (f"{side} {_count(one)}" for side, one in apps[app].items())
            print(f"  {app}: {'; '.join(counts)}", flush=True)
        elif earlier and app in earlier:
            apps[app] = earlier[app]
    return {"arch": ARCH, "apps": apps, "over_halide": over_all(apps)}


def _measured(app: str) -> Iterator[tuple[str, Found]]:
    compilers: dict[str, Callable[[str], str]] = {
        OURS: partial(_ours, float_mode=FloatMode.STRICT),
        OURS_FAST: partial(_ours, float_mode=FloatMode.FAST),
        HALIDE: partial(_halide, target=CUDA),
        HALIDE_STRICT: partial(_halide, target=f"{CUDA}-strict_float"),
    }
    contender = Contender.started(app)
    for side, compiler in compilers.items():
        try:
            yield side, contender.ask(_described, compiler, app, seconds=_COMPILING)
        except ContenderFailed as failed:
            yield side, {"failed": str(failed)}
            contender.end()
            contender = Contender.started(app)
    contender.end()


def _described(compiler: Callable[[str], str], app: str) -> Found:
    """The machine code of an app as JSON's types.

    Raises:
        ValueError: it does not compile.
    """
    try:
        return described(assembled(compiler(app), ARCH))
    except CudaError as error:
        raise ValueError(str(error)) from error


def described(code: MachineCode) -> Found:
    """Machine code as JSON's types: in sum, and kernel by kernel."""
    kernels = {
        name: {
            "instructions": kernel.size,
            "registers": kernel.resources.registers,
            "spilled": kernel.resources.spill_store_bytes,
            "most": dict(kernel.instructions.most_common(_SHOWN)),
        }
        for name, kernel in code.kernels.items()
    }
    return {
        "instructions": sum(kernel.size for kernel in code.kernels.values()),
        "registers": max(kernel.resources.registers for kernel in code.kernels.values()),
        "spilled": sum(kernel.resources.spill_store_bytes for kernel in code.kernels.values()),
        "cubin_bytes": code.cubin_bytes,
        "kernels": kernels,
    }


def _ours(app: str, float_mode: FloatMode) -> str:
    """PTX of this library.

    Raises:
        ValueError: the schedule is illegal.
        CudaError: NVRTC refuses the text, or is missing.
    """
    verdict = verify(pipeline_of(app), written(app, SCHEDULE), device(ARCH))
    if not isinstance(verdict, CheckedSchedule):
        raise ValueError(f"not legal: {verdict}")
    compiled = compile_gpu(verdict, float_mode=float_mode)
    return compile_cuda(compiled.source, ARCH, float_mode=float_mode).ptx


def _halide(app: str, target: str) -> str:
    """PTX of Halide.

    Raises:
        HalideFailure: Halide refuses the pipeline or the schedule.
    """
    return build(pipeline_of(app), written(app, SCHEDULE)).ptx(target)


def over_all(apps: Mapping[str, Found]) -> dict[str, Any]:
    """For each pair the geometric mean of our instructions over Halide's, the largest ratio, and
    the apps above the target, over the apps that both sides compile.
    """
    result: dict[str, Any] = {}
    for name, pair in COMPARED.items():
        ratios = {app: ratio for app, found in apps.items() if (ratio := over_halide(found, *pair))}
        if ratios:
            result[name] = {
                "apps": len(ratios),
                "mean": round(statistics.geometric_mean(ratios.values()), 3),
                "largest": round(max(ratios.values()), 3),
                "above": [app for app, ratio in ratios.items() if ratio > LARGEST],
            }
    return result


def over_halide(found: Found, ours: str, halide: str) -> float | None:
    """How many times the instructions of one side those of the other are; None if one of both
    failed.
    """
    counts = [found.get(side, {}).get("instructions") for side in (ours, halide)]
    return counts[0] / counts[1] if all(counts) else None


def table(results: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """The heads and the rows of the table."""
    sides = (OURS, HALIDE, HALIDE_STRICT, OURS_FAST)
    last = {"registers": "registers", "spilled": "spills", "cubin_bytes": "bytes"}
    heads = ("app", "kernels", *sides, *(f"{name}: ratio" for name in COMPARED), *last.values())
    rows: list[tuple[object, ...]] = []
    for app, found in results["apps"].items():
        kernels = len(found[OURS].get("kernels", ()))
        counts = (_count(found[side]) for side in sides)
        ratios = (over_halide(found, *pair) for pair in COMPARED.values())
        shown = ("" if ratio is None else f"{ratio:.2f}" for ratio in ratios)
        pairs = (
            " / ".join(str(found[side].get(number, "")) for side in (OURS, HALIDE))
            for number in last
        )
        rows.append((app, kernels, *counts, *shown, *pairs))
    means = (results["over_halide"].get(name) for name in COMPARED)
    shown = (f"{one['mean']:.2f} of {one['apps']}" if one else "" for one in means)
    rows.append(("geometric mean", *("",) * 5, *shown, *("",) * len(last)))
    return heads, rows


def _count(found: Found) -> object:
    return found.get("instructions", "failed")
