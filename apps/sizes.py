"""Sizes as people write them, and pipelines at other sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import attrs

from spaces.apps.errors import CommandError, WrongUsage
from spaces.model.algorithm.pipeline import Estimate, Pipeline
from spaces.model.amounts import amount

OutputRanges: TypeAlias = tuple[tuple[int, int], ...]
"""(min, extent) of each dimension, the innermost first."""

AskedSizes: TypeAlias = tuple[tuple[int | None, int], ...]
"""(min, extent) of each dimension; a min may be None."""


def parse_size(text: str) -> AskedSizes:
    """``"640x480"`` or, with a min for a dimension, ``"2:640x2:480"``; innermost first.

    Raises:
        WrongUsage: the text has neither form, or an extent below 1.
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
    asked = tuple((part[0], part[1]) if len(part) == 2 else (None, part[0]) for part in parts)
    for _, extent in asked:
        if extent < 1:
            raise WrongUsage(f"The size {text} has no elements; every extent must be at least 1.")
    return asked


def sizes_of_outputs(
    pipeline: Pipeline, asked: AskedSizes, fitting: Callable[[Pipeline], Mapping[str, OutputRanges]]
) -> dict[str, OutputRanges]:
    """The size that the user gives, for every output. A dimension without a min begins where its
    range from ``fitting`` begins, the ranges that the images allow.

    Raises:
        CommandError: an output has another number of dimensions than ``asked``.
    """
    for output in pipeline.outputs:
        dimensions = len(pipeline.function(output).args)
        if dimensions != len(asked):
            if not dimensions:
                raise CommandError(f"{output} is one value and has no size; give no --size.")
            estimate = pipeline.estimate(output)
            example = f", as in {'x'.join(str(e) for _, e in estimate)}" if estimate else ""
            raise CommandError(
                f"{output} has {amount(dimensions, 'dimension')}, but its size names {len(asked)}; "
                f"write the size of each{example}."
            )
    from_zero = tuple((low or 0, extent) for low, extent in asked)
    sizes = dict.fromkeys(pipeline.outputs, from_zero)
    if all(low is not None for low, _ in asked):
        return sizes
    fits = fitting(at_size(pipeline, sizes))
    return {
        output: tuple(
            (begin if low is None else low, extent)
            for (low, extent), (begin, _) in zip(asked, fits[output], strict=True)
        )
        for output in pipeline.outputs
    }


def at_size(pipeline: Pipeline, ranges: Mapping[str, OutputRanges]) -> Pipeline:
    """The same pipeline with other estimates, for schedules that suit another size."""
    kept = [e for e in pipeline.estimates if e.buffer not in ranges]
    given = [Estimate(buffer, sizes) for buffer, sizes in ranges.items()]
    return attrs.evolve(pipeline, estimates=(*kept, *given))
