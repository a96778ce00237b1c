"""How many pages a run gets from the system."""

from __future__ import annotations

import resource
from collections.abc import Callable


def page_faults(run: Callable[[], object]) -> int:
    """The number of pages that a run after another run gets from the system."""
    run()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    run()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
