"""The console script ``spaces``."""

from __future__ import annotations

from apps import commands_show
from apps.commands import program

COMMANDS = (commands_show,)
"""Modules whose commands belong to the program; importing them adds the commands."""


def main() -> None:
    """Run the command line."""
    program()
