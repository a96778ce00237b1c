"""Which trial is the fastest."""

from __future__ import annotations

import math

from spaces import Measurement, Proposal, RunOutcome, Schedule, Trial
from spaces.tuning.trial import fastest

NOTHING = Schedule(())


def timed(number: int, *ratios: float) -> Trial:
    result = Measurement(NOTHING, RunOutcome.CORRECT, "", ratios, (1.0,) * len(ratios))
    return Trial(number, Proposal(NOTHING, "test"), result)


def test_few_lucky_runs_do_not_win() -> None:
    lucky = timed(0, 0.2, 0.9)
    steady = timed(1, *[0.5] * 15)
    slow = timed(2, *[0.6] * 15)
    crashed = Trial(3, Proposal(NOTHING, "test"), Measurement(NOTHING, RunOutcome.CRASHED))
    waiting = Trial(4, Proposal(NOTHING, "test"))
    assert fastest([lucky, slow, crashed, waiting, steady]) == [steady, slow, lucky]
    assert crashed.ratio == waiting.ratio == math.inf


def test_of_equal_trials_the_first_counts() -> None:
    first, second = timed(0, 0.5, 0.5), timed(1, 0.5, 0.5)
    assert fastest([second, first]) == [first, second]
