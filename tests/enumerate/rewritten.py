"""Schedules that a search rewrites."""

from __future__ import annotations

import math

import spaces
from spaces.enumerate.search.events import Found
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.rewrites.rewrite import FindRewrites, FoundSchedule
from spaces.enumerate.search.rewrites.while_cheaper import Rewriting
from spaces.enumerate.search.stagewise.stage_decisions import StageDecisions
from spaces.enumerate.search.stagewise.stagewise import Stagewise
from spaces.enumerate.space.schedule_space import ScheduleSpace


def rewritten(
    space: ScheduleSpace,
    text: str,
    model: spaces.CostModel,
    *finders: FindRewrites,
    most: float = math.inf,
) -> Found:
    """The best schedule of a search that begins with one and tries some kinds of rewrites."""
    pricer = Pricer.of(space, model, Limits())
    schedule = spaces.parse_schedule(text, space.pipeline)
    first = Found(pricer.price_schedule(schedule), schedule)
    list(pricer.board.offer(first))
    task = StageDecisions(pricer, 4096, pricer.board.deadline)
    list(
        Rewriting(task, Stagewise(), finders, most).rewrite_while_cheaper(
            FoundSchedule(pricer, space, schedule, {}, {}, first.cost)
        )
    )
    return pricer.board.best[0]
