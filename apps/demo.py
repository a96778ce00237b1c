"""``make demo``: goes once from a pipeline to its best schedule, on a photograph."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import numpy as np

from spaces.apps.all_root import all_root
from spaces.apps.catalog import APPS
from spaces.apps.command_line.checking import checked
from spaces.apps.command_line.console import heading, line, table
from spaces.apps.command_line.options import GivenSchedule, given_schedule
from spaces.apps.command_line.search import follow
from spaces.apps.errors import CommandError
from spaces.apps.files import write_picture, write_text
from spaces.apps.photographs import photograph
from spaces.apps.pictures import Array, to_array
from spaces.apps.sizes import at_size
from spaces.apps.timing import interleaved
from spaces.backend.compile import CompiledPipeline, compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.cuda.errors import CudaUnavailable
from spaces.backend.cuda.launch import GpuExecutor, gpu_available
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import CpuDevice, Device, device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.enumerate.search.events import Found
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import search
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule
from spaces.model.writing.written import WrittenSchedule

OUT = Path("out")
LIMITS = Limits(top=4)
RACE_SECONDS = 15.0
GPU = "sm_80"
CROP = (96, 128)
"""Rows and columns of the crop that executes the GPU code. Its schedule is legal there, too."""

TOLERANCE = 4e-6
"""The tolerance for floats in [-1, 3], because two libraries compute exp."""


def main() -> None:
    """Runs the demo, which writes its files to ``out/``."""
    start = time.perf_counter()
    try:
        OUT.mkdir(exist_ok=True)
        app = APPS["unsharp"]
        pixels = photograph(*app.shown_size)
        height, width = pixels.shape[:2]
        size = ((0, width), (0, height), (0, 3))
        pipeline = at_size(app.pipeline(), {"input": size, "output": size})
        image = to_array(pixels, pipeline.image("input"))
        _introduce(pipeline, width, height)
        found = _search(ScheduleSpace(pipeline, device("cpu")), "reuse")
        sharpened = _race(pipeline, found, image)
        write_picture(OUT / "before.png", pixels)
        write_picture(OUT / "after.png", app.picture(sharpened))
        _gpu(pipeline, image)
    except CommandError as stop:
        sys.exit(str(stop))
    line(f"\nDone in {time.perf_counter() - start:.0f} s. Look at {OUT}/before.png and after.png.")


def _introduce(pipeline: Pipeline, width: int, height: int) -> None:
    heading("1. The algorithm")
    line(f"An unsharp mask for a photograph of {width} x {height} pixels: what is computed.")
    for function in pipeline.functions:
        reads = f" reads {', '.join(function.callees)}" if function.callees else ""
        line(f"  {function.name}({', '.join(function.args)}){reads}")


def _search(space: ScheduleSpace, cost: str) -> list[Found]:
    """The best schedules by a cost model, all of them verified."""
    pipeline, target = space.pipeline, space.device
    kind = "CPU" if isinstance(target, CpuDevice) else "GPU"
    heading(f"\n{2 if kind == 'CPU' else 5}. The space of its schedules for {target.name}")
    line("Where each Func is computed and stored, in which order of loops, in which tiles.")
    start = time.perf_counter()
    done = follow(search(space, cost, limits=LIMITS))
    elapsed = time.perf_counter() - start
    line(
        f"Search by the cost model `{cost}` scored {done.choices:,} tilings of "
        f"{amount(done.structures, 'structure')} in {elapsed:.1f} s."
    )
    start = time.perf_counter()
    for found in done.best:
        _verified(pipeline, found.schedule, target)
    elapsed = (time.perf_counter() - start) / len(done.best)
    line(f"The best {len(done.best)} are verified to be legal, in {elapsed * 1e3:.0f} ms each:")
    table(
        ("rank", "cost", "schedule"),
        [
            (i, f.cost, format_schedule(f.schedule, pipeline))
            for i, f in enumerate(done.best, start=1)
        ],
    )
    return list(done.best)


def _verified(pipeline: Pipeline, schedule: Schedule, target: Device) -> CheckedSchedule:
    return checked(pipeline, GivenSchedule("the search", WrittenSchedule(schedule)), target)


def _race(pipeline: Pipeline, found: list[Found], image: Array) -> Array:
    """Times the best schedules beside plain ones, and checks them; returns the winner's output."""
    heading("\n3. Compiled by LLVM, compared with a plain NumPy evaluation")
    expected = evaluate(pipeline, {"input": image}, sizes=_sizes(image))["output"]
    contenders = {"default": Schedule.default(pipeline), "all at root": all_root(pipeline)}
    contenders["by hand"] = given_schedule(APPS["unsharp"], pipeline, "cpu").faultless()
    contenders |= {f"rank {i}": f.schedule for i, f in enumerate(found, start=1)}
    compiled = {}
    for name, schedule in contenders.items():
        start = time.perf_counter()
        compiled[name] = compile_cpu(_verified(pipeline, schedule, device("cpu")))
        elapsed = time.perf_counter() - start
        actual = compiled[name].run({"input": image}, sizes=_sizes(image))["output"]
        line(f"  {name}: compiled in {elapsed:.2f} s, {_agreement(actual, expected)}")
    return _timed(compiled, image)


