"""Which output a pipeline can compute from images of a given size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from apps.errors import Stop, WrongUsage
from spaces.model.pipeline import Estimate, Pipeline

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""(min, extent) of each dimension, the innermost first."""


def output_ranges(pipeline: Pipeline, images: Mapping[str, Ranges]) -> dict[str, Ranges]:
    """The ranges of each output: along each dimension it keeps the margins to the first image that
    it has at the estimates; dimensions that the image lacks keep their estimated size.

    Raises:
        Stop: an image is too small to leave any output.
        WrongUsage: there is neither an image nor an estimate to go by.
    """
    return {name: _ranges_of(pipeline, name, images) for name in pipeline.outputs}


def _ranges_of(pipeline: Pipeline, output: str, images: Mapping[str, Ranges]) -> Ranges:
    estimate = pipeline.estimate(output)
    dimensions = len(pipeline.function(output).args)
    given: Ranges = next(iter(images.values()), ())
    name = next(iter(images), "")
    estimated = pipeline.estimate(name) or () if name else ()
    ranges = []
    for d in range(dimensions):
        if estimate is not None and d < len(given) and d < len(estimated):
            before = estimate[d][0] - estimated[d][0]
            after = sum(estimated[d]) - sum(estimate[d])
            low, extent = given[d][0] + before, given[d][1] - before - after
            if extent < 1:
                raise Stop(
                    f"Image {name} has {given[d][1]} elements along dimension {d}, too few: "
                    f"{output} needs at least {before + after + 1}."
                )
            ranges.append((low, extent))
        elif estimate is not None:
            ranges.append(estimate[d])
        elif d < len(given):
            ranges.append(given[d])
        else:
            raise WrongUsage(
                f"Pipeline {pipeline.name} has no estimate for dimension {d} of {output}; "
                "give the sizes of the output."
            )
    return tuple(ranges)


def parse_ranges(text: str) -> Ranges:
    """``"640x480"`` or, with a min for a dimension, ``"2:640x2:480"``; innermost first.

    Raises:
        WrongUsage: the text is neither.
    """
    try:
        parts = [[int(number) for number in part.split(":")] for part in text.split("x")]
    except ValueError:
        parts = []
    if not parts or any(len(part) not in (1, 2) for part in parts):
        raise WrongUsage(
            f"{text!r} is not a size; write width x height as in 640x480, or min:extent for a "
            "dimension as in 2:640x2:480."
        )
    ranges = tuple((part[0], part[1]) if len(part) == 2 else (0, part[0]) for part in parts)
    for _, extent in ranges:
        if extent < 1:
            raise WrongUsage(f"The size {text} has no elements; every extent must be at least 1.")
    return ranges


def at_size(pipeline: Pipeline, ranges: Mapping[str, Ranges]) -> Pipeline:
    """The same pipeline with other estimates, for schedules that suit another size."""
    kept = [e for e in pipeline.estimates if e.buffer not in ranges]
    given = [Estimate(buffer, sizes) for buffer, sizes in ranges.items()]
    return attrs.evolve(pipeline, estimates=(*kept, *given))
