"""Latin hypercube samples of a space: random schedules that spread evenly over the options."""

from __future__ import annotations

import random
from collections.abc import Iterator

from attrs import define, field, frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event, Expanded
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.search_steps import conclude_search, offer_cheapest, offer_first
from spaces.enumerate.space.counting.draws import Draw, draws
from spaces.enumerate.space.process.decision import DecisionOption, FormParts
from spaces.enumerate.space.process.partial import PartialSchedule, form_of
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.deadline import ask_clock


@define
class Strata:
    """The strata of one round: at each decision, the samples of the round have different ones.

    Attributes:
        size: the number of samples of the round, and of strata.
        chosen: makes the random choices.
    """

    size: int
    chosen: random.Random
    _order: dict[str, list[int]] = field(init=False, factory=dict)

    def number(self, name: str, sample: int) -> float:
        """A random number from 0 to 1 in the stratum that a sample has for a decision."""
        if name not in self._order:
            self._order[name] = self.chosen.sample(range(self.size), self.size)
        return (self._order[name][sample] + self.chosen.random()) / self.size

    def option(self, partial: PartialSchedule, sample: int) -> DecisionOption:
        """The option of the next decision that a sample takes. The interval from 0 to 1 falls into
        equal parts, one for each option.
        """
        assert partial.decision is not None
        options = partial.options
        return options[int(self.number(partial.decision.name, sample) * len(options))]


@frozen(kw_only=True)
class LatinHypercube:
    """Prices Latin hypercube samples (McKay, Beckman and Conover, Technometrics 21(2), 1979). The
    interval of each decision falls into as many strata as a round has samples, and each sample of
    the round has another stratum. If all samples of a round meet a decision, they take its options
    equally often; the counts differ by at most one.

    It is a baseline for all presets of options, and skips none of their options. Where Funcs have
    whole patterns, it stratifies all decisions. Where loops are decided one by one, hardly any
    schedule of evenly spread options is legal: it draws the structures at random there
    (``ScheduleSpace.draws``), and stratifies the factors alone.

    Attributes:
        rounds: the number of rounds.
        size: the number of samples of a round.
        attempts: how many draws a structure takes at most.
    """

    rounds: int = 16
    size: int = 64
    attempts: int = 100

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        pricer = Pricer.of(space, model, limits)
        yield from offer_first(pricer)
        yield from conclude_search(pricer, self._price_rounds(pricer))

    def _price_rounds(self, pricer: Pricer) -> Iterator[Event]:
        space, board = pricer.space, pricer.board
        chosen = random.Random(board.limits.seed)
        drawn = draws(space, chosen.randrange(2**32))
        for step in range(1, self.rounds + 1):
            yield Expanded(step, self.rounds, "round")
            for sample in self.draw_round(space, chosen, drawn):
                structure = Structure(sample.schedule, {})
                yield from offer_cheapest(pricer, structure)
            yield board.scored

    def draw_round(
        self, space: ScheduleSpace, chosen: random.Random, draws: Iterator[Draw]
    ) -> Iterator[PartialSchedule]:
        """The samples of one round: complete schedules, legal or not.

        Args:
            space: the space.
            chosen: makes the random choices.
            draws: random schedules, which give structures where loops are decided one by one.
        """
        strata, start = Strata(self.size, chosen), space.start()
        for sample in range(self.size):
            form = self._draw_form(start, draws) if space.decides_loops else None
            if space.decides_loops and form is None:
                continue

            def choose(
                partial: PartialSchedule, sample: int = sample, form: FormParts | None = form
            ) -> DecisionOption:
                if form is None or partial.state.has_structure:
                    return strata.option(partial, sample)
                return partial.nearest(form)

            *_, last = start.led(choose)
            yield last

    def _draw_form(self, start: PartialSchedule, draws: Iterator[Draw]) -> FormParts | None:
        """The form of the next legal draw."""
        for _ in range(self.attempts):
            ask_clock()
            schedule = next(draws).schedule
            if schedule is not None:
                return form_of(start.state, schedule)
        return None


STRATEGIES = {"latin-hypercube": LatinHypercube()}
