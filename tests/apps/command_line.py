"""Runs commands as a user types them."""

import sys
from pathlib import Path

from typer.testing import CliRunner

from spaces.apps.command_line.program import program

SCRIPT = Path(sys.executable).parent / "spaces"


def spaces(*arguments, status=0, piped=None):
    """Runs a command with ``piped`` on its standard input; returns its output and its errors."""
    result = CliRunner().invoke(program, [str(a) for a in arguments], input=piped)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    assert "Traceback" not in result.output
    return result.stdout, result.stderr


def files(folder):
    return sorted(path.name for path in folder.iterdir())
