"""Draws rewrites, for searches that go from a schedule to random ones near it.

What a rewrite leaves open is drawn: the numbers of some loops, or all decisions about some Funcs.
"""

from __future__ import annotations

import random

from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.rewrites.registry import list_rewrites
from spaces.enumerate.search.rewrites.rewrite import FoundSchedule, OpenFuncs, OpenNumbers
from spaces.enumerate.space.counting.random_ways import with_random_funcs
from spaces.enumerate.space.edits import DecidedSchedule, DecisionEdit, find_way_near
from spaces.enumerate.space.process.decision import DecisionOption
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.model.schedules.parameters import entry_parameters


def draw_rewrite(
    pricer: Pricer, decided: DecidedSchedule, chosen: random.Random
) -> DecisionEdit | None:
    """The edit that a random rewrite makes of a schedule of the space of a pricer; all kinds of
    rewrites that apply have the same chance. None if none applies.
    """
    found = FoundSchedule.of_decided(pricer, decided)
    kinds = [rewrites for find in list_rewrites() if (rewrites := list(find(found)))]
    openings = list(chosen.choice(chosen.choice(kinds)).open(found)) if kinds else []
    if not openings:
        return None
    opening = chosen.choice(openings)
    match opening:
        case OpenFuncs():
            return _draw_funcs(opening, decided, chosen)
        case OpenNumbers():
            return _draw_numbers(opening, found, decided.way[0], chosen)


def _draw_numbers(
    opening: OpenNumbers, found: FoundSchedule, start: PartialSchedule, chosen: random.Random
) -> DecisionEdit:
    """The edit that gives random numbers to what an opening leaves open."""
    structure = opening.structure(found)
    schedule = structure.at(chosen.randrange(structure.size))
    entries = opening.schedule.funcs
    open_ = (one.name for one in entries if opening.menus.keys() & {*entry_parameters(one)})
    return DecisionEdit.along(find_way_near(start, schedule), next(open_, ""), "rewrite")


def _draw_funcs(
    opening: OpenFuncs, decided: DecidedSchedule, chosen: random.Random
) -> DecisionEdit | None:
    """The edit that decides at random about the Funcs that an opening changes or makes, and about
    all others as before. None if the space does not offer its derivations, or no decisions are
    found.
    """
    form = {**decided.form, **{f"derive {step}": 1 for step in opening.steps}}
    open_ = {name for step in opening.steps for name in (step.func, step.name)}

    def choose(partial: PartialSchedule) -> DecisionOption:
        return partial.nearest(form)

    numbers = decided.way[-1].state.numbers
    way = with_random_funcs(decided.way[0], open_, choose, numbers, chosen)
    if way is None or not {*opening.steps} <= {*way[-1].state.pipeline.derivations}:
        return None
    return DecisionEdit.along(way, opening.steps[-1].name, opening.directive)