def _sizes(image: Array) -> dict[str, tuple[int, ...]]:
    """The sharpened picture has the size of the image; the innermost dimension comes first."""
    return {"output": image.shape[::-1]}


def _timed(compiled: dict[str, CompiledPipeline], image: Array) -> Array:
    heading("\n4. Timed in turns")
    runs = {
        name: one.prepare({"input": image}, sizes=_sizes(image)) for name, one in compiled.items()
    }
    timings = interleaved(runs, budget_s=RACE_SECONDS)
    winner = min(timings, key=lambda name: timings[name].median_ms)
    table(
        ("schedule", "median ms", "times faster than the default"),
        [
            (name, timing.median_ms, timings["default"].ratio_to(timing))
            for name, timing in timings.items()
        ],
    )
    text = format_schedule(compiled[winner].schedule, compiled[winner].pipeline)
    write_text(OUT / "unsharp.sched", text + "\n")
    ahead = timings["by hand"].ratio_to(timings[winner])
    line(f"The fastest, {winner}, is {ahead:.2f} times as fast as the schedule by hand.")
    line(f"It is written to {OUT}/unsharp.sched:\n{text}")
    return runs[winner]()["output"]


def _gpu(pipeline: Pipeline, image: Array) -> None:
    """Searches for a GPU, generates CUDA, reads its resources, and executes it on a crop."""
    rows, columns = CROP
    size = [columns, rows, 3]
    space = ScheduleSpace(pipeline, device(GPU), sizes=[{"input": size, "output": size}])
    best = _search(space, "occupancy")[0]
    heading(f"\n6. CUDA C for {GPU}")
    compiled = compile_gpu(_verified(pipeline, best.schedule, device(GPU)))
    write_text(OUT / "unsharp.cu", compiled.source)
    lines = compiled.source.count("\n")
    line(f"{len(compiled.kernels)} kernels, {lines} lines, written to {OUT}/unsharp.cu.")
    _show_resources(compiled)
    crop = np.ascontiguousarray(image[:, :rows, :columns])
    sizes = {"output": size}
    expected = evaluate(pipeline, {"input": crop}, sizes=sizes)["output"]
    if shutil.which("g++"):
        actual = compiled.run({"input": crop}, sizes=sizes, executor=Emulator())["output"]
        line(
            f"Executed on the CPU, on a crop of {columns} x {rows}: {_agreement(actual, expected)}."
        )
    available, reason = gpu_available()
    if available:
        actual = compiled.run({"input": crop}, sizes=sizes, executor=GpuExecutor())["output"]
        line(f"Executed on {reason}: {_agreement(actual, expected)}.")
    else:
        line(f"Not launched on a GPU: {reason}.")


def _show_resources(compiled: GpuPipeline) -> None:
    try:
        resources = compiled.resources()
    except CudaUnavailable as error:
        line(f"Registers are not counted: {error}.")
        return
    table(
        ("kernel", "block", "registers", "shared bytes", "spilled bytes"),
        [
            (
                kernel.name,
                " x ".join(map(str, kernel.block)),
                resources[kernel.name].registers,
                resources[kernel.name].shared_bytes,
                resources[kernel.name].spill_store_bytes,
            )
            for kernel in compiled.kernels
        ],
    )


def _agreement(actual: Array, expected: Array) -> str:
    """The largest difference between two outputs.

    Raises:
        CommandError: the difference exceeds the tolerance of floats.
    """
    apart = float(np.max(np.abs(actual.astype(np.float64) - expected.astype(np.float64))))
    if not apart <= TOLERANCE:
        raise CommandError(
            f"The output differs from the reference by {apart:.3g}, more than {TOLERANCE}."
        )
    return f"equal to the reference {f'within {apart:.1g}' if apart else 'bit for bit'}"


if __name__ == "__main__":
    main()
