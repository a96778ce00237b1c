"""Sizes as people write them, and pipelines at other sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from apps.errors import Stop, WrongUsage
from spaces.model.algorithm.pipeline import Estimate, Pipeline

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""(min, extent) of each dimension, the innermost first."""


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


def sizes_of_outputs(pipeline: Pipeline, ranges: Ranges) -> dict[str, Ranges]:
    """``ranges`` for every output.

    Raises:
        Stop: an output has another number of dimensions.
    """
    for output in pipeline.outputs:
        dimensions = len(pipeline.function(output).args)
        if dimensions != len(ranges):
            estimate = pipeline.estimate(output)
            such = f", as in {'x'.join(str(e) for _, e in estimate)}" if estimate else ""
            raise Stop(
                f"{output} has {dimensions} dimensions, but its size names {len(ranges)}; "
                f"write that of each{such}."
            )
    return dict.fromkeys(pipeline.outputs, ranges)


def at_size(pipeline: Pipeline, ranges: Mapping[str, Ranges]) -> Pipeline:
    """The same pipeline with other estimates, for schedules that suit another size."""
    kept = [e for e in pipeline.estimates if e.buffer not in ranges]
    given = [Estimate(buffer, sizes) for buffer, sizes in ranges.items()]
    return attrs.evolve(pipeline, estimates=(*kept, *given))
