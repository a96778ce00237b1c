"""Checks that arguments are a Pipeline or a Schedule, for readable type errors."""

from __future__ import annotations

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.articles import with_article
from spaces.model.schedules.schedule import Schedule


def check_pipeline(function: str, value: object) -> None:
    """Checks that an argument of ``function`` is a Pipeline.

    Raises:
        TypeError: it is something else.
    """
    check_kind(function, value, Pipeline, "spaces.pipeline(f) makes one")


def check_schedule(function: str, value: object) -> None:
    """Checks that an argument of ``function`` is a Schedule.

    Raises:
        TypeError: it is something else.
    """
    how = "spaces.parse_schedule(text, pipeline) reads one, and .schedule is that of directives"
    check_kind(function, value, Schedule, how)


def check_kind(function: str, value: object, kind: type, how: str) -> None:
    """See that a function is given a value of a class; ``how`` says where one comes from.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(value, kind):
        given = type(value).__name__
        raise TypeError(
            f"{function} takes {with_article(kind.__name__)}, not {with_article(given)}; {how}."
        )
