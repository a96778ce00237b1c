"""The arguments of a run of a pipeline, checked once: images, scalars, and the size of each output.

Arrays follow one convention everywhere: dimension 0, the innermost, is the *last* NumPy axis. An
image ``input(x, y)`` is an array of shape ``(height, width)``, so ``input(x, y)`` is
``array[y, x]``; sizes, as estimates, are listed innermost first: ``(width, height)``.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from attrs import frozen

from spaces.backend.argument_error import ArgumentError as ArgumentError
from spaces.backend.arithmetic import value_of
from spaces.backend.arrays.given import (
    AnyArray,
    GivenArrays,
    check_named,
    given_arrays,
    on_host,
    reject_unknown,
)
from spaces.backend.arrays.given import Array as Array
from spaces.model.algorithm.pipeline import Image, Pipeline, Scalar, size_variable
from spaces.model.amounts import amount
from spaces.model.expressions.expr import Expr, Op, Variable, constant, walk
from spaces.model.expressions.numbers import NumberError, number_in, shown_number
from spaces.model.expressions.operators import COMPARISONS
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Bool, Int32
from spaces.model.formulas.algebra import evaluate

NO_IMAGES: Mapping[str, Any] = {}
"""The inputs of a pipeline without images."""
Range: TypeAlias = tuple[int, int]
"""The (min, extent) of one dimension."""

Sizes: TypeAlias = Mapping[str, Sequence[int | Range]]
"""For a buffer, the extent or the (min, extent) of each dimension, innermost first."""

MOST_ELEMENTS = 2**47
"""More elements than a process can address; a larger buffer cannot exist."""

Scalars: TypeAlias = Mapping[str, int | float | bool]


class RequirementError(ArgumentError):
    """A condition that a pipeline requires (``require``) does not hold at some coordinates."""


@frozen
class Arguments:
    """Checked arguments of one run; ``images`` are those in the memory of the CPU."""

    images: Mapping[str, Array]
    scalars: Mapping[str, int | float | bool]
    ranges: Mapping[str, tuple[Range, ...]]
    """The (min, extent) of each dimension of each image, each output and each component of an
    output.
    """
    estimated: tuple[str, ...] = ()
    """The outputs whose size the call does not give: they have their estimates."""

    def sizes(self) -> dict[str, int]:
        """The size variables: ``out.min.0``, ``out.extent.0`` and so on."""
        return {
            f"{buffer}.{part}.{d}": value
            for buffer, ranges in self.ranges.items()
            for d, (low, extent) in enumerate(ranges)
            for part, value in (("min", low), ("extent", extent))
        }

    def shape(self, buffer: str) -> tuple[int, ...]:
        """The NumPy shape of an image or output."""
        return tuple(extent for _, extent in reversed(self.ranges[buffer]))


def whole_numbers(values: Mapping[str, int | float | bool]) -> dict[str, int]:
    """The values that formulas over sizes can use: those without a fraction, infinity or NaN."""
    return {name: int(value) for name, value in values.items() if value == value // 1}


def bind(
    pipeline: Pipeline,
    inputs: Mapping[str, Any],
    params: Scalars | None = None,
    sizes: Sizes | None = None,
) -> Arguments:
    """Checks the arguments of a run on the CPU that makes its outputs.

    Args:
        pipeline: the algorithm.
        inputs: an array for each image, in the convention above.
        params: values of scalar parameters; those left out take their default.
        sizes: the size of each output. An output left out has the size that the pipeline says, or
            else its estimate. An image may be named too, to say that its coordinates do not begin
            at 0. If an output has its estimate, images left out begin where theirs begin.

    Raises:
        ArgumentError: something is missing, unknown, or of the wrong type or size, or breaks a
            promise of the pipeline.
    """
    return bound(pipeline, given_arrays(pipeline, inputs, None), params, sizes)


def bound(
    pipeline: Pipeline, arrays: GivenArrays, params: Scalars | None, sizes: Sizes | None
) -> Arguments:
    """The arguments of a run, from its arrays, whose sizes are checked here; an output array gives
    the size of its output.

    Raises:
        ArgumentError: something is missing or unknown, or of the wrong size, or breaks a promise of
            the pipeline.
    """
    params = {} if params is None else params
    check_named("Parameters", params, [s.name for s in pipeline.scalars])
    check_named("Sizes", {} if sizes is None else sizes, pipeline.outputs)
    reject_unknown("parameter", params, [s.name for s in pipeline.scalars], pipeline)
    buffers = [*pipeline.outputs, *(i.name for i in pipeline.images)]
    reject_unknown("output or image", sizes or {}, buffers, pipeline)
    sizes = _with_output_arrays(pipeline, sizes, arrays.outputs)
    images = arrays.images
    scalars = {s.name: _scalar(s, params) for s in pipeline.scalars}
    estimated = tuple(
        output
        for output in pipeline.outputs
        if output not in sizes and not _is_promised(output, pipeline)
    )
    begins = {i.name: _beginning(i, bool(estimated), pipeline) for i in pipeline.images}
    ranges = {
        i.name: _image_ranges(i, images[i.name], begins[i.name], sizes) for i in pipeline.images
    }
    known = {**Arguments({}, scalars, ranges).sizes(), **whole_numbers(scalars)}
    for output in pipeline.outputs:
        if output in sizes:
            given = sizes[output]
        elif output in estimated:
            given = _estimated_ranges(output, pipeline)
        else:
            given = _promised_ranges(output, pipeline, known)
        found = _ranges(output, given, len(pipeline.function(output).args))
        ranges |= dict.fromkeys((output, *pipeline.function(output).buffers), found)
    arguments = Arguments(on_host(images), scalars, ranges, estimated)
    _check_promises(pipeline, {**arguments.sizes(), **scalars})
    return arguments


def _with_output_arrays(
    pipeline: Pipeline, sizes: Sizes | None, outputs: Mapping[str, AnyArray]
) -> dict[str, tuple[Range, ...]]:
    """The given sizes, and the sizes of the given output arrays."""
    result = {name: ranges_given(name, given) for name, given in (sizes or {}).items()}
    functions = map(pipeline.function, pipeline.outputs)
    names = {buffer: f.name for f in functions for buffer in f.buffers}
    for buffer, array in outputs.items():
        name = names[buffer]
        extents = tuple(reversed(array.shape))
        if name not in result:
            result[name] = _beginning_as_estimated(pipeline, name, extents)
            continue
        given = tuple(extent for _, extent in result[name])
        if given != extents:
            raise ArgumentError(
                f"Output {buffer} has the extents {list(given)}, innermost first, but the "
                f"array to write it to has {list(extents)}."
            )
    return result


def _beginning_as_estimated(
    pipeline: Pipeline, output: str, extents: tuple[int, ...]
) -> tuple[Range, ...]:
    """The ranges of an output for which only the extents are given: its mins are those of its
    estimate.
    """
    estimate = pipeline.estimate(output) or ()
    mins = [low for low, _ in estimate] if len(estimate) == len(extents) else [0] * len(extents)
    return tuple(zip(mins, extents, strict=True))


def _check_promises(pipeline: Pipeline, values: Mapping[str, int | float | bool]) -> None:
    """Checks all promises at once; the error has each sentence once, with the names of what it is
    about.
    """
    broken: dict[str, str] = {}
    for promise in pipeline.promises:
        if not holds(promise.condition, values):
            names = sorted(promise.condition.names)
            shown = ", ".join(f"{name} is {values[name]}" for name in names)
            broken.setdefault(promise.message, f"{promise.message} Here {shown}.")
    if broken:
        raise ArgumentError("\n".join(broken.values()))


def holds(condition: Expr, values: Mapping[str, int | float | bool]) -> bool:
    """Whether a condition on the sizes and parameters of a call holds. Comparisons of integers are
    read as proofs read them: numbers of int32 are mathematical integers, other numbers wrap in
    their type. Comparisons of floats use the arithmetic of values.
    """
    whole = whole_numbers(values)

    def decided(node: Expr) -> Expr:
        is_comparison = isinstance(node, Op) and node.name in COMPARISONS
        if not is_comparison or any(n.type.is_float for n in walk(node)):
            return node
        return constant(bool(evaluate(node, whole)), Bool)

    return bool(value_of(rewrite(condition, decided), values))


def _beginning(image: Image, as_estimated: bool, pipeline: Pipeline) -> tuple[int, ...]:
    """Where the coordinates of an image begin if the call does not say it."""
    estimate = pipeline.estimate(image.name) if as_estimated else None
    return (0,) * image.dimensions if estimate is None else tuple(low for low, _ in estimate)


def _image_ranges(
    image: Image, array: AnyArray, begin: tuple[int, ...], sizes: Sizes
) -> tuple[Range, ...]:
    actual = tuple(reversed(array.shape))
    if image.name not in sizes:
        return _ranges(image.name, tuple(zip(begin, actual, strict=True)), image.dimensions)
    ranges = _ranges(image.name, sizes[image.name], image.dimensions)
    if tuple(extent for _, extent in ranges) != actual:
        raise ArgumentError(
            f"sizes= gives {image.name} the extents {[e for _, e in ranges]}, innermost "
            f"first, but its array has {list(actual)}."
        )
    return ranges


def _promised_ranges(
    output: str, pipeline: Pipeline, known: Mapping[str, int]
) -> tuple[Range, ...]:
    """The size of an output that the pipeline itself gives, for example by ``set_bounds``."""
    found: list[Range] = []
    for d in range(len(pipeline.function(output).args)):
        low, extent = (
            _promised(size_variable(output, part, d), pipeline) for part in ("min", "extent")
        )
        if extent is None or not extent.names <= known.keys():
            raise ArgumentError(_size_wanted(output, pipeline))
        first = 0 if low is None or not low.names <= known.keys() else evaluate(low, known)
        found.append((first, evaluate(extent, known)))
    return tuple(found)


def _is_promised(output: str, pipeline: Pipeline) -> bool:
    """Whether the pipeline gives the size of an output."""
    dimensions = range(len(pipeline.function(output).args))
    extents = (_promised(size_variable(output, "extent", d), pipeline) for d in dimensions)
    return all(extent is not None for extent in extents)


def _promised(size: Variable, pipeline: Pipeline) -> Expr | None:
    """What a size must equal by the promises: they bound it by this from both sides."""
    limits: dict[str, list[Expr]] = {"ge": [], "le": []}
    for condition in (promise.condition for promise in pipeline.promises):
        if isinstance(condition, Op) and condition.name in limits and condition.args[0] == size:
            limits[condition.name].append(condition.args[1])
    return next((value for value in limits["ge"] if value in limits["le"]), None)


def _estimated_ranges(output: str, pipeline: Pipeline) -> tuple[Range, ...]:
    """The estimate of an output, whose size a call does not give."""
    estimate = pipeline.estimate(output)
    if estimate is None:
        raise ArgumentError(_size_wanted(output, pipeline))
    return estimate


def _size_wanted(output: str, pipeline: Pipeline) -> str:
    function = pipeline.function(output)
    extents = ", ".join(f"extent of {argument}" for argument in function.args)
    return (
        f"The size of output {output} is not given. Give it, innermost dimension first, as in "
        f"sizes={{{output!r}: [{extents}]}}, with a pair (min, extent) for a dimension that does "
        f"not begin at 0; or an array to write it to, as in out={{{function.buffers[0]!r}: array}}"
        "; or give the pipeline an estimate."
    )


def _ranges(buffer: str, given: Sequence[int | Range], dimensions: int) -> tuple[Range, ...]:
    ranges = ranges_given(buffer, given)
    if len(ranges) != dimensions:
        raise ArgumentError(
            f"{buffer} has {amount(dimensions, 'dimension')}, but its size names {len(ranges)}."
        )
    for d, (low, extent) in enumerate(ranges):
        if extent < 0:
            raise ArgumentError(
                f"The extent of dimension {d} of {buffer} is {shown_number(extent)}; it must be at "
                "least 0."
            )
        if not (Int32.holds(low) and Int32.holds(low + max(extent, 1) - 1)):
            raise ArgumentError(
                f"Dimension {d} of {buffer} begins at {shown_number(low)} and has "
                f"{shown_number(extent)} elements, but "
                f"coordinates are {Int32}: they end at {Int32.max_value}."
            )
    if math.prod(extent for _, extent in ranges) > MOST_ELEMENTS:
        raise ArgumentError(
            f"{buffer} has the extents {[e for _, e in ranges]}, more than any memory holds."
        )
    return ranges


def ranges_given(buffer: str, given: Sequence[int | Range]) -> tuple[Range, ...]:
    """The (min, extent) of each dimension, from the size given for ``buffer``.

    Raises:
        ArgumentError: ``given`` is not a list of whole numbers and pairs of whole numbers.
    """
    try:
        return tuple(_range(g) for g in given)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"The size of {buffer} is {shown_number(given)}; give a list of its extents, innermost "
            "first: whole numbers, or pairs (min, extent)."
        ) from None


def _range(given: int | Range) -> Range:
    """The (min, extent) of the size given for one dimension."""
    if not isinstance(given, tuple | list):
        return 0, operator.index(given)
    low, extent = given
    return operator.index(low), operator.index(extent)


def _scalar(scalar: Scalar, params: Scalars) -> int | float | bool:
    value = params.get(scalar.name, scalar.default)
    if value is None:
        wrong = "is None" if scalar.name in params else "has no default and is not given"
        raise ArgumentError(f"Parameter {scalar.name} ({scalar.type}) {wrong}; give a number.")
    try:
        return number_in(scalar.type, value)
    except NumberError as error:
        raise ArgumentError(f"Parameter {scalar.name} {error}.") from None
