"""Why a space is empty."""

from __future__ import annotations

from attrs import evolve

from spaces.constraints.solver.emptiness import Emptiness
from spaces.constraints.solver.emptiness import explain_empty as explain_universe
from spaces.enumerate.space.completing.universe import universe
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.deadline import Deadline, OutOfTime


def explain_empty(space: ScheduleSpace, *, seconds: float = 10.0) -> Emptiness:
    """Why no schedule of a space is legal: the rules and options that together exclude all.

    The set is minimal: without one of these rules, or with another option for one of these
    decisions, a schedule might be legal. ``seconds`` is the time limit; after it the answer is
    ``unknown``. Of a space that has more than patterns, only the schedules of whole patterns alone
    are explained; if none of them is legal, the answer is ``unknown``, too, with the rules and
    options that exclude them.

    Raises:
        ValueError: a restriction names a loop that no pattern has.
    """
    deadline = Deadline.after(seconds)
    try:
        with deadline.kept():
            whole = space.of_patterns
            bare = evolve(whole, options=evolve(whole.options, directives=()))
            decisions = universe(bare)
    except OutOfTime:
        return Emptiness("unknown")
    found = explain_universe(decisions, space.device, seconds=deadline.left)
    is_part = not space.only_patterns and found.answer == "empty"
    return evolve(found, answer="unknown") if is_part else found
