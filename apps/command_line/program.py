"""The command-line program; each module of commands adds its own, once one of them is asked for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, ParamSpec

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info

import spaces
from apps.command_line.console import complain, line
from apps.errors import CommandError, Interrupted

P = ParamSpec("P")

_MODULES = {
    "list": "list",
    "show": "show",
    "verify": "verify",
    "prove": "prove",
    "rules": "rules",
    "count": "space",
    "enumerate": "space",
    "complete": "complete",
    "search": "space",
    "compile": "compile",
    "run": "run",
}
"""The module of each command, as commands are listed: first those that show and judge, then those
that search and make.
"""

STATUSES = {
    0: "what is asked for is done, and holds",
    1: "the schedule is illegal, a proof refuted, or the command cannot go on",
    2: "something named is missing or malformed: an option, a file, a text",
    3: "prove: nothing is refuted, but not all is proven either",
    130: "interrupted by Ctrl-C; what was found until then is printed",
}
"""The exit statuses."""

_EXAMPLES: dict[str, tuple[str, ...]] = {}


class _Commands(Mapping[str, TyperCommand]):
    """The commands by name. Imports the module of one when it is asked for: most need compilers or
    the solver, which take long to import.
    """

    def __getitem__(self, name: str) -> TyperCommand:
        import_module(f"apps.command_line.{_MODULES[name]}")
        (info,) = (info for info in program.registered_commands if info.name == name)
        made = get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)
        assert isinstance(made, TyperCommand)
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


class _CommandGroup(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()  # type: ignore[assignment]  # none is added later

    def list_commands(self, ctx: object) -> list[str]:
        return list(_MODULES)


def _lines(head: str, lines: list[str]) -> str:
    """A paragraph that keeps its lines."""
    return "\n".join(["\b", head, *(f"  {one}" for one in lines)])


program = typer.Typer(
    name="spaces",
    cls=_CommandGroup,
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


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
"""The option that every command takes."""


def examples() -> dict[str, tuple[str, ...]]:
    """The examples of each command, in the order they are listed."""
    for module in _MODULES.values():
        import_module(f"apps.command_line.{module}")
    return {name: _EXAMPLES[name] for name in _MODULES}


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
            except CommandError as stop:
                _stop(stop)

        shown = _lines("Examples:", [f"spaces {example}" for example in examples])
        return program.command(name, short_help=summary, epilog=shown)(explained)

    return add


def _stop(stop: CommandError) -> None:
    complain(str(stop))
    raise typer.Exit(stop.status) from None
