"""The page of the command line: ``python -m docs.command_line`` writes ``docs/command_line.md``."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from spaces.apps.command_line.program import STATUSES, examples, program

PAGE = Path(__file__).with_name("command_line.md")
WIDTH = 80

_HEAD = """<!-- Made by `python -m docs.command_line` from the commands in `apps/command_line`. -->

# The command line

`spaces COMMAND APP ...`: an app is a name that `spaces list` shows; or `file.py:function`, where
the function returns a pipeline, also one of Halide; or `file.hlpipe`, which Halide has serialized
([more](from_halide.md)). A schedule is the name of a schedule of the app (`cpu`, `gpu`, `default`;
`own` for a pipeline of Halide), a file, or `-` for standard input; `docs/directives.md` describes
its text. A command reports the mistakes in the text together with the violations in the rest of the
schedule, each with its line and column.

With `--json` every command prints its results as JSON. Results go to standard output, errors and
hints to standard error. A command writes a file whole or not at all.

| exit status | means |
| --- | --- |
{statuses}
"""


def page() -> str:
    """The whole page."""
    statuses = "\n".join(f"| {status} | {meaning} |" for status, meaning in STATUSES.items())
    return "\n".join([_HEAD.format(statuses=statuses), *map(_command, examples())])


def _command(name: str) -> str:
    """The part about one command: its examples, and its help without them."""
    shown = CliRunner().invoke(program, [name, "--help"], env={"COLUMNS": str(WIDTH)}).stdout
    help_text = shown.partition("\n  Examples:")[0].rstrip()
    calls = "\n".join(f"spaces {example}" for example in examples()[name])
    return f"## `{name}`\n\n```sh\n{calls}\n```\n\n```text\n{help_text}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
