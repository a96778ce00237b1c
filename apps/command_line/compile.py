"""``spaces compile``: writes all code for a schedule, as files in a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from attrs import frozen

from spaces.apps.catalog import find
from spaces.apps.command_line.checking import checked
from spaces.apps.command_line.console import line
from spaces.apps.command_line.options import (
    AppName,
    DeviceName,
    Exact,
    Floats,
    Hardened,
    ScheduleFile,
    find_device,
    given_schedule,
)
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.errors import WrongUsage
from spaces.apps.files import make_folder, write_bytes, write_text
from spaces.backend.access import AccessMode
from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.errors import CudaUnavailable
from spaces.backend.llvm.c_header import RUNTIME, RUNTIME_HEADER
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.llvm.runtime.helpers import runtime_object
from spaces.backend.lowering.cpu.passes import CPU_PASSES
from spaces.backend.lowering.gpu.passes import GPU_PASSES
from spaces.backend.lowering.passes import START
from spaces.constraints.devices.device import GpuDevice
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.model.nest.nest_text import format_nests
from spaces.model.suggestions import suggestion
from spaces.model.writing.text import format_schedule

Folder = Annotated[str, typer.Option("-o", "--output", help="The folder to write into.")]
After = Annotated[
    str,
    typer.Option(
        "--after",
        metavar="PASS",
        help="Write the lowered program after this pass: start, "
        f"{', '.join(CPU_PASSES)}; for a GPU, {', '.join(GPU_PASSES)}.",
    ),
]


@command(
    "compile",
    "Write the code for a schedule, as files in a folder.",
    "compile unsharp --schedule gpu --device sm_80 -o out",
    "compile blur --schedule cpu --after vectorize -o out",
    "compile blur --schedule cpu --hardened -o out",
)
def compile_app(
    app: AppName,
    schedule: ScheduleFile,
    output: Folder,
    device: DeviceName = "cpu",
    after: After = START,
    floats: Floats = FloatMode.STRICT,
    hardened: Hardened = False,
    exact: Exact = False,
    as_json: AsJson = False,
) -> None:
    """Write the code for a schedule: lowered program, LLVM IR, assembly, object file and C header,
    or CUDA C.
    """
    found = find(app)
    pipeline = found.pipeline()
    target = find_device(device)
    passes = (START, *(GPU_PASSES if isinstance(target, GpuDevice) else CPU_PASSES))
    if after not in passes:
        near = suggestion(after, passes)
        raise WrongUsage(
            f"There is no pass {after!r}{near}; the passes for {target.name} are "
            f"{', '.join(passes)}."
        )
    if floats is not FloatMode.STRICT and isinstance(target, GpuDevice):
        raise WrongUsage(
            f"--floats {floats} is for CPUs; CUDA C writes each operation, and an option of its "
            "compiler allows contraction (nvrtc's --fmad)."
        )
    if hardened and isinstance(target, GpuDevice):
        raise WrongUsage(
            "--hardened is for CPUs; the emulator tests the accesses of CUDA C "
            "(compile_gpu with access_mode=AccessMode.HARDENED)."
        )
    given = given_schedule(found, pipeline, schedule)
    legal = checked(pipeline, given, target, exact=exact)
    folder = Path(output)
    make_folder(folder)
    stem = pipeline.name
    write_text(folder / f"{stem}.sched", format_schedule(legal.schedule, pipeline) + "\n")
    write_text(folder / f"{stem}.nest", format_nests(pipeline, legal.schedule) + "\n")
    if isinstance(target, GpuDevice):
        report = _write_gpu(legal, folder, stem, after)
    else:
        mode = AccessMode.HARDENED if hardened else AccessMode.PLAIN
        report = _write_cpu(legal, folder, stem, after, floats, mode)
    files = [f"{stem}.sched", f"{stem}.nest", *report.files]
    if as_json:
        paths = [str(folder / name) for name in files]
        line(json.dumps({"files": paths, "resources": report.resources}, indent=2))
        return
    missing = f"; no resource report, because {report.missing}" if report.missing else ""
    line(f"{folder}: {', '.join(files)}{missing}")


@frozen
class _Report:
    """The files, the resources of the kernels, and the reason if these are missing."""

    files: tuple[str, ...]
    resources: dict[str, Any] | None = None
    missing: str = ""


def _write_cpu(
    legal: CheckedSchedule, folder: Path, stem: str, after: str, floats: FloatMode, mode: AccessMode
) -> _Report:
    compiled = compile_cpu(legal, float_mode=floats, access_mode=mode)
    write_text(folder / f"{stem}.program", compiled.program_text(after) + "\n")
    write_text(folder / f"{stem}.ll", compiled.llvm_ir())
    write_text(folder / f"{stem}.s", compiled.assembly())
    write_text(folder / f"{stem}.h", compiled.c_header())
    write_bytes(folder / f"{stem}.o", compiled.object_bytes())
    write_text(folder / f"{RUNTIME}.h", RUNTIME_HEADER)
    write_bytes(folder / f"{RUNTIME}.o", runtime_object())
    own = (f"{stem}.{ending}" for ending in ("program", "ll", "s", "h", "o"))
    return _Report((*own, f"{RUNTIME}.h", f"{RUNTIME}.o"))


def _write_gpu(legal: CheckedSchedule, folder: Path, stem: str, after: str) -> _Report:
    compiled = compile_gpu(legal)
    own = f"{stem}.program", f"{stem}.cu"
    write_text(folder / own[0], compiled.program_text(after) + "\n")
    write_text(folder / own[1], compiled.source)
    try:
        resources = compiled.resources()
    except CudaUnavailable as error:
        return _Report(own, missing=str(error))
    report = {
        kernel.name: {
            "block": list(kernel.block),
            "registers": resources[kernel.name].registers,
            "shared_bytes": resources[kernel.name].shared_bytes + kernel.dynamic_shared_bytes,
            "spill_store_bytes": resources[kernel.name].spill_store_bytes,
            "spill_load_bytes": resources[kernel.name].spill_load_bytes,
            "stack_bytes": resources[kernel.name].stack_bytes,
        }
        for kernel in compiled.kernels
    }
    write_text(folder / f"{stem}.resources.json", json.dumps(report, indent=2) + "\n")
    return _Report((*own, f"{stem}.resources.json"), report)
