"""The command-line program, to which the modules of commands add theirs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated, ParamSpec

import typer

from apps.command_line.console import complain, line
from apps.errors import Stop

P = ParamSpec("P")

program = typer.Typer(
    name="spaces",
    help="Schedules of array pipelines as values: enumerate, count, rank, verify, compile and run.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        line(f"spaces {version('schedule-spaces')}")
        raise typer.Exit


@program.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """What there is before a command."""


def command(name: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Add a command; where it stops, it says why in a sentence and exits with the status."""

    def add(function: Callable[P, None]) -> Callable[P, None]:
        @functools.wraps(function)
        def explained(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                function(*args, **kwargs)
            except Stop as stop:
                complain(str(stop))
                raise typer.Exit(stop.status) from None

        return program.command(name)(explained)

    return add
