"""A page of the documentation as a session: what its blocks do, and what it shows of that."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from spaces.apps.command_line.program import program

BLOCK = re.compile(
    r"(?:this file, `([\w./]+)`:\n\n)?^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)

LEFT_OUT = "...\n"
"""A line that stands for lines that the page leaves out."""


def answers(page: str) -> Iterator[tuple[str, str, str]]:
    """Runs the blocks of a page in the current folder, in one process.

    A block after "this file, `name`:" is written to that file. A block of Python is run; the text
    after it is its output. A `console` block holds commands after `$ `, each with its output.

    Yields:
        The block or command, what it prints, and what the page shows; both are empty for a block
        that prints nothing.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    blocks = BLOCK.findall(page)
    for (file, kind, text), following in zip(blocks, [*blocks[1:], ("", "", "")], strict=True):
        if file:
            Path(file).write_text(text)
        elif kind == "python":
            shown = following[2] if following[1] == "text" and not following[0] else ""
            yield text, printed_by(text, names), shown
        elif kind == "console":
            for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
                yield command, printed_by_command(command), shown


def printed_by(code: str, names: dict[str, Any]) -> str:
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "<page>", "exec"), names)
    return printed.getvalue()


def printed_by_command(command: str) -> str:
    words = shlex.split(command)
    if words[0] == "cat":
        return Path(words[1]).read_text()
    assert words[0] == "spaces", command
    result = CliRunner().invoke(program, words[1:])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


def is_shown(printed: str, shown: str) -> bool:
    """Whether a page shows what is printed, maybe without the lines that `...` stands for."""
    parts = [re.escape(part) for part in re.split(rf"(?m)^{re.escape(LEFT_OUT)}", shown)]
    return re.fullmatch("(?s:.*)".join(parts), printed) is not None
