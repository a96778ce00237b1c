"""The console script ``spaces``."""

from __future__ import annotations

from apps.command_line import compile, complete, prove, rules, run, show, space, verify
from apps.command_line.program import program

COMMANDS = (show, rules, verify, prove, space, complete, compile, run)
"""Modules whose commands belong to the program; importing them adds the commands."""


def main() -> None:
    """Run the command line."""
    program()
