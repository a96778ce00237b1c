"""Funcs that a space leaves as they are in the default schedule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.suggestions import some_of, suggestion


def left_funcs(given: object) -> tuple[str, ...]:
    """The names of a list of Funcs.

    Raises:
        TypeError: it is not a list of names.
    """
    if isinstance(given, Iterable) and not isinstance(given, str):
        names = tuple(given)
        if all(isinstance(name, str) for name in names):
            return names
    raise TypeError(f"leave takes a list of names of Funcs, such as ['blur_x'], not {given!r}.")


def mistakes_in_leave(pipeline: Pipeline, leave: tuple[str, ...], fixed: Schedule) -> Iterator[str]:
    """The mistakes in the names of Funcs to leave, each as a sentence."""
    known = [function.name for function in pipeline.functions]
    for name in leave:
        if name not in known:
            yield (
                f"leave names {name!r}, and pipeline {pipeline.name} has no such Func"
                f"{suggestion(name, known)}; it has {some_of(known)}."
            )
        elif leave.count(name) > 1:
            yield f"leave names {name} twice; name it once."
        elif any(entry.name == name for entry in fixed.funcs):
            yield (
                f"{name} has an entry in fixed and its name in leave; a Func keeps the given entry "
                "or that of the default schedule, so choose one."
            )
