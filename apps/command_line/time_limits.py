"""Time limits: every command with ``--seconds`` takes ``--minutes``, too."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Annotated, Any, ParamSpec

import typer

from spaces.apps.errors import WrongUsage

P = ParamSpec("P")

SECONDS = "seconds"
"""The parameter of a command's function that limits its time."""

_MINUTES = "minutes"

Minutes = Annotated[
    float | None,
    typer.Option(f"--{_MINUTES}", min=0, help="The same limit in minutes.", show_default=False),
]


def timed(function: Callable[P, None]) -> Callable[..., None]:
    """The function of a command that takes its limit ``seconds`` in minutes, too; a function
    without a limit as it is.
    """
    signature = inspect.signature(function, eval_str=True)
    limit = signature.parameters.get(SECONDS)
    if limit is None:
        return function

    @functools.wraps(function)
    def in_seconds(*args: Any, **kwargs: Any) -> None:
        minutes = kwargs.pop(_MINUTES, None)
        given = kwargs.get(SECONDS, limit.default)
        if minutes is not None:
            if given != limit.default:
                raise WrongUsage("Give --seconds or --minutes, not both.")
            kwargs[SECONDS] = given = minutes * 60
        if given is not None and math.isnan(given):
            raise WrongUsage("A time limit is a number of seconds, not nan.")
        function(*args, **kwargs)

    parameters = dict(signature.parameters)
    names = list(parameters)
    place = names.index(SECONDS) + 1
    other = inspect.Parameter(
        _MINUTES, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=Minutes
    )
    ordered = [*(parameters[n] for n in names[:place]), other]
    ordered += [parameters[n] for n in names[place:]]
    in_seconds.__signature__ = signature.replace(parameters=ordered)  # type: ignore[attr-defined]
    in_seconds.__annotations__ = {p.name: p.annotation for p in ordered}
    return in_seconds
