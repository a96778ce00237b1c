"""Serializes objects of Halide in memory, with what a file would lack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spaces.backend.halide.errors import HalideFailure
from spaces.backend.halide.file.contents import BufferConstraintTable, Contents, ParameterTable
from spaces.backend.halide.file.decoding import decode
from spaces.backend.halide.file.nodes import HalideNode
from spaces.backend.halide.incoming.facts import IncomingEstimates
from spaces.backend.halide.incoming.foreign import ForeignFacts
from spaces.backend.halide.incoming.program import HalideProgram, program
from spaces.backend.halide.peer import failing_as, hl


def live_program(
    source: Any,
    name: str | None,
    estimates: IncomingEstimates | None,
    foreign: ForeignFacts,
    ignore_schedule: bool,
) -> HalideProgram:
    """The program of a Func, a Pipeline, a class of generators, or a sequence of Funcs.

    Raises:
        TypeError: ``source`` is something else.
    """
    contents, known = serialized(pipeline_of(source))
    return program(contents, known, name, estimates, foreign, ignore_schedule=ignore_schedule)


def serialized(pipeline: Any) -> tuple[Contents, tuple[ParameterTable, ...]]:
    """What a file of a ``halide.Pipeline`` would hold, and what Halide knows of its images and
    Params.

    Raises:
        HalideFailure: Halide cannot serialize it.
    """
    data, parameters = _serialized(pipeline)
    with failing_as(HalideFailure, "Halide cannot serialize the pipeline"):
        return decode(data), tuple(_known(parameters))


def parameters_of(pipeline: Any) -> dict[str, Any]:
    """The ``halide.Parameter`` of each ImageParam and Param of a ``halide.Pipeline``, by name.

    Raises:
        HalideFailure: Halide cannot serialize it.
    """
    return _serialized(pipeline)[1]


def _serialized(pipeline: Any) -> tuple[bytes, dict[str, Any]]:
    with failing_as(HalideFailure, "Halide cannot serialize the pipeline"):
        data, parameters = hl.serialize_pipeline(pipeline, get_params=True)
        return bytes(data), dict(parameters)


def pipeline_of(source: Any) -> Any:
    """The ``halide.Pipeline`` of what :func:`live_program` takes.

    Raises:
        HalideFailure: an output has no definition, or Halide refuses what a generator does.
        TypeError: ``source`` is something else.
    """
    if isinstance(source, type) and issubclass(source, hl.Generator):
        return _generated(source)
    made = source if isinstance(source, hl.Pipeline) else hl.Pipeline(_funcs(source))
    undefined = [func.name() for func in made.outputs() if not func.defined()]
    if undefined:
        raise HalideFailure(f"Func {', '.join(undefined)} of Halide has no definition.")
    return made


def _funcs(source: Any) -> list[Any]:
    """The outputs.

    Raises:
        TypeError: ``source`` is no Func and no list of Funcs.
    """
    if isinstance(source, hl.Func):
        return [source]
    if isinstance(source, Sequence) and source and all(isinstance(f, hl.Func) for f in source):
        return list(source)
    raise TypeError(
        "A pipeline of Halide is a halide.Func, a halide.Pipeline, a list of Funcs or, for "
        f"from_halide, a class of halide.Generator, not {source!r}."
    )


def _generated(source: type) -> Any:
    if not hasattr(source, "_halide_registered_name"):
        raise TypeError(
            f"Halide does not know the generator {source.__name__}: put @halide.generator('NAME') "
            "above its class."
        )
    building = failing_as(HalideFailure, f"Halide cannot build {source.__name__}")
    with building, hl.GeneratorContext(hl.get_host_target()):
        return source()._build_pipeline()


def _known(parameters: Mapping[str, Any]) -> Iterator[ParameterTable]:
    """What Halide knows of ImageParams and Params, in the records of files."""
    asked: list[Any] = []
    for parameter in parameters.values():
        asked += _facts(parameter)
    answers = iter(_as_nodes(asked))
    for name, parameter in parameters.items():
        facts = [next(answers) for _ in _facts(parameter)]
        dimensions = []
        if parameter.is_buffer():
            for d in range(parameter.dimensions()):
                count = len(_PARTS)
                dimensions.append(BufferConstraintTable(*facts[count * d : count * d + count]))
        scalar = (None,) * 4 if parameter.is_buffer() else facts
        yield ParameterTable(
            True, parameter.is_buffer(), None, parameter.dimensions(), name, 0, tuple(dimensions),
            "Auto", None, *scalar,
        )  # fmt: skip


_PARTS = (
    "min_constraint",
    "extent_constraint",
    "stride_constraint",
    "min_constraint_estimate",
    "extent_constraint_estimate",
)
"""What Halide knows of a dimension of an image, in the order of ``BufferConstraintTable``."""


def _facts(parameter: Any) -> list[Any]:
    """Halide's expressions, perhaps undefined ones. A scalar has its default, its range and its
    estimate. An image has the first coordinate, extent and stride of each dimension, and its usual
    size.
    """
    if not parameter.is_buffer():
        asked = ("default_value", "min_value", "max_value", "estimate")
        return [getattr(parameter, fact)() for fact in asked]
    return [getattr(parameter, p)(d) for d in range(parameter.dimensions()) for p in _PARTS]


def _as_nodes(expressions: Sequence[Any]) -> list[HalideNode | None]:
    """Halide's expressions as a file has them; None for an undefined one. They travel as the values
    of a Func.
    """
    defined = [one for one in expressions if one.defined()]
    values: tuple[HalideNode | None, ...] = ()
    if defined:
        carrier = hl.Func("carrier")
        carrier[()] = hl.Tuple(defined) if len(defined) > 1 else defined[0]
        sent = decode(hl.serialize_pipeline(hl.Pipeline([carrier])))
        definition = next(func.init_def for func in sent.funcs)
        values = () if definition is None else definition.values
    found = iter(values)
    return [next(found) if one.defined() else None for one in expressions]
