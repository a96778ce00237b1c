"""Two ways to choose the changed schedules that are worth a run. Which one is taken depends on
whether the cost model knows how far its prices may be wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Protocol

import numpy as np
from attrs import frozen

from spaces.cost.errors import PriceParts
from spaces.cost.model import UncertainModel
from spaces.enumerate.search.fastest_together import choose_faster, draw_times
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.structure import Structure
from spaces.model.memo import Memo
from spaces.model.nest.canonical import canonical_form
from spaces.model.nest.nest_memo import NestMemo
from spaces.tuning.expected_times import ExpectedTimes, PricedParts
from spaces.tuning.measured_effects import MeasuredEffects, known_parts, parts_of
from spaces.tuning.trial import Proposal, Trial
from spaces.tuning.trial_log import TriedDigests

CHANGE = "change"
"""The source of changed schedules."""

LEARNED = 256
"""The most trials whose results correct the costs of changes: the fastest ones."""

KNOWN = 96
"""The most trials whose results tell errors of prices, which takes longer: the fastest ones."""

GAINING = 0.6
"""The share of a choice that is taken for the most expected gain over the fastest trial; the others
have the least expected times.
"""


@frozen(eq=False)
class PromisingChange:
    """A changed schedule.

    Attributes:
        proposal: the schedule with its cost.
        digest: that of its canonical form.
        known: its price and its parts; None where the model does not know its errors.
        slower: the logarithm of its expected time over that of the fastest trial, where one
            schedule is looked at alone.
    """

    proposal: Proposal
    digest: str
    known: PricedParts | None = None
    slower: float = 0.0

    @property
    def cost(self) -> float:
        """The cost by the model."""
        return math.inf if self.proposal.predicted is None else self.proposal.predicted


class ChangeChoice(Protocol):
    """Chooses among changed schedules."""

    def candidates(
        self, structure: Structure, likely: int, tried: TriedDigests
    ) -> list[PromisingChange]:
        """The legal choices of a structure to choose from, among its ``likely`` cheapest ones that
        are not ``tried``.
        """
        ...

    def choose(self, pool: Sequence[PromisingChange], count: int) -> list[PromisingChange]:
        """The most promising ones of all candidates, at most that many."""
        ...


def choice_after(pricer: Pricer, ranked: Sequence[Trial]) -> ChangeChoice:
    """How to choose after the results of some trials.

    Args:
        pricer: of the space of the trials, with their cost model.
        ranked: the trials with times, the fastest first.
    """
    model = pricer.model
    if isinstance(model, UncertainModel):
        known = [one for one in ranked[:KNOWN] if one.ratio < math.inf and _has_price(one)]
        schedules = [_priced_parts(pricer, model, one) for one in known]
        ratios = [one.ratio for one in known]
        times = ExpectedTimes.fit(model.errors, schedules, ratios)
        return ChoiceByTimes(pricer, model, times, math.log(ratios[0]) if ratios else math.inf)
    return ChoiceByEffects(pricer, MeasuredEffects.fit(pricer.space.pipeline, ranked[:LEARNED]))


@frozen(eq=False)
class ChoiceByEffects:
    """Chooses what has the least expected time: the cost, corrected by the measured effects of
    parts of schedules.
    """

    pricer: Pricer
    effects: MeasuredEffects

    def candidates(
        self, structure: Structure, likely: int, tried: TriedDigests
    ) -> list[PromisingChange]:
        """The one of the likely choices that is expected to be fastest."""
        costs = self.pricer.price_structure(structure)
        pipeline = self.pricer.space.pipeline
        found = []
        for index in islice(self.pricer.order_legal(structure, costs), likely):
            cost, schedule = float(costs.flat[index]), structure.at(index)
            form = canonical_form(pipeline, schedule)
            if form.digest not in tried:
                slower = self.effects.expect(form, cost)
                proposal = Proposal(schedule, CHANGE, cost)
                found.append(PromisingChange(proposal, form.digest, slower=slower))
        return sorted(found, key=_slowness)[:1]

    def choose(self, pool: Sequence[PromisingChange], count: int) -> list[PromisingChange]:
        return sorted(pool, key=_slowness)[:count]


@frozen(eq=False)
class ChoiceByTimes:
    """Chooses most for the expected gain over the fastest trial, several schedules together, and
    the others by their expected times.

    Attributes:
        pricer: of the space.
        model: its cost model.
        times: what schedules are expected to take.
        least: the logarithm of the least time so far; infinite before the first result.
    """

    pricer: Pricer
    model: UncertainModel
    times: ExpectedTimes
    least: float

    def candidates(
        self, structure: Structure, likely: int, tried: TriedDigests
    ) -> list[PromisingChange]:
        """The likely choices."""
        prices = self.pricer.read_choice_parts(self.model, structure)
        if not prices:
            return []
        costs = np.nan_to_num(np.sum(list(prices.values()), axis=0), nan=np.inf)
        pipeline = self.pricer.space.pipeline
        found = []
        for index in islice(self.pricer.order_legal(structure, costs), likely):
            schedule = structure.at(index)
            form = canonical_form(pipeline, schedule)
            if form.digest not in tried:
                price = {name: float(part.flat[index]) for name, part in prices.items()}
                known = PricedParts(price, tuple(parts_of(form)))
                proposal = Proposal(schedule, CHANGE, float(costs.flat[index]))
                found.append(PromisingChange(proposal, form.digest, known))
        return found

    def choose(self, pool: Sequence[PromisingChange], count: int) -> list[PromisingChange]:
        logs, covariance = self.times.expect([one.known for one in pool if one.known])
        gaining: list[int] = []
        if math.isfinite(self.least):
            times = draw_times(logs, covariance)
            gaining = choose_faster(times, self.least, round(GAINING * count))
        others = (int(n) for n in np.argsort(logs, kind="stable") if n not in gaining)
        return [pool[n] for n in (*gaining, *islice(others, count - len(gaining)))]


def _priced_parts(pricer: Pricer, model: UncertainModel, trial: Trial) -> PricedParts:
    """What is known of the schedule of a trial; the prices of the last ones are kept."""
    memo = _prices_memo(pricer.space.nests)
    found = memo.find((model, trial.schedule))
    if found is None:
        price = pricer.read_parts(model, trial.schedule)
        found = memo.keep((model, trial.schedule), price)
    return PricedParts(found.value, known_parts(pricer.space.pipeline, trial.schedule))


@lru_cache(maxsize=16)
def _prices_memo(nests: NestMemo) -> Memo[PriceParts]:
    """The parts of the prices of schedules of one space."""
    return Memo(2 * KNOWN)


def _has_price(trial: Trial) -> bool:
    price = trial.proposal.predicted
    return price is not None and 0.0 < price < math.inf


def _slowness(change: PromisingChange) -> float:
    return change.slower


def without_slow(pool: Sequence[PromisingChange], ranked: Sequence[Trial]) -> list[PromisingChange]:
    """Those that the model prices at less than twice the cost of the fastest trial that has one."""
    least = next((one.proposal.predicted for one in ranked if _has_price(one)), None)
    return [one for one in pool if least is None or one.cost < 2 * least]
