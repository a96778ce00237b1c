"""Why a space is empty."""

from __future__ import annotations

from spaces.constraints.solver.emptiness import Emptiness
from spaces.constraints.solver.emptiness import explain_empty as explain_universe
from spaces.enumerate.decisions import universe
from spaces.enumerate.space import ScheduleSpace


def explain_empty(space: ScheduleSpace, *, seconds: float = 10.0) -> Emptiness:
    """Why no schedule of a space is legal: the rules and the options that exclude all together.

    None of them can be left out: without any of these rules, or with another option for any of
    these decisions, something might be legal. ``seconds`` is how long it may take; where that is
    not enough, the answer is ``unknown``.
    """
    return explain_universe(universe(space), space.device, seconds=seconds)
