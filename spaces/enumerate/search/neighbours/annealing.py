"""Simulated annealing by edits of single decisions, also in spaces that decide loop by loop."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from attrs import frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event, Expanded
from spaces.enumerate.search.first_schedules import offer_incumbents, offer_schedule
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.neighbours.drawing import DrawRewrite
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.search_steps import (
    PART,
    conclude_search,
    offer_cheapest,
    offer_draw_if_none,
)
from spaces.enumerate.search.stagewise.search_in_share import SearchInShare
from spaces.enumerate.space.edits import DecidedSchedule
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.schedule import Schedule

REWRITING = 20
"""One edit in this many is a rewrite."""

OPENING = 0.5
"""The share of the time limit for the search before the first edit."""


@frozen(kw_only=True)
class Annealing:
    """Changes one random decision at a time, and keeps a schedule that is cheaper, or not much
    dearer. One in :data:`REWRITING` edits is a rewrite. With each edit it tries numbers for some
    random parameters at once, and takes the cheapest legal ones.

    The search starts at ``start``, such as a schedule by hand. Without ``start``, it first gives a
    share of its time to ``opening``, and starts at the best schedule that this finds. The opening
    searches whole patterns; if the space decides loop by loop, those of :meth:`Options.small`.
    Without both, it starts at the cheapest of the simple first schedules.

    A schedule that costs ``r`` times as much as the current one takes its place with a chance of
    ``r ** (-1 / heat)``. The heat falls evenly to 0 over the steps. Other decisions stay as they
    are, as far as their options are still there.

    It is for :meth:`Options.expert` and :meth:`Options.everything`. It skips no option on
    principle: each decision may change to each of its options, so edits lead everywhere. Its
    opening skips what :class:`Stagewise` does.

    Attributes:
        start: a legal schedule of the space to start at.
        opening: the search of whole patterns before the first edit; None for the first schedules.
        steps: the number of random edits.
        numbers: how many choices of parameters are tried with an edit, at most.
        rewrites: draws rewrites of schedules; None for edits of single decisions alone.
        heat: the heat at the first step: at 0.3 twice the cost is taken one time in ten.
    """

    start: Schedule | None = None
    opening: SearchInShare | None = None
    steps: int = 1000
    numbers: int = 64
    rewrites: DrawRewrite | None = None
    heat: float = 0.3

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        pricer = Pricer.of(space, model, limits)
        board = pricer.board
        if self.start is not None:
            yield from offer_schedule(pricer, self.start)
        else:
            yield from offer_incumbents(pricer)
            if self.opening is not None and space.has_patterns:
                yield from self.opening.search_in_share(pricer, OPENING)
        yield from offer_draw_if_none(pricer)
        if not board.best:
            yield board.done(space, complete=False)
            return
        yield from conclude_search(pricer, self._walk(pricer))

    def _walk(self, pricer: Pricer) -> Iterator[Event]:
        """Edits one schedule after another, from the best one of the board on."""
        board, chosen = pricer.board, random.Random(pricer.board.limits.seed)
        current = board.best[0]
        decided = DecidedSchedule.of(pricer.space, current.schedule)
        for step in range(self.steps):
            edit = None
            if self.rewrites is not None and step % REWRITING == REWRITING - 1:
                edit = self.rewrites(pricer, decided, chosen)
            edit = edit or decided.draw_edit(chosen)
            if edit is None:
                return
            if step % PART == 0:
                yield Expanded(step // PART + 1, math.ceil(self.steps / PART), "edit")
                yield board.scored
            found = yield from offer_cheapest(pricer, edit.open_numbers(chosen, self.numbers))
            if found is None:
                continue
            heat = self.heat * (1 - step / self.steps)
            if is_taken(current.cost, found.cost, heat, chosen.random()):
                current, decided = found, edit.with_numbers_of(found.schedule)


def is_taken(current: float, cost: float, heat: float, draw: float) -> bool:
    """Whether a schedule takes the current one's place; ``draw`` is a random number below 1. What
    counts is how much worse it is, relative to the current cost, which may be negative. If that is
    0, nothing worse is taken.
    """
    if cost <= current:
        return True
    if heat <= 0 or current == 0 or not math.isfinite(cost):
        return False
    worse = (cost - current) / abs(current)
    return bool(draw < (1 + worse) ** (-1 / heat))
