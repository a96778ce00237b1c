"""The Python process that the autoscheduler in C++ asks: ``python -m
spaces.apps.halide_plugin.answer FILE NAME=VALUE...`` prints a schedule, or why it has
none.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import evolve

from spaces.apps.halide_plugin.lines import schedule_lines
from spaces.backend.halide.errors import DirectiveError
from spaces.backend.halide.file.contents import Contents
from spaces.backend.halide.file.decoding import decode
from spaces.backend.halide.file.errors import HalideFileError
from spaces.backend.halide.incoming.problems import HalideImportError
from spaces.backend.halide.incoming.program import HalideProgram, read_hlpipe
from spaces.backend.halide.incoming.roles import Roles
from spaces.backend.halide.schedule_source import halide_schedule_source
from spaces.constraints.devices.device import CpuDevice, device
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.best_known import best_known
from spaces.tuning.schema import StoreError
from spaces.tuning.store import TuningStore, default_store

_GPUS = ("cuda", "opencl", "metal", "vulkan", "webgpu", "d3d12compute")


class NoSchedule(Exception):
    """There is no schedule; ``str`` says why."""


def main(arguments: Sequence[str]) -> None:
    """Prints the answer for a file of Halide."""
    file, *given = arguments
    settings = dict(_settings(given))
    try:
        print(answer(Path(file).read_bytes(), settings), end="")
    except (NoSchedule, HalideFileError, HalideImportError, DirectiveError, ValueError) as error:
        print(error)


def answer(data: bytes, settings: Mapping[str, str]) -> str:
    """The schedule for a serialized pipeline, as the autoscheduler in C++ reads it.

    Args:
        data: the pipeline.
        settings: the parameters of the autoscheduler; ``value:NAME``, the usual value of a
            parameter; ``target`` and ``vector_bits``, those of Halide's target.

    Raises:
        NoSchedule: the target is no CPU, or a parameter is unknown or has a wrong value.
        HalideFileError, HalideImportError: the pipeline cannot come in.
        DirectiveError: the schedule has no counterpart in Halide.
        ValueError: no schedule is found.
    """
    target = _target(settings)
    seconds = _number(settings, "seconds", 0) if "seconds" in settings else None
    program = _read(data, settings)
    lacking = ", ".join(program.lacks_estimates)
    if lacking:
        raise NoSchedule(f"The generator sets no estimates of {lacking}.")
    schedule = _chosen(program, target, settings.get("store", ""), seconds)
    theirs = _funcs(decode(data), program)
    kept = program.scheduled
    lines = "\n".join(schedule_lines(program.pipeline, schedule, theirs, leave=kept))
    header = halide_schedule_source(program.pipeline, schedule, program.names, leave=kept)
    body = header[header.index("{\n") + 2 : header.rindex("}")]
    return f"schedule\n{lines}\nsource\n    const auto &pipeline_ = pipeline;\n{body}"


_KNOWN = ("seconds", "parallelism", "store", "target", "vector_bits")


def _settings(given: Iterable[str]) -> Iterator[tuple[str, str]]:
    for one in given:
        name, _, value = one.partition("=")
        yield name, value


def _target(settings: Mapping[str, str]) -> CpuDevice:
    unknown = [name for name in settings if name not in _KNOWN and not name.startswith("value:")]
    if unknown:
        raise NoSchedule(
            f"There is no parameter {unknown[0]}; there are python, seconds, parallelism and store."
        )
    features = settings.get("target", "").split("-")
    gpus = [one for one in _GPUS if one in features]
    if gpus:
        raise NoSchedule(f"Targets with {gpus[0]} are not scheduled.")
    here = device("cpu")
    assert isinstance(here, CpuDevice)
    return evolve(
        here,
        cores=int(_number(settings, "parallelism", here.cores)),
        vector_bits=int(_number(settings, "vector_bits", here.vector_bits)),
    )


def _number(settings: Mapping[str, str], name: str, default: float) -> float:
    try:
        found = float(settings.get(name, default))
    except ValueError:
        found = -1.0
    if found <= 0:
        raise NoSchedule(f"{name} is {settings[name]!r}; give a number above 0.")
    return found


def _read(data: bytes, settings: Mapping[str, str]) -> HalideProgram:
    """The program, with the usual values of its parameters."""
    plain = read_hlpipe(data)
    theirs = {plain.names.get(s.name, s.name): s for s in plain.pipeline.scalars}
    values: dict[str, int | float] = {}
    for name, text in settings.items():
        scalar = theirs.get(name.removeprefix("value:"))
        found = re.search(r"-?\d+(\.\d*)?(e[-+]?\d+)?", text)
        if name.startswith("value:") and scalar is not None and found is not None:
            values[scalar.name] = float(found[0]) if scalar.type.is_float else int(found[0])
    return read_hlpipe(data, estimates=values)


def _chosen(
    program: HalideProgram, target: CpuDevice, file: str, seconds: float | None
) -> Schedule:
    """The fastest schedule that was measured for the pipeline here, or else the first of a
    search. It keeps the Funcs that have a schedule in Halide.
    """
    pipeline = program.pipeline
    try:
        with TuningStore.read(file or default_store()) as store:
            known = best_known(store, pipeline, device("cpu"))
    except (StoreError, OSError) as error:
        raise NoSchedule(str(error)) from None
    if known is not None and _keeps(known[1].schedule, program):
        study, trial = known
        print(
            f"Spaces: the fastest schedule of study {study}, trial {trial.number}.", file=sys.stderr
        )
        return trial.schedule
    space = ScheduleSpace(pipeline, target, fixed=program.fixed)
    done = best(search(space, limits=Limits(top=1, seconds=seconds)))
    print(f"Spaces: a search of {done.seconds:.1f} s; nothing is measured.", file=sys.stderr)
    return done.best[0].schedule


def _keeps(schedule: Schedule, program: HalideProgram) -> bool:
    """Whether a schedule has the entries of all Funcs that are scheduled in Halide."""
    known = {entry.name: entry for entry in schedule.funcs}
    return schedule.derivations[: len(program.schedule.derivations)] == (
        program.schedule.derivations
    ) and all(known.get(name) == program.schedule.of(name) for name in program.scheduled)


def _funcs(contents: Contents, program: HalideProgram) -> dict[str, str]:
    """The names in Halide of all Funcs, and of the Funcs that Halide makes of images."""
    found = {f.name: program.names.get(f.name, f.name) for f in program.pipeline.functions}
    of_images = {
        image: contents.funcs[place].name for place, image in Roles(contents).images.items()
    }
    for image in program.pipeline.images:
        name = of_images.get(program.names.get(image.name, image.name))
        if name is not None:
            found[image.name] = name
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
