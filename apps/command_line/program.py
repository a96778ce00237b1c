"""The command-line program; it imports the module of a command when the user calls the command."""

from __future__ import annotations

import errno
import functools
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, ParamSpec

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info

import spaces
from spaces.apps.command_line.argument_groups import spread_groups
from spaces.apps.command_line.console import complain, line
from spaces.apps.command_line.time_limits import timed
from spaces.apps.errors import CommandError, Interrupted

P = ParamSpec("P")

_MODULES = {
    "list": "list",
    "show": "show",
    "verify": "verify",
    "explain": "explain",
    "prove": "prove",
    "report": "report",
    "rules": "rules",
    "count": "count",
    "enumerate": "listing",
    "sample": "listing",
    "rank": "listing",
    "complete": "complete",
    "search": "search",
    "tune": "tune",
    "best": "studies",
    "studies": "studies",
    "export": "studies",
    "plot": "plot",
    "calibrate": "calibrate",
    "train": "train",
    "plugin": "plugin",
    "compile": "compile",
    "run": "run",
}
"""The module of each command, in the order of the help: first the commands that show and judge,
then those that search and compile.
"""

STATUSES = {
    0: "the command did its work, and its checks hold",
    1: "the schedule is illegal, a proof is refuted, or the command failed",
    2: "an option, a file or a text is missing or malformed",
    3: "prove: no obligation is refuted, but at least one is not proven",
    130: "Ctrl-C stopped the command; it prints the results that it has",
}
"""The exit statuses."""

_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO}
"""The errors of a standard output that takes no more."""

_EXAMPLES: dict[str, tuple[str, ...]] = {}


imported_commands = typer.Typer()
"""The commands whose modules are imported. The program makes one when a user calls it; typer
would make all that are registered at the program itself, at every call.
"""


class _Commands(Mapping[str, TyperCommand]):
    """The commands by name. A look-up imports the module of the command: most need compilers or the
    solver, which take long to import.
    """

    def __getitem__(self, name: str) -> TyperCommand:
        import_module(f"spaces.apps.command_line.{_MODULES[name]}")
        (info,) = (info for info in imported_commands.registered_commands if info.name == name)
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
            "spaces COMMAND --help describes a command, with examples.",
            _lines(
                "Exit status:", [f"{status:<3}  {meaning}" for status, meaning in STATUSES.items()]
            ),
        )
    ),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        line(f"spaces {spaces.__version__}")
        raise typer.Exit


def _tell_all(context: typer.Context, wanted: bool) -> None:
    """While the command runs, its log goes to the error stream: all of it, or warnings alone."""
    logger = logging.getLogger("spaces")
    handler = logging.StreamHandler(sys.stderr)
    if wanted:
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        context.call_on_close(functools.partial(logger.setLevel, logger.level))
        logger.setLevel(logging.DEBUG)
    else:
        handler.setLevel(logging.WARNING)
    logger.addHandler(handler)
    context.call_on_close(functools.partial(logger.removeHandler, handler))


@program.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version."),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", callback=_tell_all, help="Say what happens inside.")
    ] = False,
) -> None:
    """The options before a command."""


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
"""The option that every command takes."""


def examples() -> dict[str, tuple[str, ...]]:
    """The examples of each command, in the order they are listed."""
    for module in _MODULES.values():
        import_module(f"spaces.apps.command_line.{module}")
    return {name: _EXAMPLES[name] for name in _MODULES}


def command(name: str, summary: str, *examples: str) -> Callable[[Callable[P, None]], object]:
    """Adds a command. If it stops, it prints the reason as a sentence and exits with its status. A
    record among the parameters of its function stands for the arguments that are its fields.

    Args:
        name: the name of the command.
        summary: what the command does, short enough for the list of commands.
        examples: calls of the command, without the name of the program.
    """
    _EXAMPLES[name] = examples

    def add(function: Callable[P, None]) -> object:
        limited = timed(spread_groups(function))

        @functools.wraps(limited)
        def explained(*args: Any, **kwargs: Any) -> None:
            try:
                limited(*args, **kwargs)
                sys.stdout.flush()
            except KeyboardInterrupt:
                _stop(Interrupted())
            except CommandError as stop:
                _stop(stop)
            except OSError as error:
                _stop_writing(error)

        shown = _lines("Examples:", [f"spaces {example}" for example in examples])
        return imported_commands.command(name, short_help=summary, epilog=shown)(explained)

    return add


def _stop_writing(error: OSError) -> None:
    """Ends a command whose output cannot be written; other errors of the system go on."""
    if error.filename is not None or error.errno not in _FULL:
        raise error
    # The interpreter would try to write the rest at its end, and fail again.
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # open until the end
    _stop(CommandError(f"Cannot write the output: {os.strerror(error.errno or 0)}."))


def _stop(stop: CommandError) -> None:
    complain(str(stop))
    raise typer.Exit(stop.status) from None
