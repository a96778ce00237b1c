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
from attrs import define, evolve, field, frozen
from numpy.typing import NDArray

from bench.gpu.making import Making
from bench.gpu.random_cases import subject_pipeline
from bench.gpu.runner.folder import write_arrays
from bench.gpu.runner.inputs import made
from spaces.backend.arguments import Array, Sizes
from spaces.backend.arrays.given import AnyArray, on_host
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.kernel import AllocStep, CudaModule, FreeStep, HostStep
from spaces.backend.cuda.nvrtc import compiler_options
from spaces.backend.cuda.plan import Plan, PlannedLaunch, PlannedStep
from spaces.backend.cuda.program import CudaExecutor, Session
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.ir.host import HostPart
from spaces.backend.ir.node import walk_nodes
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.preconditions import SizeError
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule

MOST_READ = 1 << 16
"""The most bytes of images that the CPU reads for tables; work on more would be missing in times.
"""


@define(slots=False)
class Recorder(CudaExecutor):
    """Runs nothing: keeps what it is asked to run."""

    module: CudaModule = field(init=False)
    planned: Plan = field(init=False)
    buffers: dict[str, NDArray[Any]] = field(init=False)

    def session(
        self, module: CudaModule, buffers: Mapping[str, AnyArray], unset: Collection[str] = ()
    ) -> AbstractContextManager[Session[Any]]:
        raise NotImplementedError

    def follow(
        self,
        module: CudaModule,
        planned: Plan,
        buffers: Mapping[str, AnyArray],
        unset: Collection[str] = (),
    ) -> None:
        self.module, self.planned, self.buffers = module, planned, on_host(buffers)


def on_card_alone(pipeline: Pipeline, schedule: Schedule, arch: str) -> bool:
    """Whether the CPU computes nothing of a schedule."""
    verdict = verify(pipeline, schedule, device(arch))
    if not isinstance(verdict, CheckedSchedule):
        return False
    programs = compile_gpu(verdict).programs
    nodes = (node for program in programs for node in walk_nodes(program.body))
    return not any(isinstance(node, HostPart) for node in nodes)


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
        ValueError: the schedule is illegal or serves no size, or leaves work on the CPU.
    """
    verdict = verify(subject_pipeline(app), schedule, device(making.arch))
    if not isinstance(verdict, CheckedSchedule):
        raise ValueError(f"not legal for {making.arch}: {verdict}")
    compiled = compile_gpu(verdict, arch=making.arch, float_mode=mode)
    steps, constants, beforehand, refused = {}, {}, {}, {}
    recorder = Recorder()
    for size, (recipes, ranges) in sizes.items():
        images = {name: made(recipe) for name, recipe in recipes.items()}
        try:
            compiled.run(images, sizes=ranges, executor=recorder)
        except SizeError as error:
            refused[size] = str(error)
            continue
        found = recorded(recorder.planned.steps, recorder.buffers, images)
        _check_outputs(compiled, found)
        steps[size], beforehand[size] = found.steps, found.beforehand
        constants[size] = _kept(found.tables, making.folder) if found.tables else None
    if not steps:
        raise ValueError("; ".join(refused.values()))
    return {
        "kind": "kernels",
        "module": _module_record(recorder.module, making),
        "steps": steps,
        "constants": constants,
        "beforehand": beforehand,
        "refused": refused,
    }


@frozen
class Recorded:
    """What kernels need at one size.

    Attributes:
        steps: the steps on the card, as JSON's types.
        tables: the arrays that the CPU computes before the first kernel.
        beforehand: the parts of the schedule that do so.
    """

    steps: list[dict[str, Any]]
    tables: dict[str, Array]
    beforehand: list[str]


def recorded(
    steps: Collection[PlannedStep], buffers: Mapping[str, Array], images: Mapping[str, Array]
) -> Recorded:
    """The steps of a schedule that runs on the card alone, but for tables that depend on sizes and
    small images.

    Args:
        steps: what the host does.
        buffers: the arrays that the CPU and the card share, and the outputs.
        images: the arrays that nothing writes.

    Raises:
        ValueError: a step of the CPU reads a large image or results of kernels, or changes what a
            kernel has used; or no kernel is launched.
    """
    found = Recorded([], {}, [])
    used: set[str] = set()
    for step in steps:
        match step:
            case HostStep():
                read = sum(images[name].nbytes for name in step.reads if name in images)
                if used & {*step.reads, *step.writes} or read > MOST_READ:
                    raise ValueError(f"{step.name} is left on the CPU")
                step.run({name: buffers[name] for name in (*step.reads, *step.writes)})
                found.beforehand.append(step.name)
                found.tables.update({name: buffers[name] for name in step.writes})
            case AllocStep():
                found.steps.append({"allocate": step.buffer, "bytes": step.nbytes})
            case FreeStep():
                found.steps.append({"free": step.buffer})
            case PlannedLaunch():
                found.steps.append(_launch(step))
                used |= {name for name, _ in step.buffers} - set(images)
    if not used:
        raise ValueError("it launches no kernel")
    return evolve(found, tables={n: table for n, table in found.tables.items() if n in used})


def _check_outputs(compiled: GpuPipeline, found: Recorded) -> None:
    pipeline = compiled.pipeline
    outputs = {b for name in pipeline.outputs for b in pipeline.function(name).buffers}
    if outputs & found.tables.keys():
        raise ValueError("a part of its output is left on the CPU")


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
