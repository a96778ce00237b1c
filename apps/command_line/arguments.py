"""The inputs, parameters and output files that a command line names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from spaces.apps.app import App
from spaces.apps.errors import WrongUsage
from spaces.apps.files import (
    ARRAY_SUFFIX,
    check_writable_picture,
    make_folder,
    read_array,
    read_photograph,
    write_array,
    write_picture,
)
from spaces.apps.photographs import photograph
from spaces.apps.pictures import PICTURED, Array, stretched, to_array
from spaces.apps.sizes import OutputRanges
from spaces.model.algorithm.pipeline import Pipeline

OUT = Path("out")
"""The folder for pictures without a file name."""


def read_images(app: App, pipeline: Pipeline, named: Sequence[str]) -> dict[str, Array]:
    """The arrays for the images of a pipeline.

    Without arguments, the app makes all of them from the photograph that comes with the library;
    with a lone picture, from that picture. Otherwise each of ``named`` is ``IMAGE=FILE``, a picture
    or a ``.npy`` file; a lone ``.npy`` file belongs to the only image.

    Raises:
        WrongUsage: a file is missing or unreadable, or an argument names no image.
    """
    if not named:
        return app.inputs(pipeline, photograph(*app.shown_size))
    if len(named) == 1 and "=" not in named[0] and not _is_array(Path(named[0])):
        return app.inputs(pipeline, read_photograph(Path(named[0])))
    images = [image.name for image in pipeline.images]
    files = _assigned(named, images, "image", pipeline)
    missing = [name for name in images if name not in files]
    if missing:
        raise WrongUsage(
            f"Pipeline {pipeline.name} also reads {', '.join(missing)}: name a picture or a .npy "
            f"file with --input {missing[0]}=FILE."
        )
    return {
        name: read_array(file)
        if _is_array(file)
        else to_array(read_photograph(file), pipeline.image(name))
        for name, file in files.items()
    }


def output_files(app: App, pipeline: Pipeline, named: Sequence[str]) -> dict[str, Path]:
    """The file for each output that the user wants, checked before any work. Without arguments, a
    picture of each output in the folder ``out``, or an array where it can't be a picture.

    Raises:
        CommandError: a file cannot be written, or an argument names no output.
    """
    if not named:
        make_folder(OUT)
    files = _assigned(named, list(pipeline.output_arrays), "output", pipeline)
    files = files or _own_files(app, pipeline)
    for file in files.values():
        check_writable_picture(file)
    return files


def _own_files(app: App, pipeline: Pipeline) -> dict[str, Path]:
    """A file for each output: the pipeline's name, and the output's if it has several."""
    several = len(pipeline.output_arrays) > 1
    return {
        output: OUT / f"{pipeline.name}{f'_{output}' if several else ''}"
        f"{'.png' if _is_pictured(app, pipeline, output) else ARRAY_SUFFIX}"
        for output in pipeline.output_arrays
    }


def _is_pictured(app: App, pipeline: Pipeline, output: str) -> bool:
    """Whether a picture can show an output; an app with a picture of its own knows how."""
    functions = map(pipeline.function, pipeline.outputs)
    dimensions = next(len(f.args) for f in functions if output in f.buffers)
    return app.picture is not stretched or dimensions in PICTURED


def write_output(app: App, array: Array, file: Path) -> None:
    """Saves an output: unchanged in a ``.npy`` file, else as a picture."""
    if _is_array(file):
        write_array(file, array)
    else:
        write_picture(file, app.picture(array))


def _is_array(file: Path) -> bool:
    return file.suffix.lower() == ARRAY_SUFFIX


def _assigned(
    named: Sequence[str], names: Sequence[str], kind: str, pipeline: Pipeline
) -> dict[str, Path]:
    """``NAME=FILE`` arguments as files by name; a lone ``FILE`` belongs to a lone name."""
    files: dict[str, Path] = {}
    for argument in named:
        name, separator, file = argument.partition("=")
        if not separator and len(names) == 1:
            name, file = names[0], argument
        if name not in names:
            raise WrongUsage(
                f"{argument} names no {kind} of pipeline {pipeline.name}, which has "
                f"{', '.join(names) or 'none'}; write {kind.upper()}=FILE."
            )
        files[name] = Path(file)
    return files


def parse_params(assignments: Iterable[str]) -> dict[str, int | float]:
    """``NAME=VALUE`` arguments as values of scalar parameters.

    Raises:
        WrongUsage: an argument has no name or no number.
    """
    values: dict[str, int | float] = {}
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        try:
            values[name] = float(value) if "." in value or "e" in value else int(value)
        except ValueError:
            raise WrongUsage(f"{assignment!r} has no number; write NAME=NUMBER.") from None
    return values


def shapes(images: Mapping[str, Array]) -> dict[str, OutputRanges]:
    """The ranges of arrays whose coordinates begin at 0, innermost first."""
    return {
        name: tuple((0, extent) for extent in reversed(array.shape))
        for name, array in images.items()
    }
