"""The command-line program, to which the modules of commands add theirs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, ParamSpec

import typer
from typer.core import TyperGroup

import spaces
from apps.command_line.console import complain, line
from apps.errors import Interrupted, Stop

P = ParamSpec("P")

ORDER = (
    *("list", "show", "verify", "prove", "rules"),
    *("count", "enumerate", "complete", "search", "compile", "run"),
)
"""The commands as they are listed: first what shows and judges, then what searches and makes."""

STATUSES = {
    0: "what is asked for is done, and holds",
    1: "the schedule is illegal, a proof refuted, or the command cannot go on",
    2: "something named is missing or malformed: an option, a file, a text",
    3: "prove: nothing is refuted, but not all is proven either",
    130: "interrupted by Ctrl-C; what was found until then is printed",
}
"""The exit statuses."""

_EXAMPLES: dict[str, tuple[str, ...]] = {}


class _Program(TyperGroup):
    def list_commands(self, ctx: typer.Context) -> list[str]:
        return list(ORDER)


def _lines(head: str, lines: list[str]) -> str:
    """A paragraph that keeps its lines."""
    return "\n".join(["\b", head, *(f"  {one}" for one in lines)])


program = typer.Typer(
    name="spaces",
    cls=_Program,
    help="Schedules of array pipelines as values: enumerate, count, rank, verify, compile and run.",
    epilog="\n\n".join(
        (
            "spaces COMMAND --help tells more of a command, with examples.",
            _lines("Exit status:", [f"{status:<3}  {said}" for status, said in STATUSES.items()]),
        )
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        line(f"spaces {spaces.__version__}")
        raise typer.Exit


@program.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """What there is before a command."""


def examples() -> dict[str, tuple[str, ...]]:
    """The examples of each command."""
    return dict(_EXAMPLES)


def command(name: str, summary: str, *examples: str) -> Callable[[Callable[P, None]], object]:
    """Add a command; where it stops, it says why in a sentence and exits with the status.

    Args:
        name: of the command.
        summary: of what it does, short enough for the list of commands.
        examples: calls of it, without the name of the program.
    """
    _EXAMPLES[name] = examples

    def add(function: Callable[P, None]) -> Callable[P, None]:
        @functools.wraps(function)
        def explained(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                function(*args, **kwargs)
            except KeyboardInterrupt:
                _stop(Interrupted())
            except Stop as stop:
                _stop(stop)

        shown = _lines("Examples:", [f"spaces {example}" for example in examples])
        return program.command(name, short_help=summary, epilog=shown)(explained)

    return add


def _stop(stop: Stop) -> None:
    complain(str(stop))
    raise typer.Exit(stop.status) from None
