"""Pipelines of Halide that the user names: a file ``theirs.hlpipe``, or what a function returns."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from spaces.apps.app import App
from spaces.apps.errors import WrongUsage
from spaces.apps.files import is_there
from spaces.apps.pictures import Array, Photograph, photographed
from spaces.apps.sizes import parse_size
from spaces.backend.halide.errors import HalideFailure
from spaces.backend.halide.file.errors import HalideFileError
from spaces.backend.halide.incoming.facts import IncomingEstimates
from spaces.backend.halide.incoming.live import from_halide
from spaces.backend.halide.incoming.problems import HalideImportError
from spaces.backend.halide.incoming.program import HalideProgram, read_hlpipe
from spaces.model.algorithm.pipeline import Pipeline

_LOG = logging.getLogger(__name__)

_FRACTION = re.compile(r"-?\d*\.\d*([eE]-?\d+)?")

_NO_SCHEDULE = "schedule=none"
"""Behind the name of a file: the schedule that it has is left out."""

_NAME = re.compile(r"(?P<file>.*\.hlpipe)(:(?P<estimates>.*))?")


def app_of_file(name: str) -> App:
    """The app that ``theirs.hlpipe`` is. Estimates may follow, as in
    ``theirs.hlpipe:output=640x480,gain=2``, and ``schedule=none``, which leaves out the schedule
    that it has.

    Raises:
        WrongUsage: there is no such file. What the file says is found out later.
    """
    parts = _NAME.fullmatch(name)
    assert parts is not None, name
    file = Path(parts["file"])
    if not is_there(file, Path.is_file):
        raise WrongUsage(f"There is no file {file}.")
    return app_of_program(name, cache(lambda: _read(file, parts["estimates"] or "")))


def app_of_program(name: str, program: Callable[[], HalideProgram]) -> App:
    """The app that a pipeline of Halide is; its schedule there is called ``own``."""

    def inputs(pipeline: Pipeline, picture: Photograph) -> dict[str, Array]:
        return {**photographed(pipeline, picture), **program().arrays}

    return App(name, "", "", lambda: program().pipeline, inputs=inputs, halide=program)


def program_of_object(made: Any) -> HalideProgram:
    """The program of an object of Halide's package; a program as it is.

    Raises:
        WrongUsage: it cannot come in, or is something else.
    """
    if isinstance(made, HalideProgram):
        return _with_notes(made)
    try:
        return _with_notes(from_halide(made))
    except (HalideImportError, HalideFailure, TypeError) as error:
        raise WrongUsage(str(error)) from None


def _read(file: Path, estimates: str) -> HalideProgram:
    given = _parsed(estimates)
    try:
        found = _with_outputs(file, given, _NO_SCHEDULE in estimates.split(","))
    except OSError as error:
        raise WrongUsage(f"Cannot read {file}: {error.strerror}.") from None
    except HalideFileError as error:
        raise WrongUsage(f"{file}: {error}") from None
    except HalideImportError as error:
        name = f"{file}:{estimates}" if estimates else str(file)
        raise WrongUsage(f"{file}: {error}{_without_schedule(name, file, given)}") from None
    if found.lacks_estimates or found.lacks_values:
        _LOG.warning(_lacking(f"{file}:{estimates}" if estimates else str(file), found))
    return _with_notes(found)


def _without_schedule(name: str, file: Path, estimates: IncomingEstimates) -> str:
    """What to do about a pipeline that cannot come in; empty if its schedule is no obstacle."""
    try:
        read_hlpipe(file, estimates=estimates, ignore_schedule=True)
    except HalideImportError:
        return ""
    without = f"{name}{',' if estimates else ':'}{_NO_SCHEDULE}"
    return f"\nThe pipeline comes in without its schedule: {without}"


def _with_outputs(file: Path, estimates: IncomingEstimates, ignore_schedule: bool) -> HalideProgram:
    """The program of a file. Outputs without sizes get the largest that the images allow."""
    found = read_hlpipe(file, estimates=estimates, ignore_schedule=ignore_schedule)
    proposed = found.largest_outputs() if found.lacks_estimates else {}
    if not proposed:
        return found
    shown = ", ".join(f"{name}={_shown_size(ranges)}" for name, ranges in proposed.items())
    _LOG.warning(
        f"{file} tells no usual sizes of {', '.join(proposed)}; these are the largest for which "
        f"nothing is read outside of the images: {shown}."
    )
    sized = {**estimates, **proposed}
    return read_hlpipe(file, estimates=sized, ignore_schedule=ignore_schedule)


def _shown_size(ranges: Sequence[tuple[int, int]]) -> str:
    """Sizes as a user writes them: ``640x480``, or ``2:640x480`` from the coordinate 2 on."""
    return "x".join(f"{low}:{extent}" if low else str(extent) for low, extent in ranges)


def _with_notes(program: HalideProgram) -> HalideProgram:
    """The program itself, after a message about each thing that is otherwise than in Halide."""
    for note in program.notes:
        _LOG.warning(note)
    return program


def _parsed(text: str) -> IncomingEstimates:
    """The estimates in a text such as ``output=640x480,gain=2``."""
    found: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        if part == _NO_SCHEDULE:
            continue
        name, separator, value = part.partition("=")
        if not separator:
            raise WrongUsage(
                f"{part!r} is not an estimate; write NAME=WIDTHxHEIGHT for images and outputs, and "
                "NAME=NUMBER for parameters, with commas between."
            )
        try:
            found[name] = float(value) if _FRACTION.fullmatch(value) else int(value)
        except ValueError:
            found[name] = [(low or 0, extent) for low, extent in parse_size(value)]
    return found


def _lacking(name: str, program: HalideProgram) -> str:
    """A sentence that asks for the estimates that a program lacks."""
    pipeline, names, values = program.pipeline, program.lacks_estimates, program.lacks_values
    dimensions = {
        **{image.name: image.dimensions for image in pipeline.images},
        **{one: len(pipeline.function(one).args) for one in pipeline.outputs},
    }
    shown = {one: "x".join(["64"] * dimensions[one]) for one in names}
    shown |= dict.fromkeys(values, "4")
    sizes = [f"no usual sizes of {', '.join(names)}"] if names else []
    numbers = [f"no usual value of {', '.join(values)}"] if values else []
    return (
        f"{name.partition(':')[0]} tells {' and '.join(sizes + numbers)}; give them, as in "
        f"{with_estimates(name, shown)}."
    )


def with_estimates(name: str, estimates: Mapping[str, str]) -> str:
    """The name of a file with further estimates behind it."""
    added = ",".join(f"{one}={value}" for one, value in estimates.items())
    return f"{name}{',' if name.partition(':')[2] else ':' * (not name.endswith(':'))}{added}"


def check_sizes(program: HalideProgram, buffers: Collection[str], what: str) -> None:
    """Checks that these images and outputs have usual sizes. How to give one was told when the
    program was read.

    Args:
        program: the program.
        buffers: the names of images and outputs.
        what: what needs them, such as ``A search``.

    Raises:
        WrongUsage: one has none.
    """
    lacking = [one for one in program.lacks_estimates if one in buffers]
    if lacking:
        raise WrongUsage(f"{what} needs the usual sizes of {', '.join(lacking)}.")
