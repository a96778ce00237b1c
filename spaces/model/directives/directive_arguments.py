"""What directives take: names, numbers and members of enumerations, given in several ways."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from attrs import frozen

from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.rdom import RDom
from spaces.model.expressions.expr import Variable
from spaces.model.expressions.numbers import shown_number
from spaces.model.schedules.domain_order import Factor, Tail
from spaces.model.schedules.schedule import LoopAlign
from spaces.model.text_limits import LARGEST_NUMBER, is_number

_E = TypeVar("_E", bound=StrEnum)

Name = str | Variable | RDom
"""A loop: its name, or the Var or RVar it is named after; an RDom of one dimension is its RVar."""


def name_of(thing: Name | Func | ImageParam) -> str:
    """The name of a loop, a Func or an image.

    Raises:
        TypeError: ``thing`` has another type.
        DefinitionError: ``thing`` is an RDom of several dimensions.
    """
    if isinstance(thing, str):
        return thing
    if isinstance(thing, RDom):
        return thing.as_expr().name
    if isinstance(thing, Variable | Func | ImageParam):
        return thing.name
    raise TypeError(f"{thing!r} is not a name; give a string, or the Var or Func itself.")


def factor_of(value: Factor | Name) -> Factor:
    """A whole number, or the name of a parameter.

    Raises:
        TypeError: ``value`` is neither.
        OverflowError: it is a number that no schedule holds.
    """
    if isinstance(value, str | Variable | RDom):
        return name_of(value)
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{value!r} is not a factor; give a whole number or the name of a parameter."
        ) from None
    return _held(number)


def member_of(kind: type[_E], value: _E | str) -> _E:
    """The member of an enumeration that ``value`` is or names.

    Raises:
        ValueError: the enumeration has no such member.
    """
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{value!r} is no {kind.__name__}; there are {', '.join(kind)}.") from None


Alignments = (
    LoopAlign | str | Mapping[Name, LoopAlign | str] | Sequence[tuple[Name, LoopAlign | str]]
)
"""How iterations of fused loops align: of the innermost loop, or of each named loop."""


def alignments_of(innermost: Name, given: Alignments) -> tuple[tuple[str, LoopAlign], ...]:
    """Each loop whose iterations are aligned, with how.

    Raises:
        ValueError: an alignment is unknown.
    """
    named = {innermost: given} if isinstance(given, str) else dict(given)
    pairs = ((name_of(loop), member_of(LoopAlign, align)) for loop, align in named.items())
    return tuple(pair for pair in pairs if pair[1] is not LoopAlign.AUTO)


def whole_of(value: int) -> int:
    """``value`` as Python's own int.

    Raises:
        TypeError: it is no whole number.
        OverflowError: no schedule holds it.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{value!r} is not a whole number.") from None
    return _held(number)


def _held(number: int) -> int:
    if not is_number(number):
        raise OverflowError(
            f"{shown_number(number)} is beyond {LARGEST_NUMBER}, the largest number that a "
            "schedule holds."
        )
    return number


def names_of(things: Sequence[str | Func | Sequence[str | Func]]) -> tuple[str, ...]:
    """The names of Funcs, given one by one or as a list."""
    return tuple(
        name_of(one)
        for thing in things
        for one in ((thing,) if isinstance(thing, str | Func) else thing)
    )


def loops_and_vars(pairs: Sequence[Name | Sequence[tuple[Name, Name]]]) -> Iterator[str]:
    """The names in pairs of a loop and a Var, given one after another or as a list of pairs."""
    for pair in pairs:
        if isinstance(pair, str | Variable | RDom):
            yield name_of(pair)
        else:
            yield from (name_of(one) for loop_and_var in pair for one in loop_and_var)


@frozen
class Tile:
    """Arguments of a ``tile``: for each dimension its loops and factor."""

    old: tuple[str, ...]
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    factors: tuple[Factor, ...]
    tail: Tail


def tile_arguments(
    directive: str, possible: tuple[int, ...], args: tuple[Name | Factor | Tail, ...]
) -> Tile:
    """Either form of ``tile``, over one of the ``possible`` numbers of dimensions."""
    tail = args[-1] if args and isinstance(args[-1], Tail) else None
    parts = args if tail is None else args[:-1]
    # With outer names there are four arguments a dimension, else three.
    forms = {d * width: (d, width) for d in possible for width in (3, 4)}
    dimensions, width = forms.get(len(parts), (0, 0))
    loops = parts[: dimensions * (width - 1)]
    if not dimensions or any(isinstance(p, int | Tail) for p in loops):
        raise TypeError(
            f"{directive} takes x, y, [xo, yo,] xi, yi, xfactor, yfactor[, tail]; "
            f"it was given ({', '.join(map(str, args))})."
        )
    names = tuple(name_of(p) for p in loops if not isinstance(p, int))
    old = names[:dimensions]
    return Tile(
        old=old,
        outer=names[dimensions:-dimensions] or old,
        inner=names[-dimensions:],
        factors=tuple(factor_of(p) for p in parts[-dimensions:]),
        tail=tail or Tail.AUTO,
    )
