"""What results tell about schedules that were not measured: effects of parts that a model lacks."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable, Sequence
from functools import cache

import pytest

from spaces import Measurement, RunOutcome, Schedule, cost_model
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.structure import Structure
from spaces.model.nest.canonical import CanonicalForm, canonical_form
from spaces.tuning.evolving import Evolving
from spaces.tuning.measured_effects import MeasuredEffects, parts_of
from spaces.tuning.trial import Proposal, Trial, fastest
from tests.tuning.fakes import SPACE

PIPELINE = SPACE.pipeline


@cache
def drawn() -> list[Schedule]:
    return SPACE.sample(80, seed=4)


def form_of(schedule: Schedule) -> CanonicalForm:
    return canonical_form(PIPELINE, schedule)


def is_tiled(schedule: Schedule) -> bool:
    """Whether the output splits its rows twice, about half of the schedules."""
    return "blur_y kind x.1.0" in form_of(schedule).parts


def trials_of(
    schedules: Sequence[Schedule],
    ratio: Callable[[Schedule], float],
    cost: Callable[[Schedule], float | None] = lambda schedule: 1.0,
) -> list[Trial]:
    """Trials without noise, the fastest first."""
    made = []
    for number, one in enumerate(schedules):
        seconds = (ratio(one),) * 6
        result = Measurement(one, RunOutcome.CORRECT, "", seconds, (1.0,) * 6)
        made.append(Trial(number, Proposal(one, "change", cost(one)), result))
    return list(fastest(made))


def test_effects_of_parts_carry_over_to_other_schedules() -> None:
    """The hidden effects are products over parts, from 0.9 to 1.1 each, and all costs are equal."""

    def hidden(schedule: Schedule) -> float:
        parts = parts_of(form_of(schedule))
        return math.prod(1 + random.Random(str(one)).uniform(-0.03, 0.03) for one in parts)

    known, others = drawn()[:60], drawn()[60:]
    trials = trials_of(known, hidden)
    effects = MeasuredEffects.fit(PIPELINE, trials)
    best = trials[0].ratio
    mean = statistics.fmean(math.log(one.ratio / best) for one in trials)
    true = [math.log(hidden(one) / best) for one in others]
    found = [effects.expect(form_of(one), 1.0) for one in others]
    wrong = sum(abs(one - other) for one, other in zip(found, true, strict=True))
    assert wrong < 0.4 * sum(abs(mean - one) for one in true)


def test_the_model_counts_where_results_tell_nothing() -> None:
    """Its costs and the times agree, so nothing is corrected."""
    costs = {one: 1e6 * (1 + number / 40) for number, one in enumerate(drawn())}
    trials = trials_of(drawn()[:30], lambda one: costs[one] / 2e6, costs.__getitem__)
    effects = MeasuredEffects.fit(PIPELINE, trials)
    for one in drawn()[30:]:
        expected = min(math.log(2), math.log(costs[one] / 1e6))
        assert effects.expect(form_of(one), costs[one]) == pytest.approx(expected)


def test_without_results_schedules_are_in_the_order_of_their_costs() -> None:
    unpriced = trials_of(drawn()[:5], lambda one: 1.0, lambda one: None)
    for trials in ([], unpriced):
        effects = MeasuredEffects.fit(PIPELINE, trials)
        costs = (None, math.inf, 3e9, 2e9, -1.0)
        first, second, third, fourth, fifth = (
            effects.expect(form_of(drawn()[0]), cost) for cost in costs
        )
        assert first == second == fifth == math.inf
        assert third > fourth


def test_slow_schedules_do_not_say_how_slow_they_are() -> None:
    def ratio(slowest: float) -> Callable[[Schedule], float]:
        return lambda one: slowest if one == drawn()[3] else 1.0

    twice, hundred = (
        MeasuredEffects.fit(PIPELINE, trials_of(drawn()[:20], ratio(slowest)))
        for slowest in (2.0, 100.0)
    )
    slower = twice.expect(form_of(drawn()[3]), 1.0)
    assert 0.2 < slower < math.log(2)
    assert hundred.expect(form_of(drawn()[3]), 1.0) == pytest.approx(slower)


@pytest.mark.parametrize("knows_errors", [True, False])
def test_changes_avoid_what_was_slow_though_the_model_likes_it(knows_errors: bool) -> None:
    """Of the schedules that are measured and changed, some split rows twice. A model may know how
    far its prices are wrong, or give nothing but costs.
    """
    strategy = Evolving(parents=12, pool=18, size=4, surprises=0, numbers=2, likely=1)
    reuse = cost_model("reuse", SPACE.device)
    model = reuse if knows_errors else cost_model(reuse.cost, SPACE.device)

    pricer = Pricer.of(SPACE, model, Limits())

    def price(schedule: Schedule) -> float:
        return float(pricer.price_structure(Structure(schedule, {})).flat[0])

    def tiled(slow: float) -> int:
        """How many of the next changes split twice."""
        known = drawn()[:12]
        trials = trials_of(known, lambda one: slow if is_tiled(one) else 1.0, price)
        changes = strategy.changes(SPACE, model, trials, 1)
        assert len(changes) == 4
        return sum(is_tiled(one.schedule) for one in changes)

    avoided, liked = tiled(1.9), tiled(1 / 1.9)
    assert (avoided, liked) == (0, 4) if not knows_errors else avoided < liked
