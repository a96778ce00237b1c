"""The console script ``spaces``."""

from __future__ import annotations

from apps import (
    commands_compile,
    commands_complete,
    commands_prove,
    commands_rules,
    commands_run,
    commands_show,
    commands_space,
    commands_verify,
)
from apps.commands import program

COMMANDS = (
    commands_show,
    commands_rules,
    commands_verify,
    commands_prove,
    commands_space,
    commands_complete,
    commands_compile,
    commands_run,
)
"""Modules whose commands belong to the program; importing them adds the commands."""


def main() -> None:
    """Run the command line."""
    program()
