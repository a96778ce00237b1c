"""Exhaustive search: every legal schedule of a space."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event, Expanded
from spaces.enumerate.search.first_schedules import offer_incumbents
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.listing import structures
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.deadline import OutOfTime


def exhaustive(space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
    """Scores every choice of every structure: for spaces of up to some thousand structures, as
    ``Options.small`` makes of few Funcs.

    Each structure is one step. The search scores a large lattice part by part. With a
    :class:`~spaces.cost.model.BoundedModel`, it prunes partial schedules whose lower bound is above
    the worst cost that it keeps. The result is the same: no completion would be kept. So it skips
    no option because others dominate it, and a complete search certifies its best schedules.
    """
    pricer = Pricer.of(space, model, limits)
    board = pricer.board
    yield from offer_incumbents(pricer)

    def may_be_kept(partial: PartialSchedule) -> bool:
        worst = board.worst
        is_dear = worst < math.inf and pricer.bound_cost(partial) > worst
        board.pruned += is_dear
        return not is_dear

    listed = structures(space, may_be_kept)
    try:
        for number in count(1):
            with board.deadline.kept():
                structure = next(listed, None)
            if structure is None:
                break
            yield Expanded(number, 0, "structure")
            yield from offer_cheapest_of_parts(pricer, structure)
    except OutOfTime:
        yield board.done(space, complete=False)
        return
    if board.pruned:
        yield board.scored
    yield board.done(space, complete=True, left=math.inf)


def offer_cheapest_of_parts(pricer: Pricer, structure: Structure) -> Iterator[Event]:
    """Prices all choices of a structure, and offers the cheapest legal one of each part.

    Raises:
        OutOfTime: a limit of the search is reached.
    """
    board = pricer.board
    for found in board.deadline.each(pricer.find_cheapest_of_parts(structure)):
        if found is not None:
            yield board.scored
            yield from board.offer(found)


STRATEGIES = {"exhaustive": exhaustive}
