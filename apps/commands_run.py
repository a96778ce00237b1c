"""``spaces run``: a pipeline on a picture or an array."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from apps.arguments import output_files, parse_params, read_images, shapes, write_output
from apps.catalog import find
from apps.checking import checked
from apps.commands import command
from apps.console import line
from apps.errors import Stop
from apps.fitting import output_ranges
from apps.options import DEFAULT, AppName, ScheduleFile, find_device, read_schedule
from apps.sizes import parse_ranges
from backend.arguments import ArgumentError
from backend.compile import compile_cpu

Inputs = Annotated[
    list[str],
    typer.Option("--input", help="A picture or .npy file; IMAGE=FILE where there are several."),
]
Outputs = Annotated[
    list[str],
    typer.Option("--output", help="A picture or .npy file; OUTPUT=FILE where there are several."),
]
Params = Annotated[list[str], typer.Option("--set", help="A scalar parameter, NAME=NUMBER.")]
Size = Annotated[
    str,
    typer.Option(
        "--size", help="Of the output, such as 640x480; else what the input suffices for."
    ),
]
Threads = Annotated[int, typer.Option("--threads", min=1, help="All cores if not given.")]


@command("run")
def run(
    app: AppName,
    output: Outputs,
    input: Inputs = [],  # noqa: B006 - typer reads the default and never changes it
    schedule: ScheduleFile = DEFAULT,
    params: Params = [],  # noqa: B006
    size: Size = "",
    threads: Threads | None = None,
) -> None:
    """Run an app on the CPU and write what it computes."""
    found = find(app)
    pipeline = found.pipeline()
    files = output_files(pipeline, output)
    images = read_images(pipeline, input)
    values = parse_params(params)
    chosen = checked(pipeline, read_schedule(found, pipeline, schedule), find_device("cpu"))
    if size:
        sizes = dict.fromkeys(pipeline.outputs, parse_ranges(size))
    else:
        sizes = output_ranges(pipeline, shapes(images))
    compiled = compile_cpu(pipeline, chosen, threads)
    start = time.perf_counter()
    try:
        results = compiled.run(images, values, sizes)
    except (ArgumentError, MemoryError) as error:
        raise Stop(str(error)) from None
    elapsed_ms = (time.perf_counter() - start) * 1e3
    for name, file in files.items():
        write_output(found, results[name], file)
        extents = " x ".join(str(extent) for _, extent in sizes[name])
        line(f"{file}: {name}, {extents}, in {elapsed_ms:.2f} ms")
