"""Logs of trials: what they answer is what a look through all trials would."""

from __future__ import annotations

import random

from spaces.cost.measurer import Measurement, RunOutcome
from spaces.model.writing.text import parse_schedule
from spaces.tuning.identity import schedule_digest
from spaces.tuning.trial import Proposal, Trial, fastest
from spaces.tuning.trial_log import TrialLog, tried_digests
from tests.enumerate.pipelines import blur

PIPE = blur()
SCHEDULES = [parse_schedule(f"blur_y.split(y, y, yi, {2 + factor})", PIPE) for factor in range(30)]


def result(trial: Trial, chosen: random.Random) -> Measurement:
    if chosen.random() < 0.2:
        return Measurement(trial.schedule, RunOutcome.CRASHED, "It ended with SIGSEGV.")
    times = tuple(chosen.choice((1.0, 1.5, 2.0)) for _ in range(6))
    return Measurement(trial.schedule, RunOutcome.CORRECT, "", times, (1.0,) * 6)


def test_answers_follow_each_result() -> None:
    """Results come in any order, and may be replaced. Number 4 is missing, as after damage."""
    chosen = random.Random(1)
    trials = [
        Trial(number, Proposal(one, "test")) for number, one in enumerate(SCHEDULES) if number != 4
    ]
    log = TrialLog.of(PIPE, trials[:10], ["damaged"])
    log.add(trials[10:])
    known = {one.number: one for one in trials}
    order = [one.number for one in trials] * 2
    chosen.shuffle(order)
    for number in order:
        found = result(known[number], chosen)
        known[number] = log.tell(number, found)
        assert log.of_number(number).result == found
        told = [one for one in known.values() if one.result is not None]
        assert log.told == len(told)
        assert [one.number for one in log.ranked] == [one.number for one in fastest(list(log))]
        assert list(log.ranked[:3]) == list(fastest(told)[:3])
        assert log.best == next(iter(fastest(told)), None)
        waiting = [one for one in known.values() if one.result is None]
        assert list(log.open()) == waiting
        beyond = log.open_beyond({one.number for one in waiting[:2]}, 3)
        assert list(beyond) == waiting[2:5]
    assert list(log) == list(known.values())
    assert log[-1] == known[29]
    assert log[2:5] == tuple(list(known.values())[2:5])


def test_a_log_knows_what_was_tried_also_where_a_row_is_damaged() -> None:
    first = [Trial(number, Proposal(one, "test")) for number, one in enumerate(SCHEDULES[:3])]
    digests = {schedule_digest(PIPE, one) for one in SCHEDULES[:3]}
    log = TrialLog.of(PIPE, [], ["damaged"])
    log.add(first)
    assert tried_digests(PIPE, log) == {"damaged", *digests}
    assert tried_digests(PIPE, first) == digests
