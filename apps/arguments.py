"""What the command line names to run a pipeline on, and where its outputs go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from apps.catalog import App
from apps.errors import WrongUsage
from apps.files import (
    ARRAY_SUFFIX,
    check_writable_picture,
    read_array,
    read_photograph,
    write_array,
    write_picture,
)
from apps.pictures import Array, to_array
from apps.sizes import Ranges
from spaces.model.pipeline import Pipeline


def read_images(pipeline: Pipeline, named: Sequence[str]) -> dict[str, Array]:
    """The arrays for the images of a pipeline, from pictures and ``.npy`` files.

    Each of ``named`` is ``FILE``, where the pipeline has one image, or ``IMAGE=FILE``.

    Raises:
        WrongUsage: a file is missing or unreadable, or does not say for which image it is.
    """
    images = [image.name for image in pipeline.images]
    files = _assigned(named, images, "image", pipeline)
    missing = [name for name in images if name not in files]
    if missing:
        raise WrongUsage(
            f"Pipeline {pipeline.name} reads {', '.join(missing)}: name a picture or a .npy file "
            f"with --input {'FILE' if len(images) == 1 else f'{missing[0]}=FILE'}."
        )
    return {
        name: read_array(file)
        if file.suffix.lower() == ARRAY_SUFFIX
        else to_array(read_photograph(file), pipeline.image(name))
        for name, file in files.items()
    }


def output_files(pipeline: Pipeline, named: Sequence[str]) -> dict[str, Path]:
    """The file for each output that is wanted, checked before any work is done.

    Raises:
        WrongUsage: a file cannot be written, or does not say for which output it is.
    """
    files = _assigned(named, list(pipeline.outputs), "output", pipeline)
    for file in files.values():
        check_writable_picture(file)
    return files


def write_output(app: App, array: Array, file: Path) -> None:
    """Save an output: as it is in a ``.npy`` file, else as a picture."""
    if file.suffix.lower() == ARRAY_SUFFIX:
        write_array(file, array)
    else:
        write_picture(file, app.picture(array))


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
        WrongUsage: one has no name or no number.
    """
    values: dict[str, int | float] = {}
    for assignment in assignments:
        name, _, value = assignment.partition("=")
        try:
            values[name] = float(value) if "." in value or "e" in value else int(value)
        except ValueError:
            raise WrongUsage(f"{assignment!r} gives no number; write NAME=NUMBER.") from None
    return values


def shapes(images: Mapping[str, Array]) -> dict[str, Ranges]:
    """The ranges of arrays whose coordinates begin at 0, innermost first."""
    return {
        name: tuple((0, extent) for extent in reversed(array.shape))
        for name, array in images.items()
    }
