"""A bandit over edits: those that improved the best schedule most often lately come next.

Credit by area under the curve is that of J. Ansel et al., *OpenTuner: an extensible framework for
program autotuning*, PACT 2014.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from attrs import define, field, frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event, Expanded
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.neighbours.drawing import DrawRewrite
from spaces.enumerate.search.neighbours.genetic.mutations import MUTATIONS
from spaces.enumerate.search.neighbours.genetic.population import (
    Individual,
    Offspring,
    OffspringJudge,
)
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.search_steps import PART, conclude_search, offer_first
from spaces.enumerate.space.edits import DecisionEdit
from spaces.enumerate.space.schedule_space import ScheduleSpace

Arm: TypeAlias = Callable[[Sequence[Individual]], DecisionEdit | None]
"""Draws an edit of one of the best schedules so far; None if it finds none."""


@define
class Credits:
    """The credit of each arm: it grows with the successes among the latest uses of the arm.

    Attributes:
        arms: the names of the arms.
        window: how many uses of all arms it remembers.
        exploration: how much arms count that were seldom used.
    """

    arms: Sequence[str]
    window: int
    exploration: float
    _uses: deque[tuple[str, bool]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._uses = deque(maxlen=self.window)

    def add(self, arm: str, improved: bool) -> None:
        """Remembers a use of an arm, and whether it improved the best schedule."""
        self._uses.append((arm, improved))

    def of(self, arm: str) -> float:
        """The credit of an arm; infinity if no use of it is remembered.

        It is a sum of two terms. The first is the area under the curve of its improvements, from 0
        to 1: the ``i``-th of ``n`` uses counts ``2 * i / (n * (n + 1))`` if it was an improvement.
        The second is ``exploration * sqrt(2 * ln(h) / n)``, where all arms together have ``h``
        uses.
        """
        own = [improved for name, improved in self._uses if name == arm]
        count = len(own)
        if not count:
            return math.inf
        area = sum(place for place, improved in enumerate(own, start=1) if improved)
        curve = 2 * area / (count * (count + 1))
        return curve + self.exploration * math.sqrt(2 * math.log(len(self._uses)) / count)

    def next(self, chosen: random.Random) -> str:
        """The arm with the most credit; a random one of several with the most."""
        credits = {arm: self.of(arm) for arm in self.arms}
        most = max(credits.values())
        return chosen.choice([arm for arm, credit in credits.items() if credit == most])


@frozen(kw_only=True)
class Bandit:
    """Edits the best schedules in several ways, its arms, and gives each slice of work to the arm
    that improved the best schedule most often lately (:class:`Credits`). The arms:

    - One changes one decision, as ``annealing`` does.
    - One crosses two schedules between two points.
    - Two start again, at a random or a reasonable schedule.
    - Eight follow the mutation rules of [RK13], such as new numbers for a Func.
    - One rewrites.

    It is for :meth:`Options.expert` and :meth:`Options.everything`, and works with whole patterns,
    too. It skips no option on principle: edits and restarts reach all of them.

    Attributes:
        slices: how many slices of work the arms have.
        slice: how many schedules an arm tries in a slice.
        pool: how many of the best schedules arms start from.
        rivals: how many of them a tournament has; its winner is changed.
        numbers: how many choices of parameters are tried with a schedule, at most.
        window: how many slices count for the credit of an arm; the number of OpenTuner.
        exploration: how much seldom used arms count; the number of OpenTuner.
        rewrites: draws rewrites of schedules; None for no such arm.
    """

    slices: int = 500
    slice: int = 2
    pool: int = 16
    rivals: int = 3
    numbers: int = 64
    window: int = 500
    exploration: float = 0.05
    rewrites: DrawRewrite | None = None

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        pricer = Pricer.of(space, model, limits)
        yield from offer_first(pricer)
        chosen = random.Random(limits.seed)
        judge = OffspringJudge(pricer, chosen, self.numbers)
        offspring = Offspring(pricer, chosen, self.rivals, self.rewrites)
        yield from conclude_search(pricer, self._play(offspring, judge))

    def _play(self, offspring: Offspring, judge: OffspringJudge) -> Iterator[Event]:
        board, chosen = judge.pricer.board, offspring.chosen
        arms = make_arms(offspring)
        credits = Credits(tuple(arms), self.window, self.exploration)
        pool: list[Individual] = []
        for found in board.best[:1]:
            own = yield from judge.judge(offspring.lead_near(found.schedule))
            pool += [own] if own else []
        for number in range(self.slices):
            if number % PART == 0:
                yield Expanded(number // PART + 1, math.ceil(self.slices / PART), "slice")
                yield board.scored
            name = credits.next(chosen)
            least = min((one.cost for one in pool), default=math.inf)
            for _ in range(self.slice):
                edit = arms[name](pool) if pool else offspring.draw_schedule()
                found_one = yield from judge.judge(edit)
                if found_one is not None:
                    pool = self._add(pool, found_one)
            credits.add(name, min((one.cost for one in pool), default=math.inf) < least)

    def _add(self, pool: list[Individual], new: Individual) -> list[Individual]:
        """The cheapest schedules of a pool and a new one, each once."""
        if any(one.found.schedule == new.found.schedule for one in pool):
            return pool
        return sorted([*pool, new], key=lambda one: one.cost)[: self.pool]


def make_arms(offspring: Offspring) -> Mapping[str, Arm]:
    """The arms of the bandit, by name."""
    return {
        "change": offspring.edit_decision,
        "crossover": offspring.cross_parents,
        "restart": lambda pool: offspring.draw_schedule(),
        "reasonable": lambda pool: offspring.make_reasonable(),
        **{rule: partial(offspring.mutate_func, rule) for rule in MUTATIONS},
        **({"rewrite": offspring.rewrite_schedule} if offspring.rewrites else {}),
    }
