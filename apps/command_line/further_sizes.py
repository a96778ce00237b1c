"""Further sizes of the outputs, as text: ``640x480``, or ``out=640x480,mean=640`` by name."""

from __future__ import annotations

from collections.abc import Iterable

from spaces.apps.errors import WrongUsage
from spaces.model.algorithm.pipeline import Pipeline


def parse_sizes(texts: Iterable[str], pipeline: Pipeline) -> list[dict[str, list[int]]]:
    """The sizes that the texts give, one mapping for each.

    Raises:
        WrongUsage: a text is no size.
    """
    return [_parsed(text, pipeline) for text in texts]


def _parsed(text: str, pipeline: Pipeline) -> dict[str, list[int]]:
    size: dict[str, list[int]] = {}
    for part in text.split(","):
        name, named, extents = part.rpartition("=")
        try:
            numbers = [int(extent) for extent in extents.split("x")]
        except ValueError:
            numbers = []
        if not numbers or (not named and len(pipeline.outputs) > 1):
            example = ",".join(f"{one}=640x480" for one in pipeline.outputs)
            raise WrongUsage(f"--size takes extents, innermost first, as {example}, not {text!r}.")
        size[name.strip() or pipeline.outputs[0]] = numbers
    return size
