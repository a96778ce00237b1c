"""Groups of arguments that several commands have in common: a record holds each group once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec

import attrs

P = ParamSpec("P")


def spread_groups(function: Callable[P, None]) -> Callable[..., None]:
    """The function of a command with the fields of each record among its parameters in place of the
    record. A field is a parameter of the same name, annotation and default; each has a default.
    """
    signature = inspect.signature(function, eval_str=True)
    groups = {p.name: p.annotation for p in signature.parameters.values() if _is_group(p)}
    if not groups:
        return function

    @functools.wraps(function)
    def grouped(*args: Any, **kwargs: Any) -> None:
        for name, group in groups.items():
            given = {field.name: kwargs.pop(field.name) for field in attrs.fields(group)}
            kwargs[name] = group(**given)
        function(*args, **kwargs)

    ordered = [p for own in signature.parameters.values() for p in _parameters(own)]
    grouped.__signature__ = signature.replace(parameters=ordered)  # type: ignore[attr-defined]
    grouped.__annotations__ = {p.name: p.annotation for p in ordered}
    return grouped


def _is_group(parameter: inspect.Parameter) -> bool:
    return isinstance(parameter.annotation, type) and attrs.has(parameter.annotation)


def _parameters(own: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """The fields of a group; another parameter as it is."""
    if not _is_group(own):
        yield own
        return
    for field in attrs.fields(attrs.resolve_types(own.annotation, include_extras=True)):
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=field.default,
            annotation=field.type,
        )
