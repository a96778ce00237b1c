"""The errors that stop a command: a sentence for the user and an exit status."""

from __future__ import annotations


class CommandError(Exception):
    """A command cannot go on; ``str`` is the sentence for the user."""

    status = 1


class WrongUsage(CommandError):
    """The user named something that does not exist or that the command does not take."""

    status = 2


class Interrupted(CommandError):
    """The user pressed Ctrl-C."""

    status = 130

    def __init__(self) -> None:
        super().__init__("Interrupted.")
