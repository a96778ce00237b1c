"""Which failures say nothing about a schedule, and how often it is tried again."""

from __future__ import annotations

import re

from spaces.backend.measuring.process import FOREIGN
from spaces.cost.measurer import Measurement, RunOutcome

ATTEMPTS = 3
"""How often a schedule is tried at most, if it fails for a reason that may lie elsewhere."""

_KILLED = re.compile(rf"\bsignal ({'|'.join(FOREIGN)})\b")
"""What a reason says of a process that something else has ended."""

_SIGNAL = re.compile(r"\bsignal \S+")


def is_transient(result: Measurement) -> bool:
    """Whether a failure may be the machine's: there was not enough memory, another program killed
    the process that ran the schedule, or any signal ended the one that compiled it.
    """
    match result.outcome:
        case RunOutcome.OUT_OF_MEMORY:
            return True
        case RunOutcome.CRASHED:
            return _KILLED.search(result.reason) is not None
        case RunOutcome.NOT_COMPILED:
            return _SIGNAL.search(result.reason) is not None
        case _:
            return False
