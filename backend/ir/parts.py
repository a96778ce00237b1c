"""The parts of a record that have one type: reading and replacing them.

The declared type of a field says how it holds parts: ``Expr``, ``Expr | None``,
``tuple[Expr, ...]`` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from operator import attrgetter
from typing import Any, TypeAlias

from attrs import fields, frozen

_Parts: TypeAlias = tuple[Any, ...]


@frozen
class _Shape:
    """How the value of a field holds parts.

    Attributes:
        read: the parts in a value, in order.
        replaced: a value of the same shape with other parts, taken in order.
    """

    read: Callable[[Any], _Parts]
    replaced: Callable[[Any, Iterator[Any]], Any]


_ONE = _Shape(lambda value: (value,), lambda _, given: next(given))

_OPTIONAL = _Shape(
    lambda value: () if value is None else (value,),
    lambda value, given: None if value is None else next(given),
)

_SEVERAL = _Shape(lambda value: value, lambda value, given: tuple([next(given) for _ in value]))

_SEVERAL_OPTIONAL = _Shape(
    lambda value: tuple([part for part in value if part is not None]),
    lambda value, given: tuple([None if part is None else next(given) for part in value]),
)

_ALL_PARTS = _Shape(
    lambda value: tuple([getattr(one, f.name) for one in value for f in fields(type(one))]),
    lambda value, given: tuple(
        [type(one)(*islice(given, len(fields(type(one))))) for one in value]
    ),
)
"""Records whose fields hold only parts."""

_RECORDS = {"Expr": ("BufferDimension",)}
"""For each type of parts, the records whose fields hold only such parts."""


def _shapes(held: str) -> Mapping[str, _Shape]:
    """The shape of each field type that holds parts of type ``held``."""
    return {
        held: _ONE,
        f"{held} | None": _OPTIONAL,
        f"tuple[{held}, ...]": _SEVERAL,
        f"tuple[{held} | None, ...]": _SEVERAL_OPTIONAL,
        **{f"tuple[{record}, ...]": _ALL_PARTS for record in _RECORDS.get(held, ())},
    }


def derived(cls: type, held: str) -> tuple[property, Callable[[Any, _Parts], Any]]:
    """For a record whose fields hold parts of type ``held``: the property that reads the parts, and
    the method that returns the same record with other parts, as many as before.

    Raises:
        TypeError: a field holds parts in an unknown shape.
    """
    shapes = _shapes(held)
    shaped = {f.name: shapes[f.type] for f in fields(cls) if f.type in shapes}
    for other in fields(cls):
        if other.name not in shaped and re.search(rf"\b{held}\b", str(other.type)):
            raise TypeError(f"{cls.__name__}.{other.name} holds {held} as {other.type}.")
    return property(_reader(shaped)), _replacer(cls, shaped)


def _reader(shaped: Mapping[str, _Shape]) -> Callable[[Any], _Parts]:
    # Walks read the parts of every node: each common case reads them without a loop in Python.
    if not shaped:
        return lambda _: ()
    readers = [(attrgetter(name), shape.read) for name, shape in shaped.items()]
    if len(readers) == 1:
        ((get, read),) = readers
        return get if read is _SEVERAL.read else lambda record: read(get(record))
    values = attrgetter(*shaped)  # for several names it returns a tuple
    if all(shape is _ONE for shape in shaped.values()):
        return values
    if all(shape in (_ONE, _OPTIONAL) for shape in shaped.values()):
        return lambda record: tuple([part for part in values(record) if part is not None])
    return lambda record: tuple([part for get, read in readers for part in read(get(record))])


def _replacer(cls: type, shaped: Mapping[str, _Shape]) -> Callable[[Any, _Parts], Any]:
    if not shaped:
        return lambda record, _: record
    kept = _Shape(lambda _: (), lambda value, _: value)
    steps = [(attrgetter(f.name), shaped.get(f.name, kept).replaced) for f in fields(cls)]

    def replaced(record: Any, parts: _Parts) -> Any:
        given = iter(parts)
        return cls(*[take(get(record), given) for get, take in steps])

    return replaced
