"""A search for large pipelines that freezes the Funcs that cost little, as in [A21] section 3.2."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from attrs import evolve, field, frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event
from spaces.enumerate.search.first_schedules import (
    offer_first_incumbent,
    offer_plain_nest,
)
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.runners_up import offer_runners_up
from spaces.enumerate.search.search_steps import offer_draw_if_none
from spaces.enumerate.search.stagewise.changed_nests import nests_of
from spaces.enumerate.search.stagewise.search_in_share import SearchInShare
from spaces.enumerate.search.stagewise.stagewise import Stagewise
from spaces.enumerate.space.decided_part import decided_part
from spaces.enumerate.space.options import PlacementOption
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.space import part_of
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import OutOfTime
from spaces.model.schedules.schedule import FuncSchedule, Schedule

APART: tuple[PlacementOption, ...] = ("inline", "root")
"""Where the first search computes Funcs."""

FIRST = 0.5
"""The share of the time limit in which the first search ends."""

FEWEST = 1.0
"""How many Funcs stay open, as a multiple of ``log2(N)``, if the first search did not end in time:
as many as in [A21].
"""


@frozen(kw_only=True)
class Freezing:
    """Searches the whole patterns of a space twice. The first search computes all Funcs inline or
    at root. The Funcs that add most to the cost stay open: of ``N`` Funcs ``log2(N)`` in [A21], and
    three times as many here. All others are frozen, with their numbers. The second search decides
    the open Funcs again, and may compute them inside loops.

    The cost that a Func adds is the difference between the costs of two half-decided schedules of
    the first search. One has all consumers of the Func decided, the other one the Func, too. So any
    cost model will do; [A21] reads the cost of each stage from its own model. Both searches may
    sample, as they do in [A21]: the strategy ``frozen-sampling``.

    It is for ``Options.medium`` and pipelines of many Funcs. It skips the dominated options
    that :class:`Stagewise` skips, and for a frozen Func all other options.

    Attributes:
        first: the search that decides all Funcs.
        second: the search that decides the open ones.
        opened: how many Funcs stay open, as a multiple of ``log2(N)``. With three times as many as
            in [A21], schedules of the apps cost 4 to 12 % less, and the search takes 5 to 30 %
            longer.
    """

    first: SearchInShare = field(default=Stagewise(width=1))
    second: SearchInShare = field(default=Stagewise(width=1))
    opened: float = 3.0

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        pricer = Pricer.of(space, model, limits)
        board, patterns = pricer.board, pricer.within(space.of_patterns)
        apart = pricer.within(_with_funcs_apart(space.of_patterns))
        yield from offer_first_incumbent(apart)
        complete = yield from self.first.search_in_share(apart, FIRST)
        # If its share of the time is too short, so is the rest for a second search of many Funcs.
        opened = self.opened if complete else min(self.opened, FEWEST)
        try:
            with board.deadline.kept():
                rest = pricer.within(_frozen(patterns, opened))
        except OutOfTime:
            complete = False
        else:
            refined = yield from self.second.search_in_share(rest)
            complete = complete and refined
        yield from offer_plain_nest(pricer)
        yield from offer_draw_if_none(pricer)
        yield from offer_runners_up(pricer)
        yield board.done(space, complete)


def _with_funcs_apart(space: ScheduleSpace) -> ScheduleSpace:
    """The part of a space whose schedules clone no Func and compute none inside the loops of
    another. The space itself if there is no such part.
    """
    options = space.options
    placements = tuple(one for one in options.placements if one in APART)
    directives = tuple(one for one in options.directives if one != "clone_in")
    apart = evolve(options, placements=placements or APART, directives=directives)
    return part_of(space, options=apart)


def _frozen(pricer: Pricer, opened: float) -> ScheduleSpace:
    """The part of a space with the cheap Funcs of the best schedule so far."""
    space, board = pricer.space, pricer.board
    if not board.best:
        return space
    schedule = board.best[0].schedule
    added = added_costs(pricer, schedule)
    apart = (entry for entry in schedule.funcs if entry.compute.is_inline or entry.compute.is_root)
    decided = [entry for entry in apart if entry.name not in space.kept_names]
    decided.sort(key=lambda entry: added[entry.name])
    most = math.ceil(opened * math.log2(max(len(decided), 2)))
    cheap = decided[: max(len(decided) - most, 0)]
    return part_of(space, fixed=space.fixed.with_funcs((*space.fixed.funcs, *cheap)))


def added_costs(pricer: Pricer, schedule: Schedule) -> Mapping[str, float]:
    """What each Func adds to the cost of a schedule when Funcs are decided consumers first. If the
    model adds up the costs of nests, only those that a Func changes are priced.

    Args:
        pricer: the pricer of the space of the schedule.
        schedule: a complete schedule of the space.
    """
    pipeline = pricer.space.pipeline

    def price(part: Pipeline, one: Schedule) -> float:
        return pricer.price_schedule(one, part=part)

    added: dict[str, float] = {}
    entries: tuple[FuncSchedule, ...] = ()
    whole = 0.0
    for function in reversed(pipeline.functions):
        name = function.name
        readers = [reader for reader in pipeline.consumers(name) if reader != name]
        adds_nests = pricer.adds_nests and name not in pipeline.outputs
        nests = nests_of(pipeline, entries, readers) if adds_nests else None
        decided = frozenset((*added, name))
        entries = tuple(one for one in schedule.funcs if one.name in decided)
        so_far = schedule.with_funcs(entries)
        if nests is None:
            part = decided_part(pipeline, decided)
            before, whole = whole, price(part, so_far)
            added[name] = whole - before
        else:
            after = nests.reading(name)
            before = price(nests.pipeline, nests.of(so_far))
            added[name] = price(after.pipeline, after.of(so_far)) - before
            whole += added[name]
    return added
