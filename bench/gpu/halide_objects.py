"""Halide's side of a bundle: libraries that it compiles ahead of time, with CUDA inside."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from bench.contenders import pipeline_of, written
from spaces.backend.halide.autoschedule import gpu_autoscheduled
from spaces.backend.halide.bridge import CUDA, HalidePipeline, build, compile_runtime

BY_HAND = "by hand"
"""Our own schedule, compiled by Halide; else the name of an autoscheduler."""

MULTIPROCESSORS = 132
"""Of an H100, which Halide's autoschedulers ask for."""

_HOOKS = Path(__file__).parent / "halide_hooks.c"


def halide_record(app: str, schedule: str, folder: Path) -> dict[str, Any]:
    """What a bundle says of an app under :data:`BY_HAND` or the schedule of an autoscheduler.
    Writes its library into the bundle.

    Raises:
        ValueError: Halide refuses the schedule, or fails to find one.
    """
    pipeline = pipeline_of(app)
    if schedule == BY_HAND:
        peer, source = build(pipeline, written(app, "gpu")), ""
    else:
        found = gpu_autoscheduled(pipeline, schedule, MULTIPROCESSORS)
        peer, source = found.peer, found.source
    function = f"halide_{app}_{schedule.replace(' ', '_').lower()}"
    return {**library_record(peer, function, folder, CUDA), "schedule": source}


def library_record(
    peer: HalidePipeline, function: str, folder: Path, target: str
) -> dict[str, Any]:
    """What a bundle says of a function that Halide compiles for a target. Writes its library into
    the bundle.
    """
    library = f"halide/{function}.so"
    arguments = _library(peer, folder / library, function, target)
    return {
        "kind": "halide",
        "library": library,
        "function": function,
        "arguments": list(arguments),
        "target": target,
    }


def _library(peer: HalidePipeline, file: Path, function: str, target: str) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as made:
        objects = Path(made) / "code.o"
        arguments = peer.compile_ahead(objects, function, f"{target}-no_runtime")
        _link(file, objects)
    return arguments


def write_runtime(folder: Path) -> None:
    """Writes the library of Halide's runtime into a bundle. All other libraries call it."""
    with tempfile.TemporaryDirectory() as made:
        runtime = Path(made) / "runtime.o"
        compile_runtime(runtime, CUDA)
        _link(folder / "halide" / "runtime.so", runtime, _HOOKS)


def _link(file: Path, *sources: Path) -> None:
    compiler = shutil.which("gcc")
    if compiler is None:
        raise ValueError("there is no gcc, which links Halide's objects")
    file.parent.mkdir(exist_ok=True)
    command = [compiler, "-O1", "-fPIC", "-shared", "-s", "-o"]
    files = [str(file), *map(str, sources)]
    done = subprocess.run(
        [*command, *files, "-ldl", "-lpthread"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ValueError(f"gcc does not link {file.name}: {done.stderr.strip()[:200]}")
