"""``spaces plugin``: an autoscheduler for Halide's generators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from spaces.apps.command_line.console import line
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.halide_plugin.build import build_plugin

Folder = Annotated[
    Path, typer.Option("-o", "--output", help="The folder in which libspaces.so is written.")
]
HalideFolder = Annotated[
    Path | None,
    typer.Option(
        "--halide",
        help="The folder of Halide, with include/Halide.h.",
        show_default="that of Halide's Python package",
    ),
]
Compiler = Annotated[
    str,
    typer.Option("--compiler", help="The C++ compiler.", show_default="$CXX, c++, g++ or clang++"),
]


@command(
    "plugin",
    "Build an autoscheduler for Halide's generators.",
    "plugin",
    "plugin -o build --halide /opt/halide",
)
def plugin(
    output: Folder = Path(),
    halide: HalideFolder = None,
    compiler: Compiler = "",
    as_json: AsJson = False,
) -> None:
    """Build libspaces.so, an autoscheduler for Halide's generators: -p ./libspaces.so
    autoscheduler=Spaces. It asks this Python for the schedule of a pipeline.
    """
    made = build_plugin(output, halide, compiler)
    if as_json:
        line(json.dumps({"file": str(made)}))
        return
    line(f"Wrote {made}.")
    line("Use it:")
    line(f"  ./NAME.generator -g NAME -o . -p {made.absolute()} target=host autoscheduler=Spaces")
