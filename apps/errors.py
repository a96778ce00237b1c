"""What the command line says when it stops: one sentence and an exit status."""

from __future__ import annotations


class CommandError(Exception):
    """A command cannot go on; ``str`` is the sentence for the user."""

    status = 1


class WrongUsage(CommandError):
    """What the user named does not exist, or is not what the command takes."""

    status = 2


class Interrupted(CommandError):
    """The user has had enough (Ctrl-C)."""

    status = 130

    def __init__(self) -> None:
        super().__init__("Interrupted.")
