"""The way to Halide: pipelines as objects and files, and schedules on a user's own objects."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from attrs import frozen

from spaces.backend.halide.incoming.foreign import ForeignCycles, ForeignFacts, ForeignNeeds
from spaces.backend.halide.incoming.program import HalideProgram
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule


@frozen
class HalideObjects:
    """A pipeline in Halide's Python package, with its schedule.

    Attributes:
        pipeline: the ``halide.Pipeline``.
        funcs: its Funcs by name, also those that directives have added.
        images: the ImageParams by name.
        params: the Params by name.
    """

    pipeline: Any
    funcs: Mapping[str, Any]
    images: Mapping[str, Any]
    params: Mapping[str, Any]


def to_halide(pipeline: Pipeline, schedule: Schedule | None = None) -> HalideObjects:
    """The same pipeline as new objects of Halide's Python package, with its estimates and the
    directives of ``schedule`` (the default if None).

    Raises:
        HalideMissingError: Halide's package, the extra ``halide``, is not installed.
        HalideFailure: Halide refuses a definition or a directive.
        ValueError: ``schedule`` is not a schedule of this pipeline.
    """
    # Halide's package is optional: nothing that imports it is imported before this call.
    peer = import_module("spaces.backend.halide.bridge").build(pipeline, schedule)
    peer.algorithm.set_estimates()
    algorithm = peer.algorithm
    return HalideObjects(peer.halide, algorithm.funcs, algorithm.images, algorithm.scalars)


def write_hlpipe(
    file: str | PathLike[str], pipeline: Pipeline, schedule: Schedule | None = None
) -> None:
    """Writes a pipeline with a schedule (the default if None) as Halide serializes it, and checks
    that Halide reads the schedule back as it is.

    A file lacks what Halide leaves out: limits of images and Params, and most estimates.

    Raises:
        HalideMissingError: Halide's package, the extra ``halide``, is not installed.
        HalideFailure: Halide refuses a definition or a directive.
        AppliedOtherwiseError: Halide reads another schedule; the error names the Funcs and
            directives, and nothing is written.
        ValueError: ``schedule`` is not a schedule of this pipeline.
        OSError: the file cannot be written.
    """
    writing = import_module("spaces.backend.halide.outgoing.files")
    writing.write_file(Path(file), pipeline, schedule or Schedule.default(pipeline))


def apply(
    schedule: Schedule,
    source: Any,
    *,
    leave: Collection[str] = (),
    needs: ForeignNeeds | None = None,
    cycles: ForeignCycles | None = None,
) -> HalideProgram:
    """Puts a schedule on objects of Halide that are there, and reads it back from them.

    Funcs that have exactly the entry of ``schedule`` already are not touched.

    Args:
        schedule: a schedule of the pipeline that ``from_halide(source)`` gives.
        source: a ``halide.Func``, a ``halide.Pipeline``, or several Funcs (the outputs).
        leave: Funcs that keep the schedule which they have in Halide, by their names here.
        needs: what foreign code needs of its inputs, as :func:`from_halide` takes it.
        cycles: what an element of foreign code costs, as :func:`from_halide` takes it.

    Returns:
        the program as it is in Halide now.

    Raises:
        HalideMissingError: Halide's package, the extra ``halide``, is not installed.
        ApplyError: the schedule cannot be applied; the error lists all reasons, and nothing was
            changed.
        AppliedOtherwiseError: Halide has refused a directive, or has kept another schedule than
            that which was applied; the error names the Funcs and directives. Build new objects:
            Halide cannot undo directives.
        HalideImportError: the pipeline has parts that cannot come in.
        ValueError: ``schedule`` is not one of this pipeline.
        TypeError: ``source`` is something else, as a class of generators, whose Funcs are made
            anew each time; or ``leave`` is a single name.
    """
    if isinstance(leave, str):
        raise TypeError(f"leave takes a list of names: leave=[{leave!r}].")
    applying = import_module("spaces.backend.halide.outgoing.applying")
    foreign = ForeignFacts.of(needs, cycles)
    found: HalideProgram = applying.apply_schedule(schedule, source, tuple(leave), foreign)
    return found
