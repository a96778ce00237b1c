"""Our kernels in a bundle: their machine code and text, and the steps of their host for the sizes
that are run.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from backend.arguments import Array, Sizes
from backend.compile_gpu import compile_gpu
from backend.cuda.kernel import AllocStep, CudaModule, FreeStep, HostStep
from backend.cuda.nvrtc import compiler_options
from backend.cuda.plan import Plan, PlannedLaunch, PlannedStep
from backend.cuda.program import CudaExecutor, Session
from backend.llvm.operators import FloatMode
from backend.preconditions import SizeError
from bench.contenders import pipeline_of
from bench.gpu.making import Making
from bench.gpu.runner.folder import write_arrays
from bench.gpu.runner.inputs import made
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.model.schedules.schedule import Schedule


@define(slots=False)
class Recorder(CudaExecutor):
    """Runs nothing: keeps what it is asked to run."""

    module: CudaModule = field(init=False)
    planned: Plan = field(init=False)
    buffers: dict[str, NDArray[Any]] = field(init=False)

    def session(
        self,
        module: CudaModule,
        buffers: Mapping[str, NDArray[Any]],
        unset: Collection[str] = (),
    ) -> AbstractContextManager[Session[Any]]:
        raise NotImplementedError

    def follow(
        self,
        module: CudaModule,
        planned: Plan,
        buffers: Mapping[str, NDArray[Any]],
        unset: Collection[str] = (),
    ) -> None:
        self.module, self.planned, self.buffers = module, planned, dict(buffers)


def kernels_record(
    app: str,
    schedule: Schedule,
    mode: FloatMode,
    sizes: Mapping[str, tuple[Mapping[str, Any], Sizes]],
    making: Making,
) -> dict[str, Any]:
    """What a bundle says of an app under a schedule. Writes the kernels into the bundle.

    Args:
        app: the app.
        schedule: the schedule.
        mode: how far floats may differ.
        sizes: for each size the recipes of the inputs, and the sizes of the buffers.
        making: how the bundle is made.

    Raises:
        ValueError: the schedule is illegal or serves no size, or the CPU works between kernels on
            their results.
    """
    verdict = verify(pipeline_of(app), schedule, device(making.arch))
    if not isinstance(verdict, CheckedSchedule):
        raise ValueError(f"not legal for {making.arch}: {verdict}")
    compiled = compile_gpu(verdict, arch=making.arch, float_mode=mode)
    steps, constants, refused = {}, {}, {}
    recorder = Recorder()
    for size, (recipes, ranges) in sizes.items():
        images = {name: made(recipe) for name, recipe in recipes.items()}
        try:
            compiled.run(images, sizes=ranges, executor=recorder)
        except SizeError as error:
            refused[size] = str(error)
            continue
        steps[size], tables = recorded(recorder.planned.steps, recorder.buffers, images)
        constants[size] = _kept(tables, making.folder) if tables else None
    if not steps:
        raise ValueError("; ".join(refused.values()))
    return {
        "kind": "kernels",
        "module": _module_record(recorder.module, making),
        "steps": steps,
        "constants": constants,
        "refused": refused,
    }


def recorded(
    steps: Collection[PlannedStep], buffers: Mapping[str, Array], images: Collection[str]
) -> tuple[list[dict[str, Any]], dict[str, Array]]:
    """The steps of kernels as JSON's types, and the tables that the CPU computes before them.

    Raises:
        ValueError: a step of the CPU reads images or results of kernels, or its results change
            after a kernel read them.
    """
    result: list[dict[str, Any]] = []
    tables: dict[str, Array] = {}
    of_kernels: set[str] = set(images)
    for step in steps:
        match step:
            case HostStep():
                if of_kernels & {*step.reads, *step.writes}:
                    raise ValueError(f"{step.name} is left on the CPU")
                step.run({name: buffers[name] for name in (*step.reads, *step.writes)})
                tables |= {name: buffers[name] for name in step.writes}
            case AllocStep():
                result.append({"allocate": step.buffer, "bytes": step.nbytes})
            case FreeStep():
                result.append({"free": step.buffer})
            case PlannedLaunch():
                result.append(_launch(step))
                of_kernels |= {name for name, _ in step.buffers}
    return result, {name: array for name, array in tables.items() if name in of_kernels}


def _launch(step: PlannedLaunch) -> dict[str, Any]:
    names = [name for name, _ in step.buffers]
    return {
        "launch": step.kernel.name,
        "grid": list(step.grid),
        "block": list(step.kernel.block),
        "shared": step.kernel.dynamic_shared_bytes,
        "arguments": [
            one if isinstance(one, str) else [str(one.dtype), one.item()]
            for one in step.arguments(names)
        ],
    }


def _module_record(module: CudaModule, making: Making) -> dict[str, Any]:
    folder, found = making.folder, making.build(module, making.arch)
    _, *options = compiler_options(making.arch, module.float_mode)
    return {
        "arch": making.arch,
        "options": options,
        "cubin": _stored(found.cubin, "cubin", folder),
        "ptx": _stored(zlib.compress(found.ptx, 9), "ptx.z", folder),
        "text": _stored(zlib.compress(module.source.encode(), 9), "cu.z", folder),
    }


def _stored(content: bytes, ending: str, folder: Path) -> str:
    """Writes a file that is named after its content."""
    name = f"kernels/{hashlib.sha256(content).hexdigest()[:16]}.{ending}"
    (folder / "kernels").mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return name


def _kept(tables: Mapping[str, Array], folder: Path) -> str:
    content = b"".join(np.ascontiguousarray(table).tobytes() for table in tables.values())
    name = f"kernels/{hashlib.sha256(content).hexdigest()[:16]}.npz"
    (folder / "kernels").mkdir(exist_ok=True)
    write_arrays(folder / name, tables)
    return name
