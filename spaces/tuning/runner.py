"""The process that tunes a study."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

from attrs import astuple, frozen


@frozen
class Runner:
    """A process. The moment at which it began tells it from later ones with the same number.

    Attributes:
        host: the name of its machine.
        process: its number there.
        began: when it began, as Linux counts; empty on other systems.
    """

    host: str
    process: int
    began: str

    @staticmethod
    def this_process() -> Runner:
        """The process that asks."""
        return Runner(platform.node(), os.getpid(), _beginning(os.getpid()))

    @staticmethod
    def from_text(text: str) -> Runner:
        """The runner that wrote a text."""
        return Runner(*json.loads(text))

    @property
    def text(self) -> str:
        """The runner as a text."""
        return json.dumps(astuple(self))

    @property
    def is_running(self) -> bool:
        """Whether the process is running. A process on another machine counts as running."""
        if self.host != platform.node():
            return True
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # a process of another user
        return _beginning(self.process) == self.began

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"


def _beginning(process: int) -> str:
    """When a process began, in ticks since the start of the system. Empty if the system does not
    say so, or if the process has ended and its parent has not noticed (a zombie).
    """
    try:
        state, *fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else fields[18]
