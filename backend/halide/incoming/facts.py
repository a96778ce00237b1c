"""What is known of images, Params and outputs: limits, strides, and sizes that are typical."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from spaces.backend.halide.file.contents import BoundTable, FuncTable, ParameterTable
from spaces.backend.halide.file.nodes import HalideNode, IntImmNode
from spaces.backend.halide.incoming.definitions import IncomingDefinitions
from spaces.backend.halide.incoming.problems import (
    Problems,
    Unsupported,
    refusals_unsupported,
)
from spaces.model.algorithm.dimensions import BufferDimensions
from spaces.model.algorithm.param import Param
from spaces.model.expressions.expr import Const, Expr
from spaces.model.expressions.numbers import shown_number
from spaces.model.suggestions import some_of, suggestion

IncomingEstimates: TypeAlias = Mapping[str, Sequence[int | tuple[int, int]] | int | float]
"""For each image and output the extent, or the (min, extent), of each dimension, innermost first;
for each Param its default. The extent of a single dimension may be a plain number, too.
"""


def limit(definitions: IncomingDefinitions, known: Sequence[ParameterTable]) -> None:
    """Tells outputs what a file knows of them, and images and Params what is ``known``."""
    arguments, problems = definitions.arguments, definitions.problems
    for one in known:
        with problems.at(f"{'image' if one.is_buffer else 'Param'} {one.name}"):
            if one.name in arguments.images:
                _limit_buffer(arguments.images[one.name].buffer, one, definitions)
            elif one.name in arguments.scalars:
                _limit_scalar(arguments.scalars[one.name], one, definitions)
    contents = definitions.roles.contents
    arrays = {one.name: one for one in (*contents.parameters, *known)}
    for place, func in definitions.funcs.items():
        given = contents.funcs[place]
        if given.name in contents.output_names:
            with problems.at(f"output {func.name}"):
                for name in given.output_buffers_names[:1]:
                    if name in arrays:
                        _limit_buffer(func.buffer, arrays[name], definitions)
                _promise_bounds(definitions, given, func.buffer)


def depends_on_sizes(bound: BoundTable, convert: Callable[[HalideNode | None], Expr]) -> bool:
    """Whether a bound of a Var is no number. Of an output it is a promise about its size."""
    parts = [part for part in (bound.min, bound.extent) if part is not None]
    return any(convert(part).names for part in parts)


def _promise_bounds(
    definitions: IncomingDefinitions, given: FuncTable, buffer: BufferDimensions
) -> None:
    """Makes ``bound(x, low, extent)`` of an output a promise, where sizes or Params stand there."""
    for bound in given.func_schedule.bounds if given.func_schedule else ():
        if bound.var in given.args and depends_on_sizes(bound, definitions.constant):
            dimension = buffer.dim(given.args.index(bound.var))
            with refusals_unsupported():
                if bound.min is not None:
                    dimension.set_min(definitions.constant(bound.min))
                if bound.extent is not None:
                    dimension.set_extent(definitions.constant(bound.extent))


def _limit_scalar(param: Param, known: ParameterTable, definitions: IncomingDefinitions) -> None:
    lowest, highest = (_number(node, definitions) for node in (known.scalar_min, known.scalar_max))
    default = _number(known.scalar_default or known.scalar_estimate, definitions)
    with refusals_unsupported():
        if lowest is not None:
            param.set_min_value(lowest)
        if highest is not None:
            param.set_max_value(highest)
    if default is not None:
        _set_default(param, default)


def _set_default(param: Param, value: int | float) -> None:
    with refusals_unsupported():
        checked = Param(param.type, param.name, value, param.lowest, param.highest)
    param.default = checked.default


def _number(node: HalideNode | None, definitions: IncomingDefinitions) -> int | float | None:
    if node is None:
        return None
    found = definitions.constant(node)
    if not isinstance(found, Const):
        raise Unsupported(f"its range depends on `{found}`; ranges are numbers here.")
    return found.value


def _limit_buffer(
    buffer: BufferDimensions, known: ParameterTable, definitions: IncomingDefinitions
) -> None:
    problems, given = definitions.problems, known.buffer_constraints
    strides = [_stride(one.stride, d, buffer.name, problems) for d, one in enumerate(given)]
    usual = (1, *(None,) * (len(strides) - 1))[: len(strides)]
    with refusals_unsupported():
        for d, dimension in enumerate(known.buffer_constraints):
            if dimension.min is not None:
                buffer.dim(d).set_min(definitions.constant(dimension.min))
            if dimension.extent is not None:
                buffer.dim(d).set_extent(definitions.constant(dimension.extent))
        for d, stride in enumerate(strides):
            if stride is not None and tuple(strides) != usual:
                buffer.dim(d).set_stride(stride)


def _stride(node: HalideNode | None, d: int, name: str, problems: Problems) -> int | None:
    """A stride; None, which leaves it to the caller, if it is no number. People write so that a
    stride is a multiple of something.
    """
    if isinstance(node, IntImmNode):
        return node.value
    if node is not None:
        problems.note(
            f"What {name}.dim({d}).set_stride says is left out: it depends on sizes or strides, "
            "and strides are numbers here. Any stride is right."
        )
    return None


def estimates_of(
    definitions: IncomingDefinitions, known: Sequence[ParameterTable], wanted: IncomingEstimates
) -> dict[Any, Any]:
    """The estimates of images and outputs by name: what is ``known`` of ImageParams, over it those
    of the file, and over these the wanted ones. Arrays inside the pipeline and outputs of one value
    have their sizes always. Params take the wanted values as their defaults.
    """
    contents, arguments = definitions.roles.contents, definitions.arguments
    found: dict[Any, Any] = {}
    for one in known:
        dimensions = [str(d) for d in range(one.dimensions)]
        ends = ((d.min_estimate, d.extent_estimate) for d in one.buffer_constraints)
        named = ((d, *both) for d, both in zip(dimensions, ends, strict=True))
        if one.name in arguments.images and one.is_buffer:
            ranges = _ranges(dimensions, named, definitions)
            if ranges is not None:
                found[arguments.images[one.name].name] = ranges
    for place, func in enumerate(contents.funcs):
        image = arguments.images.get(definitions.roles.images.get(place, ""))
        output = definitions.funcs.get(place) if func.name in contents.output_names else None
        owner = image or output
        if func.func_schedule is not None and owner is not None:
            bounds = [(one.var, one.min, one.extent) for one in func.func_schedule.estimates]
            ranges = _ranges(func.args, bounds, definitions)
            if ranges is not None or (owner is output and not func.args):
                found[owner.name] = ranges or ()
    for buffer in contents.buffers:
        if buffer.name in arguments.images:
            sizes = [(dim.min, dim.extent) for dim in buffer.dims]
            found[arguments.images[buffer.name].name] = sizes
    params = {param.name: param for param in arguments.scalars.values()}
    buffers = (*(one.name for one in arguments.images.values()), *_output_names(definitions))
    for name, value in wanted.items():
        with definitions.problems.at(f"estimate of {name}"):
            if name not in params and name not in buffers:
                known_ones = [*buffers, *params]
                raise Unsupported(
                    f"no image, output or Param has this name{suggestion(name, known_ones)}; there "
                    f"are {some_of(known_ones)}."
                )
            if name not in params:
                found[name] = [value] if isinstance(value, int | float) else value
            elif isinstance(value, int | float):
                _set_default(params[name], value)
            else:
                raise Unsupported(f"a Param takes a number, not {shown_number(value)}.")
    return found


def _output_names(definitions: IncomingDefinitions) -> tuple[str, ...]:
    names = definitions.roles.contents.output_names
    return tuple(definitions.names.funcs[name] for name in names if name in definitions.names.funcs)


def _ranges(
    vars: Sequence[str],
    bounds: Iterable[tuple[str, HalideNode | None, HalideNode | None]],
    definitions: IncomingDefinitions,
) -> tuple[tuple[int, int], ...] | None:
    """The estimated (min, extent) of each of ``vars``; None unless all are known. Of several
    estimates of a Var the last counts.
    """
    found: dict[str, tuple[int, int]] = {}
    for var, low, extent in bounds:
        if low is not None and extent is not None:
            first, size = definitions.constant(low), definitions.constant(extent)
            if isinstance(first, Const) and isinstance(size, Const):
                found[var] = (int(first.value), int(size.value))
    return tuple(found[var] for var in vars) if vars and found.keys() >= set(vars) else None
