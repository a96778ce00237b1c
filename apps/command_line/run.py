"""``spaces run``: runs a pipeline on a picture or an array."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Annotated

import typer

from apps.app import App
from apps.catalog import find
from apps.command_line.arguments import (
    output_files,
    parse_params,
    read_images,
    shapes,
    write_output,
)
from apps.command_line.checking import checked
from apps.command_line.console import line
from apps.command_line.options import (
    CPU,
    DEFAULT,
    AppName,
    Exact,
    Floats,
    Hardened,
    find_device,
    given_schedule,
)
from apps.command_line.program import AsJson, command
from apps.errors import CommandError
from apps.pictures import Array
from apps.sizes import OutputRanges, parse_size, sizes_of_outputs
from backend.access import AccessError, AccessMode
from backend.arguments import ArgumentError, Scalars
from backend.compile import compile_cpu
from backend.llvm.operators import FloatMode
from backend.preconditions import SizeError, check_run
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
        help="A .sched file, or the name of a schedule of the app. Default: cpu if the app has it, "
        "else default.",
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
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, max=1024, help="The number of threads. Default: one for each core."
    ),
]


@command(
    "run",
    "Run an app on the CPU and write its outputs.",
    "run camera_pipe",
    "run unsharp --schedule cpu --input photo.png --output sharp.png",
    "run blur --size 640x480 --threads 1",
    "run harris --hardened",
)
def run(
    app: AppName,
    input: Inputs = [],  # noqa: B006 - typer reads the default and never changes it
    output: Outputs = [],  # noqa: B006
    schedule: ChosenSchedule = "",
    params: Params = [],  # noqa: B006
    size: Size = "",
    threads: Threads = None,
    floats: Floats = FloatMode.STRICT,
    hardened: Hardened = False,
    exact: Exact = False,
    as_json: AsJson = False,
) -> None:
    """Run an app on the CPU and write its outputs."""
    found = find(app)
    pipeline = found.pipeline()
    files = output_files(found, pipeline, output)
    images = read_images(found, pipeline, input)
    values = parse_params(params)
    name = schedule or (CPU if CPU in found.schedules else DEFAULT)
    from_text = given_schedule(found, pipeline, name)
    chosen = checked(pipeline, from_text, find_device(CPU), exact=exact)
    given = shapes(images)
    if size:
        sizes = sizes_of_outputs(pipeline, parse_size(size), lambda p: found.sizes(p, given))
    else:
        sizes = found.sizes(pipeline, given)
    try:
        check_run(chosen, images, values, sizes)  # compiling may take seconds
        mode = AccessMode.HARDENED if hardened else AccessMode.PLAIN
        compiled = compile_cpu(chosen, threads=threads, float_mode=floats, access_mode=mode)
        start = time.perf_counter()
        results = compiled.run(images, values, sizes)
    except SizeError as error:
        own = not schedule and name != DEFAULT
        if own and _default_suffices(found, pipeline, images, values, sizes):
            hint = f"The app's schedule {name} needs this; --schedule {DEFAULT} accepts the sizes."
            raise CommandError(f"{error}\n{hint}") from None
        raise CommandError(str(error)) from None
    except (ArgumentError, MemoryError, AccessError) as error:
        raise CommandError(str(error)) from None
    elapsed_ms = (time.perf_counter() - start) * 1e3
    for result, file in files.items():
        write_output(found, results[result], file)
    written = {result: (file, results[result].shape[::-1]) for result, file in files.items()}
    if as_json:
        outputs = [{"output": o, "file": str(f), "size": s} for o, (f, s) in written.items()]
        line(json.dumps({"app": app, "schedule": name, "ms": elapsed_ms, "outputs": outputs}))
        return
    for result, (file, size_written) in written.items():
        extents = " x ".join(map(str, size_written)) or "one value"
        line(f"{file}: {result}, {extents}, in {elapsed_ms:.2f} ms")


def _default_suffices(
    app: App,
    pipeline: Pipeline,
    images: Mapping[str, Array],
    values: Scalars,
    sizes: Mapping[str, OutputRanges],
) -> bool:
    """Whether the default schedule accepts arrays that another schedule refuses."""
    plain = checked(pipeline, given_schedule(app, pipeline, DEFAULT), find_device(CPU))
    try:
        check_run(plain, images, values, sizes)
    except SizeError:
        return False
    return True
