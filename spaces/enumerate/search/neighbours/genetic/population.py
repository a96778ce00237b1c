"""The individuals of a genetic search, and how they have offspring."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator, Sequence

from attrs import define, field, frozen

from spaces.enumerate.search.events import Event, Found
from spaces.enumerate.search.neighbours.drawing import DrawRewrite
from spaces.enumerate.search.neighbours.genetic.mutations import MUTATIONS
from spaces.enumerate.search.neighbours.genetic.starting import draw_reasonable
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.search_steps import offer_cheapest
from spaces.enumerate.space.counting.draws import Draw
from spaces.enumerate.space.edits import DecidedSchedule, DecisionEdit, cross_forms, find_way_near
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule


@frozen(eq=False)
class Individual:
    """A legal schedule, its cost, and the decisions that lead to it."""

    found: Found
    decided: DecidedSchedule

    @property
    def cost(self) -> float:
        """The cost; lower is better."""
        return self.found.cost


def win_tournament(
    individuals: Sequence[Individual], size: int, chosen: random.Random
) -> Individual:
    """The cheapest of ``size`` random individuals, or of all if there are fewer."""
    rivals = chosen.sample(individuals, min(size, len(individuals)))
    return min(rivals, key=lambda one: one.cost)


def draw_cut(pipeline: Pipeline, chosen: random.Random) -> frozenset[str]:
    """The Funcs between two random points of the sequence of all Funcs, producers first: at least
    one, and not all if there are several.
    """
    names = [function.name for function in pipeline.functions]
    ends = range(len(names) + 1)
    cuts = [(i, j) for i in ends for j in ends[i + 1 :] if j - i < max(len(names), 2)]
    first, last = chosen.choice(cuts)
    return frozenset(names[first:last])


@define
class Offspring:
    """Draws edits: of nothing, which lead to new schedules, or of the schedules of individuals.

    Attributes:
        pricer: the pricer of the space.
        chosen: makes all random choices.
        rivals: how many individuals a tournament has.
        rewrites: draws rewrites of schedules; None if it tries none.
    """

    pricer: Pricer
    chosen: random.Random
    rivals: int
    rewrites: DrawRewrite | None = None
    start: PartialSchedule = field(init=False)
    _draws: Iterator[Draw] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.start = self.space.start()
        self._draws = self.space.draws(self.chosen.randrange(2**32))

    @property
    def space(self) -> ScheduleSpace:
        """The space."""
        return self.pricer.space

    def make_reasonable(self) -> DecisionEdit:
        """Leads to a reasonable schedule."""
        return self.lead_near(draw_reasonable(self.start.state, self.chosen))

    def draw_schedule(self) -> DecisionEdit | None:
        """Leads to a random schedule of the space, each Func on its own; None if the draw is
        illegal.
        """
        schedule = next(self._draws).schedule
        return None if schedule is None else self.lead_near(schedule)

    def lead_near(self, schedule: Schedule) -> DecisionEdit:
        """Leads to the schedule of the space that is nearest to the given one."""
        return DecisionEdit.along(find_way_near(self.start, schedule))

    def cross_parents(self, individuals: Sequence[Individual]) -> DecisionEdit:
        """Crosses two schedules between two points."""
        first, second = (self.choose_parent(individuals) for _ in range(2))
        cut = draw_cut(self.space.pipeline, self.chosen)
        return cross_forms(self.start, first.form, second.form, cut)

    def edit_decision(self, individuals: Sequence[Individual]) -> DecisionEdit | None:
        """Changes one random decision; None if the space has one schedule only."""
        return self.choose_parent(individuals).draw_edit(self.chosen)

    def mutate_func(self, rule: str, individuals: Sequence[Individual]) -> DecisionEdit | None:
        """Changes one random Func by a mutation rule; None if the rule does not apply to it."""
        parent = self.choose_parent(individuals)
        func = self.chosen.choice([one.name for one in parent.way[-1].state.entries])
        way = MUTATIONS[rule](parent, func, self.chosen)
        return None if way is None else DecisionEdit.along(way, func, rule)

    def rewrite_schedule(self, individuals: Sequence[Individual]) -> DecisionEdit | None:
        """Rewrites one schedule; None if no rewrite applies."""
        parent = self.choose_parent(individuals)
        return self.rewrites and self.rewrites(self.pricer, parent, self.chosen)

    def choose_parent(self, individuals: Sequence[Individual]) -> DecidedSchedule:
        """The winner of a tournament."""
        return win_tournament(individuals, self.rivals, self.chosen).decided


@define
class OffspringJudge:
    """Judges offspring; what it has judged before costs nothing.

    Attributes:
        pricer: prices them, and keeps what is found.
        chosen: chooses the numbers to try with each schedule.
        numbers: how many choices of them are tried, at most.
    """

    pricer: Pricer
    chosen: random.Random
    numbers: int
    _known: dict[object, Found | None] = field(init=False, factory=dict)

    def judge(self, edit: DecisionEdit | None) -> Generator[Event, None, Individual | None]:
        """The cheapest legal choice of numbers after an edit; None if no choice is legal.

        Raises:
            OutOfTime: as many structures as the limits allow have a cost.
        """
        if edit is None:
            return None
        structure = edit.open_numbers(self.chosen, self.numbers)
        key = structure.schedule, tuple(structure.menus.items())
        if key not in self._known:
            self._known[key] = yield from offer_cheapest(self.pricer, structure)
        found = self._known[key]
        return None if found is None else Individual(found, edit.with_numbers_of(found.schedule))
