"""Why a space is empty."""

from __future__ import annotations

from attrs import evolve

from spaces.constraints.solver.emptiness import Emptiness
from spaces.constraints.solver.emptiness import explain_empty as explain_universe
from spaces.enumerate.space.completing.dead_ends import explain_dead_ends
from spaces.enumerate.space.completing.universe import universe, why_no_universe
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.deadline import Deadline, OutOfTime


def explain_empty(space: ScheduleSpace | PartialSchedule, *, seconds: float = 10.0) -> Emptiness:
    """Why no schedule of a space, or no completion of a partial schedule, is legal: the rules,
    restrictions and options that together exclude all.

    The set is minimal: without one of these rules, or with another option for one of these
    decisions, a schedule might be legal. Options are named if :func:`universe` holds the space;
    otherwise the process is walked until each way has ended. ``seconds`` is the time limit; after
    it the answer is ``unknown``. If whole patterns of loops alone have no legal schedule, the
    rules and options that exclude these are then given.
    """
    deadline = Deadline.after(seconds)
    if isinstance(space, PartialSchedule):
        return explain_dead_ends(space, seconds=seconds)
    if not (why_no_universe(space) or space.restricted.predicates):
        return _explain_decisions(space, deadline)
    found = explain_dead_ends(space.start(), seconds=seconds / 2)
    if found.answer != "unknown" or not space.has_patterns:
        return found
    whole = space.of_patterns
    bare = evolve(whole, options=evolve(whole.options, directives=()))
    of_patterns = _explain_decisions(bare, deadline)
    return evolve(of_patterns, answer="unknown") if of_patterns.answer == "empty" else found


def _explain_decisions(space: ScheduleSpace, deadline: Deadline) -> Emptiness:
    """The answer of the solver about a space that a universe holds."""
    try:
        with deadline.kept():
            decisions = universe(space)
    except OutOfTime:
        return Emptiness("unknown")
    return explain_universe(decisions, space.device, seconds=deadline.left)
