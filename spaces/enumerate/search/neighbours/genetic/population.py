"""The individuals of a genetic search, and how they have offspring."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator, Sequence

from attrs import define, field, frozen

from spaces.enumerate.search.events import Event, Found
from spaces.enumerate.search.judging import offer_cheapest
from spaces.enumerate.search.neighbours.changes import ChangedSchedule, PlacedSchedule, Way
from spaces.enumerate.search.neighbours.genetic.mutations import Mutation
from spaces.enumerate.search.neighbours.genetic.starting import reasonable
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.counting.draws import Draw
from spaces.enumerate.space.process.partial import PartialSchedule, form_of
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule


@frozen(eq=False)
class Individual:
    """A legal schedule, its cost, and the decisions that lead to it."""

    found: Found
    place: PlacedSchedule

    @property
    def cost(self) -> float:
        """The cost; lower is better."""
        return self.found.cost


def tournament(individuals: Sequence[Individual], size: int, chosen: random.Random) -> Individual:
    """The cheapest of ``size`` random individuals, or of all if there are fewer."""
    rivals = chosen.sample(individuals, min(size, len(individuals)))
    return min(rivals, key=lambda one: one.cost)


def two_points(pipeline: Pipeline, chosen: random.Random) -> frozenset[str]:
    """The Funcs between two random points of the sequence of all Funcs, producers first: at least
    one, and not all if there are several.
    """
    names = [function.name for function in pipeline.functions]
    ends = range(len(names) + 1)
    cuts = [(i, j) for i in ends for j in ends[i + 1 :] if j - i < max(len(names), 2)]
    first, last = chosen.choice(cuts)
    return frozenset(names[first:last])


def crossed_between(first: PlacedSchedule, second: PlacedSchedule, cut: frozenset[str]) -> Way:
    """The way to the schedule that decides the Funcs of a cut as ``second`` does, and all others,
    as well as the derivations, as ``first`` does. What does not fit together is decided as near to
    them as the space allows. The schedule may be illegal.
    """
    return tuple(first.way[0].along(first.form, dict.fromkeys(cut, second.form)))


@define
class Offspring:
    """Makes schedules to try from nothing or from others.

    Attributes:
        space: the space.
        chosen: makes all random choices.
        numbers: how many choices of parameters are tried with each schedule, at most.
        rivals: how many individuals a tournament has.
    """

    space: ScheduleSpace
    chosen: random.Random
    numbers: int
    rivals: int
    start: PartialSchedule = field(init=False)
    _draws: Iterator[Draw] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.start = self.space.start()
        self._draws = self.space.draws(self.chosen.randrange(2**32))

    def reasonable(self) -> ChangedSchedule:
        """A reasonable schedule."""
        return self.near(reasonable(self.start.state, self.chosen))

    def drawn(self) -> ChangedSchedule | None:
        """A random schedule of the space, each Func on its own; None if the draw is illegal."""
        schedule = next(self._draws).schedule
        return None if schedule is None else self.near(schedule)

    def near(self, schedule: Schedule) -> ChangedSchedule:
        """The schedule of the space that is nearest to one."""
        return self._tried(tuple(self.start.along(form_of(self.start.state, schedule))), "")

    def crossed(self, parents: Sequence[Individual]) -> ChangedSchedule:
        """A cross of two schedules between two points."""
        first, second = (self.parent(parents) for _ in range(2))
        cut = two_points(self.space.pipeline, self.chosen)
        return self._tried(crossed_between(first, second, cut), "")

    def changed(self, parents: Sequence[Individual]) -> ChangedSchedule | None:
        """A schedule with one random decision changed; None if the space has one schedule only."""
        place = self.parent(parents)
        has_choices = len(place.way) > 1
        return place.changed(self.chosen, self.numbers) if has_choices else None

    def mutated(self, rule: Mutation, parents: Sequence[Individual]) -> ChangedSchedule | None:
        """A schedule with one random Func changed by a rule; None if the rule does not apply."""
        place = self.parent(parents)
        func = self.chosen.choice([one.name for one in place.way[-1].state.entries])
        way = rule(place, func, self.chosen)
        return None if way is None else self._tried(way, func)

    def parent(self, individuals: Sequence[Individual]) -> PlacedSchedule:
        """The winner of a tournament."""
        return tournament(individuals, self.rivals, self.chosen).place

    def _tried(self, way: Way, func: str) -> ChangedSchedule:
        return ChangedSchedule.along(way, func, self.chosen, self.numbers)


@define
class OffspringJudge:
    """Judges offspring; what it has judged before costs nothing.

    Attributes:
        pricer: prices them, and keeps what is found.
    """

    pricer: Pricer
    _known: dict[object, Found | None] = field(init=False, factory=dict)

    def judged(self, change: ChangedSchedule) -> Generator[Event, None, Individual | None]:
        """The cheapest legal choice of a changed schedule; None if it has none.

        Raises:
            OutOfTime: as many structures as the limits allow have a cost.
        """
        structure = change.structure
        key = structure.schedule, tuple(structure.menus.items())
        if key not in self._known:
            self._known[key] = yield from offer_cheapest(self.pricer, structure)
        found = self._known[key]
        if found is None:
            return None
        return Individual(found, PlacedSchedule.after(change, found.schedule))
