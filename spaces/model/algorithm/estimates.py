"""Checks of estimates and promises: estimates beyond any memory, contradicting conditions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from spaces.model.algorithm.pipeline import Pipeline, Promise
from spaces.model.expressions.numbers import shown_number
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import FormulaError, evaluate

MOST_BYTES = 1 << 47
"""Bytes that a process can address: the user half of 48-bit addresses (AMD64 Architecture
Programmer's Manual, volume 2, 5.3; Linux gives 64-bit Arm processes 48 bits, too).
"""


def estimate_problems(pipeline: Pipeline) -> Iterator[str]:
    """The problems of the estimates and conditions of a pipeline, one sentence each."""
    for estimate in pipeline.estimates:
        wrong = tuple(_range_problems(estimate.buffer, estimate.ranges))
        yield from wrong or _memory_problems(pipeline, estimate.buffer, estimate.ranges)
    yield from _promise_problems(pipeline)


def _range_problems(buffer: str, ranges: Sequence[tuple[int, int]]) -> Iterator[str]:
    for d, (low, extent) in enumerate(ranges):
        place = f"dimension {d} of {buffer}"
        if extent < 1:
            shown = shown_number(extent)
            yield f"The estimated extent of {place} is {shown}; it must be at least 1."
        elif (
            low < Int32.min_value or low + extent - 1 > Int32.max_value or extent > Int32.max_value
        ):
            yield (
                f"The estimate of {place} is {shown_number(extent)} values from "
                f"{shown_number(low)} on; coordinates and extents are int32, from "
                f"{Int32.min_value} to {Int32.max_value}."
            )


def _memory_problems(
    pipeline: Pipeline, buffer: str, ranges: Sequence[tuple[int, int]]
) -> Iterator[str]:
    extents = [extent for _, extent in ranges]
    steps = pipeline.steps(buffer, len(ranges))
    for (a, one), (b, other) in itertools.combinations(enumerate(steps), 2):
        if one is None or other is None:
            continue
        common = math.gcd(one, other)
        if extents[a] > other // common and extents[b] > one // common:
            yield (
                f"The strides of {buffer}, {one} in dimension {a} and {other} in dimension {b}, "
                f"put different elements at one address: the estimate has {extents[a]} x "
                f"{extents[b]} elements. Give other strides, or smaller estimates."
            )
    needed = math.prod(extents) * _bytes(pipeline, buffer)
    if needed > MOST_BYTES:
        yield (
            f"The estimate of {buffer} is {' x '.join(map(str, extents))} elements, which take "
            f"{needed} bytes; a process can address {MOST_BYTES}. Estimate less."
        )


def _bytes(pipeline: Pipeline, buffer: str) -> int:
    """The bytes of the largest element of an image or output."""
    images = {image.name: image.type.bytes for image in pipeline.images}
    if buffer in images:
        return images[buffer]
    return max(type.bytes for type in pipeline.function(buffer).types)


def _promise_problems(pipeline: Pipeline) -> Iterator[str]:
    """Promises that no call can keep: single ones, else a set that contradicts itself."""
    sizes = pipeline.sizes()
    broken = [p for p in pipeline.promises if _is_broken(p, sizes)]
    yield from dict.fromkeys(_problem(p, sizes) for p in broken)
    if not broken and len(pipeline.promises) > 0:
        # Most pipelines promise nothing; they need no solver, which takes a while to load.
        from spaces.model.algorithm.contradictions import contradictions  # noqa: PLC0415

        yield from contradictions(pipeline.promises, sizes)


def _is_broken(promise: Promise, sizes: Mapping[str, int]) -> bool:
    if not promise.condition.names <= sizes.keys():
        return False
    try:
        return not evaluate(promise.condition, sizes)
    except FormulaError:
        return False


def _problem(promise: Promise, sizes: Mapping[str, int]) -> str:
    names = sorted(promise.condition.names)
    if not names:
        return f"{promise.message} No call can meet that: `{promise.condition}` never holds."
    shown = ", ".join(f"{name} as {sizes[name]}" for name in names)
    return f"{promise.message} But the estimates give {shown}."
