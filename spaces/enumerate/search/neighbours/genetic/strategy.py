"""Genetic search, as in [RK13] section 5."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from attrs import field, frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event, Expanded
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.neighbours.drawing import DrawRewrite
from spaces.enumerate.search.neighbours.genetic.mutations import IMAGING, MUTATIONS
from spaces.enumerate.search.neighbours.genetic.population import (
    Individual,
    Offspring,
    OffspringJudge,
)
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.search_steps import conclude_search, offer_first
from spaces.enumerate.space.edits import DecisionEdit
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.deadline import ask_clock

_Draw: TypeAlias = Callable[[], DecisionEdit | None]
"""Draws an edit that leads to a schedule to try; None if it finds none."""

_Mutate: TypeAlias = Callable[[Sequence[Individual]], DecisionEdit | None]
"""Draws an edit of one of some schedules; None if it finds none."""


@frozen(kw_only=True)
class Genetic:
    """The genetic search of [RK13] section 5. A generation has the cheapest schedules of the last
    one (elitism), crosses of two schedules between two points of the sequence of Funcs, mutated
    schedules, and random ones. Tournaments select parents. The first generation has reasonable
    schedules alone.

    It is for :meth:`Options.expert` and :meth:`Options.everything`, and works with whole patterns,
    too. It skips no option on principle: random schedules reach all of them. Where an option of a
    parent does not fit an offspring, the offspring has the nearest option that does. If it is still
    illegal, the search tries another one.

    The population and the rules are those of the paper. The paper does not tell the numbers of
    generations, the shares, the size of a tournament, the weights of mutations and the coin of loop
    fusion (``GOES_ON``). These are the numbers of the tuner that its authors published
    (``autotune.py`` in the early history of Halide's repository).

    Attributes:
        population: the number of schedules of a generation.
        generations: the number of generations.
        elites: the share of a generation that elitism copies.
        crosses: the share of crosses.
        mutants: the share of mutated schedules; the rest is random.
        tournament: how many schedules a tournament has.
        favor: how much likelier a mutation follows one of the two rules about images, loop fusion
            and templates, than one of the six others.
        sensible: the chance that a random schedule is a reasonable one.
        numbers: how many choices of parameters are tried with each schedule, at most; 1 in the
            paper, which measures one schedule at a time.
        attempts: how often an illegal schedule is replaced by another one, at most.
        rewrites: draws rewrites of schedules, as one more mutation rule that is as likely as one
            about images; None for the rules of the paper alone.

    Raises:
        ValueError: the shares add up to more than 1, or a number is too small.
    """

    population: int = field(default=128)
    generations: int = 50
    elites: float = 0.2
    crosses: float = 0.3
    mutants: float = field(default=0.3)
    tournament: int = 5
    favor: float = 5.0
    sensible: float = 0.5
    numbers: int = 1
    attempts: int = 20
    rewrites: DrawRewrite | None = None

    @mutants.validator
    def _check_shares(self, attribute: object, value: float) -> None:
        if self.elites + self.crosses + value > 1 + 1e-9:
            raise ValueError(
                f"Genetic(elites={self.elites}, crosses={self.crosses}, mutants={value}): the "
                "shares of a generation add up to more than 1; make one smaller."
            )

    @population.validator
    def _check_population(self, attribute: object, value: int) -> None:
        if value < 2:
            raise ValueError(f"Genetic(population={value}): a generation needs two schedules.")

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        pricer = Pricer.of(space, model, limits)
        yield from offer_first(pricer)
        chosen = random.Random(limits.seed)
        judge = OffspringJudge(pricer, chosen, self.numbers)
        offspring = Offspring(pricer, chosen, self.tournament, self.rewrites)
        yield from conclude_search(pricer, self._breed(offspring, judge))

    def _breed(self, offspring: Offspring, judge: OffspringJudge) -> Iterator[Event]:
        individuals: list[Individual] = []
        for step in range(1, self.generations + 1):
            yield Expanded(step, self.generations, "generation")
            individuals = yield from self.breed_generation(individuals, offspring, judge)
            yield judge.pricer.board.scored

    def breed_generation(
        self, last: Sequence[Individual], offspring: Offspring, judge: OffspringJudge
    ) -> Generator[Event, None, list[Individual]]:
        """The next generation, cheapest first; the first one if ``last`` is empty.

        Raises:
            OutOfTime: as many structures as the limits allow have a cost.
        """
        size = self.population
        individuals = list(last[: round(self.elites * size)])
        draws: list[_Draw] = []
        if last:
            draws += [partial(offspring.cross_parents, last)] * round(self.crosses * size)
            draws += [partial(self._mutate, last, offspring)] * round(self.mutants * size)
        rest = size - len(individuals) - len(draws)
        new = partial(self._start_anew, offspring) if last else offspring.make_reasonable
        for draw in [*draws, *[new] * rest]:
            for _ in range(self.attempts):
                ask_clock()
                found = yield from judge.judge(draw())
                if found is not None:
                    individuals.append(found)
                    break
        return sorted(individuals, key=lambda one: one.cost)

    def _mutate(self, parents: Sequence[Individual], offspring: Offspring) -> DecisionEdit | None:
        draws: dict[_Mutate, float] = {
            partial(offspring.mutate_func, rule): self.favor if rule in IMAGING else 1.0
            for rule in MUTATIONS
        }
        if self.rewrites is not None:
            draws[offspring.rewrite_schedule] = self.favor
        (mutate,) = offspring.chosen.choices([*draws], [*draws.values()])
        return mutate(parents)

    def _start_anew(self, offspring: Offspring) -> DecisionEdit | None:
        is_sensible = offspring.chosen.random() < self.sensible
        return offspring.make_reasonable() if is_sensible else offspring.draw_schedule()
