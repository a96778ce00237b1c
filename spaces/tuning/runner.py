"""The process that tunes a study, and the lease by which it keeps the study.

Where the process can be seen, the system says whether it runs. A container has its own numbers of
processes, and a new host name each time. There the lease tells whether the process runs, because
the process renews it.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from attrs import astuple, define, field, frozen

log = logging.getLogger("spaces.tuning")

RENEWING = 20.0
"""Seconds between two renewals of a lease."""

LEASE = 6 * RENEWING
"""Seconds after the last renewal in which a process that cannot be seen counts as running."""


@frozen
class Runner:
    """A process. The moment at which it began tells it from later ones with the same number.

    Attributes:
        host: the name of its machine, for people.
        process: its number there.
        began: when it began, as Linux counts; empty on other systems.
        place: a text that is equal for processes that see each other: those of one start of one
            system, with one list of processes. Empty where the system does not tell.
    """

    host: str
    process: int
    began: str
    place: str = ""

    @staticmethod
    def this_process() -> Runner:
        """The process that asks."""
        return _runner(os.getpid())

    @staticmethod
    def from_text(text: str) -> Runner | None:
        """The runner that wrote a text; None if none did."""
        try:
            match json.loads(text):
                case [str(host), int(process), str(began)]:  # of a version before
                    return Runner(host, process, began)
                case [str(host), int(process), str(began), str(place)]:
                    return Runner(host, process, began, place)
        except ValueError:
            pass
        return None

    @property
    def text(self) -> str:
        """The runner as a text."""
        return json.dumps(astuple(self))

    def is_running(self, renewed: float | None) -> bool:
        """Whether the process is running. A process that cannot be seen from here counts as running
        for a time after it renewed its lease (:data:`LEASE`).

        Args:
            renewed: when it renewed its lease, in seconds since 1970; None if it did not.
        """
        if not self.is_near:
            return renewed is not None and abs(time.time() - renewed) < LEASE
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # a process of another user
        return _beginning(self.process) == self.began

    @property
    def is_near(self) -> bool:
        """Whether this process can see it."""
        me = Runner.this_process()
        return self.place == me.place if self.place and me.place else self.host == me.host

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"


@lru_cache(1)
def _runner(process: int) -> Runner:
    return Runner(platform.node(), process, _beginning(process), _place())


def _place() -> str:
    try:
        start = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{start} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _beginning(process: int) -> str:
    """When a process began, in ticks since the start of the system. Empty if the system does not
    say so, or if the process has ended and its parent has not noticed (a zombie).
    """
    try:
        state, *fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else fields[18]


@define
class Heartbeat:
    """Calls a function again and again in a thread of its own, until it is stopped.

    Attributes:
        renew: the function.
        seconds: how long to wait between two calls.
    """

    renew: Callable[[], None]
    seconds: float = RENEWING
    _stopped: threading.Event = field(init=False, factory=threading.Event)
    _thread: threading.Thread = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._thread = threading.Thread(target=self._beat, name="spaces lease", daemon=True)
        self._thread.start()

    def _beat(self) -> None:
        while not self._stopped.wait(self.seconds):
            try:
                self.renew()
            except Exception as error:  # the next one may work; a lease lasts several of them
                log.info("a lease was not renewed: %s", error)

    def stop(self) -> None:
        """Ends the thread."""
        self._stopped.set()
        self._thread.join()
