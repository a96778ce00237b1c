"""The page of the command line: ``python -m docs.command_line`` writes ``docs/command_line.md``."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from apps.command_line.program import STATUSES, examples, program

PAGE = Path(__file__).with_name("command_line.md")
WIDTH = 80

_HEAD = """<!-- Made by `python -m docs.command_line` from the commands in `apps/command_line`. -->

# The command line

`spaces COMMAND APP ...`: an app is one of `spaces list`, or `file.py:function` where the function
returns a pipeline. Schedules are the app's own by name (`cpu`, `gpu`, `default`), files, or `-` for
standard input; `docs/directives.md` says how they are written. Mistakes in the text of a schedule
are told together with what is wrong with the rest of it, each with its line and column.

Every command tells what it finds as JSON with `--json`. What is asked for goes to standard output,
complaints to standard error. Files are written whole or not at all.

| exit status | means |
| --- | --- |
{statuses}
"""


def page() -> str:
    """The whole page."""
    statuses = "\n".join(f"| {status} | {said} |" for status, said in STATUSES.items())
    return "\n".join([_HEAD.format(statuses=statuses), *map(_command, examples())])


def _command(name: str) -> str:
    """A command: its examples, and its help without them."""
    shown = CliRunner().invoke(program, [name, "--help"], env={"COLUMNS": str(WIDTH)}).stdout
    told = shown.partition("\n  Examples:")[0].rstrip()
    calls = "\n".join(f"spaces {example}" for example in examples()[name])
    return f"## `{name}`\n\n```sh\n{calls}\n```\n\n```text\n{told}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
