"""Which changes of fast schedules are worth a run."""

from __future__ import annotations

import numpy as np
import pytest

from spaces import Batch, Measurement, RunOutcome, cost_model
from spaces.tuning.evolving import Evolving
from spaces.tuning.trial import Proposal, Trial
from tests.tuning.fakes import SPACE

INLINED = next(one for one in SPACE if one.of("blur_x").compute.is_inline)

SURPRISES = Evolving(parents=1, size=6, pool=6, surprises=6, numbers=1, likely=1, rewrites=0.0)
"""Takes all of a generation at random."""


def price(batch: Batch) -> np.ndarray:
    """Three times as much for schedules that store the producer."""
    return batch.full(1.0 if batch.schedule.of("blur_x").compute.is_inline else 3.0)


@pytest.mark.parametrize("known", [None, 2.0, 1.0])
def test_surprises_are_not_those_that_the_model_prices_at_more_than_twice(
    known: float | None,
) -> None:
    """Without a price of the fastest trial, or with one that is not so far below, they may be."""
    result = Measurement(INLINED, RunOutcome.CORRECT, "", (1.0,) * 6, (1.0,) * 6)
    trials = [Trial(0, Proposal(INLINED, "search", known), result)]
    changes = SURPRISES.changes(SPACE, cost_model(price, SPACE.device), trials, 1)
    prices = {one.predicted for one in changes}
    assert prices == ({1.0} if known == 1.0 else {1.0, 3.0})


def test_without_a_price_of_a_trial_the_cheapest_changes_come_first() -> None:
    """No result tells an error of prices then, though the model knows how large errors are."""
    result = Measurement(INLINED, RunOutcome.CORRECT, "", (1.0,) * 6, (1.0,) * 6)
    trials = [Trial(0, Proposal(INLINED, "start"), result)]
    strategy = Evolving(parents=1, size=4, pool=8, surprises=0, numbers=4, rewrites=0.0)
    changes = strategy.changes(SPACE, cost_model("reuse", SPACE.device), trials, 1)
    prices = [one.predicted or 0.0 for one in changes]
    assert len(prices) == 4
    assert prices == sorted(prices)
    assert prices[0] < prices[-1]
