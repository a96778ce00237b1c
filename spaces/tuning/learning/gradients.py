"""The slopes of a loss by the weights of a network: the layers of :class:`Network` backwards."""

from __future__ import annotations

import numpy as np

from spaces.cost.learned.inputs import Floats
from spaces.cost.learned.network import LARGEST, Network
from spaces.tuning.learning.examples import Group
from spaces.tuning.learning.losses import Loss

Slopes = dict[str, Floats]
"""A slope for each weight, by the name of its array."""


def log_costs(network: Network, group: Group) -> Floats:
    """The logarithm of the cost of each example."""
    costs = network.cost(group.algorithm, group.schedule, group.terms)
    found: Floats = np.log(np.maximum(np.add.reduceat(costs, group.starts), 1e-9))
    return found


def loss_and_slopes(network: Network, group: Group, loss: Loss) -> tuple[float, Slopes]:
    """The loss of a group and its slope by each weight."""
    weights, scales = network.weights, network.scales
    inputs = {
        "algorithm": (group.algorithm - scales["algorithm_mean"]) / scales["algorithm_spread"],
        "schedule": (group.schedule - scales["schedule_mean"]) / scales["schedule_spread"],
    }
    embedded = [
        np.maximum(inputs[name] @ weights[name] + weights[f"{name}_offset"], 0.0)
        for name in ("algorithm", "schedule")
    ]
    inputs["trunk"] = np.concatenate(embedded, axis=1)
    inputs["head"] = np.maximum(inputs["trunk"] @ weights["trunk"] + weights["trunk_offset"], 0.0)
    raw = inputs["head"] @ weights["head"] + weights["head_offset"]
    parts = np.exp(np.clip(raw, -LARGEST, LARGEST)) * scales["prices"] * group.terms
    costs = np.maximum(np.add.reduceat(parts.sum(1), group.starts), 1e-9)
    value, slope = loss(np.log(costs), group.times)

    found: Slopes = {}
    counts = np.diff(np.append(group.starts, len(parts)))
    slope = np.repeat(slope / costs, counts)[:, None] * parts * (np.abs(raw) < LARGEST)
    for name in ("head", "trunk"):
        found[name], found[f"{name}_offset"] = inputs[name].T @ slope, slope.sum(0)
        slope = (slope @ weights[name].T) * (inputs[name] > 0)
    first = embedded[0].shape[1]
    for name, own in (("algorithm", slope[:, :first]), ("schedule", slope[:, first:])):
        found[name], found[f"{name}_offset"] = inputs[name].T @ own, own.sum(0)
    return value, found
