"""``spaces run``: runs a pipeline on a picture or an array."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Annotated

import typer
from attrs import frozen

from spaces.apps.app import App
from spaces.apps.catalog import find
from spaces.apps.command_line.arguments import (
    output_files,
    parse_params,
    read_images,
    shapes,
    write_output,
)
from spaces.apps.command_line.checking import checked
from spaces.apps.command_line.console import complain, line
from spaces.apps.command_line.options import (
    CPU,
    DEFAULT,
    GPU,
    AppName,
    DeviceName,
    Exact,
    Floats,
    Hardened,
    Threads,
    find_device,
    given_schedule,
)
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.errors import CommandError, WrongUsage
from spaces.apps.pictures import Array
from spaces.apps.sizes import OutputRanges, parse_size, sizes_of_outputs
from spaces.backend.access import AccessError, AccessMode
from spaces.backend.arguments import ArgumentError, Scalars
from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.errors import CudaError
from spaces.backend.cuda.launch import gpu_available
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.preconditions import SizeError, check_run
from spaces.constraints.devices.device import Device, GpuDevice
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.model.algorithm.pipeline import Pipeline

Inputs = Annotated[
    list[str],
    typer.Option(
        "--input",
        help="A picture or .npy file; IMAGE=FILE for each of several images. Default: the "
        "photograph that comes with the library.",
    ),
]
Outputs = Annotated[
    list[str],
    typer.Option(
        "--output",
        help="A picture or .npy file; OUTPUT=FILE for each of several. Default: pictures in out/.",
    ),
]
ChosenSchedule = Annotated[
    str,
    typer.Option(
        "--schedule",
        help="A .sched file, or the name of a schedule of the app. Default: cpu, or gpu for a GPU, "
        "if the app has it, else default.",
    ),
]
Params = Annotated[list[str], typer.Option("--set", help="A scalar parameter, NAME=NUMBER.")]
Size = Annotated[
    str,
    typer.Option(
        "--size",
        help="The size of the output in all dimensions, such as 640x480 or 640x480x3; 1:640x1:480 "
        "also gives the first coordinate of each. Default: the largest that the input allows.",
    ),
]


@command(
    "run",
    "Run an app on the CPU or a GPU and write its outputs.",
    "run camera_pipe",
    "run unsharp --schedule cpu --input photo.png --output sharp.png",
    "run blur --size 640x480 --threads 1",
    "run harris --hardened",
    "run blur --device sm_90",
)
def run(
    app: AppName,
    input: Inputs = [],  # noqa: B006 - typer reads the default and never changes it
    output: Outputs = [],  # noqa: B006
    schedule: ChosenSchedule = "",
    device: DeviceName = CPU,
    params: Params = [],  # noqa: B006
    size: Size = "",
    threads: Threads = None,
    floats: Floats = FloatMode.STRICT,
    hardened: Hardened = False,
    exact: Exact = False,
    as_json: AsJson = False,
) -> None:
    """Run an app on the CPU or a GPU and write its outputs. Without a GPU, the emulator runs the
    kernels on the CPU, which is slow.
    """
    found = find(app)
    pipeline = found.pipeline()
    files = output_files(found, pipeline, output)
    images = read_images(found, pipeline, input)
    values = parse_params(params)
    target = find_device(device)
    mode = AccessMode.HARDENED if hardened else AccessMode.PLAIN
    program = _ChosenPlace(target, threads, floats, mode)
    own = GPU if isinstance(target, GpuDevice) else CPU
    name = schedule or (own if own in found.schedules else DEFAULT)
    from_text = given_schedule(found, pipeline, name)
    chosen = checked(pipeline, from_text, target, exact=exact)
    given = shapes(images)
    if size:
        sizes = sizes_of_outputs(pipeline, parse_size(size), lambda p: found.sizes(p, given))
    else:
        sizes = found.sizes(pipeline, given)
    try:
        check_run(chosen, images, values, sizes)  # compiling may take seconds
        results, elapsed_ms = program.results(chosen, images, values, sizes)
    except SizeError as error:
        is_own = not schedule and name != DEFAULT
        if is_own and _default_suffices(found, pipeline, target, images, values, sizes):
            hint = f"The app's schedule {name} needs this; --schedule {DEFAULT} accepts the sizes."
            raise CommandError(f"{error}\n{hint}") from None
        raise CommandError(str(error)) from None
    except (ArgumentError, MemoryError, AccessError, CudaError) as error:
        raise CommandError(str(error)) from None
    for result, file in files.items():
        write_output(found, results[result], file)
    written = {result: (file, results[result].shape[::-1]) for result, file in files.items()}
    if as_json:
        outputs = [{"output": o, "file": str(f), "size": s} for o, (f, s) in written.items()]
        place = {"schedule": name, "device": target.name, "runs_on": program.place}
        line(json.dumps({"app": app, **place, "ms": elapsed_ms, "outputs": outputs}))
        return
    for result, (file, size_written) in written.items():
        extents = " x ".join(map(str, size_written)) or "one value"
        on = "" if own == CPU else f" on {program.place}"
        line(f"{file}: {result}, {extents}, in {elapsed_ms:.2f} ms{on}")


@frozen
class _ChosenPlace:
    """How an app runs: on which device, and how it is compiled."""

    device: Device
    threads: int | None
    floats: FloatMode
    mode: AccessMode

    def __attrs_post_init__(self) -> None:
        if self.threads is not None and isinstance(self.device, GpuDevice):
            raise WrongUsage("--threads is for the CPU; leave it out where --device names a GPU.")

    @property
    def place(self) -> str:
        """Where it runs: the CPU, a GPU by its name, or the emulator."""
        if not isinstance(self.device, GpuDevice):
            return CPU
        is_there, name = gpu_available()
        return name if is_there and self.mode is AccessMode.PLAIN else "the emulator"

    def results(
        self,
        schedule: CheckedSchedule,
        images: Mapping[str, Array],
        values: Scalars,
        sizes: Mapping[str, OutputRanges],
    ) -> tuple[dict[str, Array], float]:
        """The outputs, and the milliseconds of a run."""
        if not isinstance(self.device, GpuDevice):
            compiled = compile_cpu(
                schedule, threads=self.threads, float_mode=self.floats, access_mode=self.mode
            )
            return _timed(lambda: compiled.run(images, values, sizes))
        kernels = compile_gpu(schedule, float_mode=self.floats, access_mode=self.mode)
        prepared = kernels.prepare(images, values, sizes)
        is_there, why_not = gpu_available()
        if is_there and self.mode is AccessMode.PLAIN:
            prepared()  # loads the kernels
        elif not is_there:
            complain(f"No GPU runs the kernels ({why_not}). The emulator runs them on the CPU.")
        return _timed(prepared)


def _timed(run: Callable[[], dict[str, Array]]) -> tuple[dict[str, Array], float]:
    start = time.perf_counter()
    found = run()
    return found, (time.perf_counter() - start) * 1e3


def _default_suffices(
    app: App,
    pipeline: Pipeline,
    target: Device,
    images: Mapping[str, Array],
    values: Scalars,
    sizes: Mapping[str, OutputRanges],
) -> bool:
    """Whether the default schedule accepts arrays that another schedule refuses."""
    plain = checked(pipeline, given_schedule(app, pipeline, DEFAULT), target)
    try:
        check_run(plain, images, values, sizes)
    except SizeError:
        return False
    return True
