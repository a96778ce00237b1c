"""Why a space is empty."""

from __future__ import annotations

from spaces.constraints.solver.emptiness import Emptiness
from spaces.constraints.solver.emptiness import explain_empty as explain_universe
from spaces.enumerate.decisions import universe
from spaces.enumerate.space import ScheduleSpace
from spaces.model.deadline import Deadline, OutOfTime


def explain_empty(space: ScheduleSpace, *, seconds: float = 10.0) -> Emptiness:
    """Why no schedule of a space is legal: the rules and options that together exclude all.

    The set is minimal: without one of these rules, or with another option for one of these
    decisions, a schedule might be legal. ``seconds`` is the time limit; after it the answer is
    ``unknown``.
    """
    deadline = Deadline.after(seconds)
    try:
        with deadline.kept():
            decisions = universe(space)
    except OutOfTime:
        return Emptiness("unknown")
    return explain_universe(decisions, space.device, seconds=deadline.left)
