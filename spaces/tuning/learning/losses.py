"""The losses that a training minimises: how far the costs of one pipeline are from its times.

A loss takes the logarithms of costs and times of some schedules of one pipeline; it gives a
number and its slope by each cost. A common factor of all costs does not change it, for the model
ranks schedules of one pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np

from spaces.cost.learned.inputs import Floats

Loss: TypeAlias = Callable[[Floats, Floats], tuple[float, Floats]]
"""From logarithms of costs and times to the loss and its slope by each cost."""


def throughput(costs: Floats, times: Floats) -> tuple[float, Floats]:
    """The squared differences of throughputs relative to the fastest schedule ([A21] 5.3, after
    Adams et al. 2019): what slow schedules cost hardly matters.
    """
    centred = costs - costs.mean() + times.mean()
    fastest = times.min()
    # A cost far below the fastest time would count for more than all others together.
    predicted = np.minimum(np.exp(fastest - centred), 3.0)
    wrong = predicted - np.exp(fastest - times)
    slope = -2 * wrong * predicted * (predicted < 3.0) / len(times)
    return float((wrong**2).mean()), slope - slope.mean()


def logarithm(costs: Floats, times: Floats) -> tuple[float, Floats]:
    """The squared differences of logarithms, those beyond 1 by their size alone (Huber)."""
    wrong = (costs - costs.mean()) - (times - times.mean())
    small = np.clip(wrong, -1.0, 1.0)
    slope = 2 * small / len(times)
    return float((small * (2 * wrong - small)).mean()), slope - slope.mean()


def ranking(costs: Floats, times: Floats) -> tuple[float, Floats]:
    """The logistic loss of the order of each pair of schedules. A pair counts more if its times are
    farther apart (up to a factor of e), and if its faster schedule is faster.
    """
    apart = times[:, None] - times[None, :]
    speed = np.exp(times.min() - np.minimum(times[:, None], times[None, :]))
    weight = np.clip(apart, 0.0, 1.0) * (0.3 + speed)
    weight /= max(float(weight.sum()), 1e-12)
    margin = 3 * (costs[:, None] - costs[None, :])
    loss = float((weight * np.logaddexp(0.0, -margin)).sum())
    slope = -3 * weight / (1 + np.exp(np.clip(margin, -50, 50)))
    return loss, slope.sum(1) - slope.sum(0)


LOSSES: Mapping[str, Loss] = {"throughput": throughput, "logarithm": logarithm, "ranking": ranking}
"""The losses by name."""
