"""How well a network ranks schedules of subjects that it was not trained on."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import numpy as np
from attrs import frozen

from spaces.cost.learned.inputs import Floats
from spaces.tuning.calibration import spearman
from spaces.tuning.learning.examples import Examples, Group, TrainingExample, by_subject
from spaces.tuning.learning.gradients import log_costs
from spaces.tuning.learning.training import Training, train

FEWEST = 8
"""Subjects with fewer schedules tell little of a ranking."""


@frozen
class HeldOut:
    """How well costs rank the schedules of one subject.

    Attributes:
        subject: the subject, which the training did not see.
        schedules: how many schedules it has.
        rank_correlation: Spearman's, of costs and times.
        regret: the time of the fastest among the five with the lowest costs, over the time of the
            fastest of all, minus 1.
        analytic_rank_correlation: that of the costs of ``reuse``.
        analytic_regret: likewise.
    """

    subject: str
    schedules: int
    rank_correlation: float
    regret: float
    analytic_rank_correlation: float
    analytic_regret: float


def leave_one_out(
    found: Examples,
    options: Training,
    judged: Sequence[str],
    progress: Callable[[str], None] = lambda subject: None,
) -> list[HeldOut]:
    """For each subject to judge, trains on all others and ranks its schedules.

    Args:
        found: the examples.
        options: how to train.
        judged: the subjects to judge by.
        progress: called with each subject before its training.
    """
    members = by_subject(found)
    results = []
    for name in judged:
        progress(name)
        others = found.without(name)
        network = train(others, options).network
        results.append(judge(name, members[name], log_costs(network, Group.of(members[name]))))
    return results


def judge(subject: str, members: Sequence[TrainingExample], costs: Floats) -> HeldOut:
    """Judges costs of the schedules of one subject."""
    times = [one.seconds for one in members]
    analytic = np.array([one.analytic for one in members])
    return HeldOut(
        subject,
        len(members),
        spearman(list(costs), times),
        regret(costs, times),
        spearman(list(analytic), times),
        regret(analytic, times),
    )


def regret(costs: Floats, times: Sequence[float], top: int = 5) -> float:
    """How much slower the fastest of the ``top`` schedules by cost is than the fastest of all."""
    chosen = np.argsort(costs, kind="stable")[:top]
    return float(min(times[place] for place in chosen) / min(times)) - 1


def medians(results: Sequence[HeldOut]) -> dict[str, float]:
    """The median of each figure over the subjects."""
    return {
        name: statistics.median(getattr(one, name) for one in results)
        for name in ("rank_correlation", "regret", "analytic_rank_correlation", "analytic_regret")
    }
