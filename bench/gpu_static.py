"""The machine code of the hand-written GPU schedules of every app, ours beside Halide's. No kernel
runs.

Both compile the same pipeline under the same schedule to PTX, and one assembler makes machine code
of both. By default we compute floats as they are written, and Halide computes them fast: it
contracts, and it multiplies by reciprocals instead of dividing. So each side counts with strict
floats and with fast ones. NVRTC and ptxas both unroll loops that the schedule does not; Halide
leaves that to ptxas. So each side also counts with loops as they are written, which shows how many
instructions an iteration takes.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from bench.contenders import pipeline_of, written
from bench.processes import Contender, ContenderFailed
from bench.sass import PROGRAMS, MachineCode, assembled, path_of
from spaces.apps.catalog import APPS
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.errors import CudaError
from spaces.backend.cuda.nvrtc import available_archs, compile_cuda
from spaces.backend.halide.bridge import CUDA, build
from spaces.backend.llvm.operators import FloatMode
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify

Found: TypeAlias = dict[str, Any]

ARCH = "sm_90"
"""The architecture of the machine code."""

SCHEDULE = "gpu"
"""The name of the hand-written schedules."""

OURS, OURS_FAST, OURS_ROLLED = "ours", "ours, fast", "ours, rolled"
HALIDE, HALIDE_STRICT, HALIDE_ROLLED = "Halide", "Halide, strict", "Halide, strict, rolled"

COMPARED = {
    "default": (OURS, HALIDE),
    "strict": (OURS, HALIDE_STRICT),
    "fast": (OURS_FAST, HALIDE),
    "strict, rolled": (OURS_ROLLED, HALIDE_ROLLED),
}
"""The pairs that are compared: what both do by default, then each like with like."""

MEAN, LARGEST = 1.1, 1.8
"""The most that our instructions over Halide's should be, in geometric mean and for each app."""

_COMPILING = 300.0
"""Seconds in which a side must compile an app."""

_STRICT = f"{CUDA}-strict_float"

_LOOP = re.compile(r"(#pragma unroll\n)?^( *for \()", re.MULTILINE)
"""Matches the beginning of a loop in CUDA C, and the schedule's request to unroll it."""

_LABEL = re.compile(r"^\$\w+:.*$", re.MULTILINE)
"""Matches the beginning of each block of PTX. Loops begin at such blocks."""

CONDITIONS = f"""\
Instructions of all kernels in machine code for {ARCH}, without padding, for the pipelines of `apps`
under the same hand-written schedules. One ptxas assembles the PTX of both compilers; no kernel ran,
and an instruction in a loop counts once. The ratios are ours / Halide's. Columns *default*: as both
come; we compute floats strictly, Halide fast. Columns *strict* and *fast*: both do the same, but
only our fast floats have approximate functions, and Halide's strict ones are still contracted.
Columns *rolled*: strict, and compilers unroll no loop that the schedule does not unroll. The target
is {MEAN} in geometric mean and {LARGEST} for each app. Then, by default, ours / Halide's: the most
registers of a thread, the bytes of registers that a thread spills, added over the kernels, and the
bytes of the CUBIN."""
"""The conditions of the comparison, printed above its table."""


def measure(
    chosen: Collection[str] = (), earlier: Mapping[str, Found] | None = None
) -> dict[str, Any]:
    """The machine code of each side, for each app. Apps outside ``chosen`` keep their ``earlier``
    results.

    Raises:
        CudaUnavailable: a program or a library that this needs is missing.
    """
    for program in PROGRAMS:
        path_of(program)
    available_archs()
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
        OURS: _ours,
        OURS_FAST: partial(_ours, float_mode=FloatMode.FAST),
        OURS_ROLLED: partial(_ours, changed=rolled),
        HALIDE: _halide,
        HALIDE_STRICT: partial(_halide, target=_STRICT),
        HALIDE_ROLLED: partial(_halide, target=_STRICT, changed=rolled_ptx),
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


def _ours(
    app: str, float_mode: FloatMode = FloatMode.STRICT, changed: Callable[[str], str] = str
) -> str:
    """PTX of this library, of its CUDA text ``changed``.

    Raises:
        ValueError: the schedule is illegal.
        CudaError: NVRTC refuses the text, or is missing.
    """
    verdict = verify(pipeline_of(app), written(app, SCHEDULE), device(ARCH))
    if not isinstance(verdict, CheckedSchedule):
        raise ValueError(f"not legal: {verdict}")
    compiled = compile_gpu(verdict, float_mode=float_mode)
    return compile_cuda(changed(compiled.source), ARCH, float_mode=float_mode).ptx


def _halide(app: str, target: str = CUDA, changed: Callable[[str], str] = str) -> str:
    """PTX of Halide, ``changed``.

    Raises:
        HalideFailure: Halide refuses the pipeline or the schedule.
    """
    return changed(build(pipeline_of(app), written(app, SCHEDULE)).ptx(target))


def rolled(source: str) -> str:
    """CUDA C with loops that compilers leave as they are, but for those that it asks to unroll."""
    return _LOOP.sub(lambda at: at[0] if at[1] else f"#pragma unroll 1\n{at[2]}", source)


def rolled_ptx(text: str) -> str:
    """PTX with loops that ptxas leaves as they are. The request counts where a loop begins, and
    elsewhere does nothing. PTX ISA, "Performance-Tuning Directives".
    """
    return _LABEL.sub(lambda label: f'{label[0]}\n\t.pragma "nounroll";', text)


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
    """The headers and the rows of the table."""
    sides = tuple(dict.fromkeys(side for pair in COMPARED.values() for side in pair))
    last = {"registers": "registers", "spilled": "spills", "cubin_bytes": "bytes"}
    headers = ("app", "kernels", *sides, *(f"{name}: ratio" for name in COMPARED), *last.values())
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
    rows.append(("geometric mean", "", *("" for _ in sides), *shown, *("" for _ in last)))
    return headers, rows


def _count(found: Found) -> object:
    return found.get("instructions", "failed")
