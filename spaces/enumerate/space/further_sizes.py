"""The sizes beside the estimates at which every schedule of a space is legal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from attrs import evolve

from spaces.model.algorithm.estimates import estimate_problems
from spaces.model.algorithm.freeze import estimated_ranges
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Estimate, Pipeline
from spaces.model.amounts import amount
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.suggestions import some_of, suggestion

FurtherSize: TypeAlias = tuple[Estimate, ...]
"""Estimates that take the place of those of the pipeline."""


def as_sizes(given: object) -> tuple[FurtherSize, ...]:
    """The sizes of a list of mappings, as ``pipeline(..., estimates=...)`` takes one.

    Raises:
        TypeError: it is not a list of mappings.
        ValueError: ranges are no whole numbers; the message has all mistakes.
    """
    listed = None if isinstance(given, str | Mapping) else given
    if isinstance(listed, Iterable):
        sizes = tuple(listed)
        if all(isinstance(one, tuple) and _are_estimates(one) for one in sizes):
            return sizes
        if all(isinstance(one, Mapping) for one in sizes):
            return _frozen_sizes(sizes)
    raise TypeError(
        "sizes takes a list of mappings from outputs and images to extents, such as "
        f"[{{'out': [640, 480]}}], not {given!r}."
    )


def _are_estimates(size: tuple[object, ...]) -> bool:
    return all(isinstance(one, Estimate) for one in size)


def _frozen_sizes(sizes: tuple[Mapping[Any, Any], ...]) -> tuple[FurtherSize, ...]:
    found: list[FurtherSize] = []
    mistakes: list[str] = []
    for size in sizes:
        estimates: list[Estimate] = []
        for key, given in size.items():
            name = key.name if isinstance(key, Func | ImageParam) else str(key)
            try:
                estimates.append(Estimate(name, estimated_ranges(name, given)))
            except DefinitionError as error:
                mistakes.append(str(error))
        found.append(tuple(estimates))
    if mistakes:
        raise ValueError("\n".join(mistakes))
    return tuple(found)


def mistakes_in_estimates(pipeline: Pipeline) -> Iterator[str]:
    """What a space misses of the estimates of a pipeline, as a sentence."""
    unknown = [one for one in pipeline.outputs if pipeline.estimate(one) is None]
    if unknown:
        sizes = ", ".join(
            f"{one}: [{', '.join(f'extent of {v}' for v in pipeline.function(one).args)}]"
            for one in unknown
        )
        yield (
            f"A space needs estimates of the outputs, and pipeline {pipeline.name} has "
            f"none of {', '.join(unknown)}: give estimates={{{sizes}}} where it is made (pipeline, "
            "from_halide, read_hlpipe)."
        )


def mistakes_in_sizes(pipeline: Pipeline, sizes: tuple[FurtherSize, ...]) -> Iterator[str]:
    """The mistakes in further sizes, each as a sentence."""
    ranks = {name: len(pipeline.function(name).args) for name in pipeline.outputs}
    ranks |= {image.name: image.dimensions for image in pipeline.images}
    for number, size in enumerate(sizes):
        place = f"sizes[{number}]"
        misfit = False
        for estimate in size:
            name, given = estimate.buffer, len(estimate.ranges)
            if name not in ranks:
                misfit = True
                yield (
                    f"{place} names {name!r}, and pipeline {pipeline.name} has no such output or "
                    f"image{suggestion(name, list(ranks))}; it has {some_of(list(ranks))}."
                )
            elif given != ranks[name]:
                misfit = True
                yield (
                    f"{place} gives {amount(given, 'extent')} of {name}, which has "
                    f"{amount(ranks[name], 'dimension')}."
                )
        named = {estimate.buffer for estimate in size}
        for name in pipeline.outputs:
            if name not in named:
                misfit = True
                yield f"{place} gives no size of output {name}; name every output."
        if not misfit:
            for problem in estimate_problems(evolve(pipeline, estimates=size)):
                yield f"{place}: {problem}"


def shown_size(size: FurtherSize) -> str:
    """A size as text: ``out = 640 x 480``; mins that are not 0 stand before the extent."""
    return ", ".join(
        f"{one.buffer} = "
        + " x ".join(f"{extent} from {low}" if low else str(extent) for low, extent in one.ranges)
        for one in size
    )
