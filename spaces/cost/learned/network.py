"""The network of [A21] section 5.2: it predicts the coefficients of the terms of a stage's cost.

Two layers embed the features of the algorithm and those of the schedule; a third reads both
embeddings, and a fourth gives the logarithm of each coefficient relative to its price. So
coefficients are positive, and a network whose last layer is 0 gives the prices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from spaces.cost.learned.inputs import Floats

Weights: TypeAlias = Mapping[str, NDArray[np.float64]]
"""The matrices and offsets of the layers by name."""

LAYERS = ("algorithm", "schedule", "trunk", "head")
"""The layers; each has a matrix of its name and an offset ``NAME_offset``."""

LARGEST = 5.0
"""The logarithm of a coefficient over its price is between -5 and 5."""


@frozen(eq=False)
class Network:
    """A network with its weights.

    Attributes:
        kind: what it reads: ``learned`` or ``hybrid``.
        algorithm: the names of its inputs from the algorithm, in their order.
        schedule: the names of its inputs from the schedule.
        terms: the names of the terms.
        scales: the mean and the spread of each input after compression: ``algorithm_mean``,
            ``algorithm_spread``, ``schedule_mean``, ``schedule_spread``; and ``prices``, one for
            each term.
        weights: the weights of the layers.
    """

    kind: str
    algorithm: tuple[str, ...]
    schedule: tuple[str, ...]
    terms: tuple[str, ...]
    scales: Weights
    weights: Weights

    def coefficients(self, algorithm: Floats, schedule: Floats) -> Floats:
        """The coefficients of a stage: a row for each choice, a column for each term.

        Args:
            algorithm: the inputs from the algorithm, compressed: one row for all choices, or a row
                for each.
            schedule: those from the schedule, compressed; a row for each choice.
        """
        weights, embedded = self.weights, len(self.weights["algorithm_offset"])
        first = _layer(self._scale("algorithm", algorithm), weights, "algorithm")
        # The scaling of the schedule's inputs is part of its layer: that saves a pass over them.
        matrix = weights["schedule"] / self.scales["schedule_spread"][:, None]
        offset = weights["schedule_offset"] - self.scales["schedule_mean"] @ matrix
        second = schedule @ matrix
        second += offset
        np.maximum(second, 0.0, out=second)
        trunk = second @ weights["trunk"][embedded:]
        trunk += first @ weights["trunk"][:embedded] + weights["trunk_offset"]
        np.maximum(trunk, 0.0, out=trunk)
        found = trunk @ weights["head"]
        found += weights["head_offset"]
        np.clip(found, -LARGEST, LARGEST, out=found)
        np.exp(found, out=found)
        found *= self.scales["prices"]
        return found

    def cost(self, algorithm: Floats, schedule: Floats, terms: Floats) -> Floats:
        """The cost of a stage for each choice, in cycles: coefficients times terms."""
        found: Floats = np.einsum("ij,ij->i", self.coefficients(algorithm, schedule), terms)
        return found

    def _scale(self, layer: str, inputs: Floats) -> Floats:
        scaled: Floats = (inputs - self.scales[f"{layer}_mean"]) / self.scales[f"{layer}_spread"]
        return scaled


def _layer(inputs: Floats, weights: Weights, name: str) -> Floats:
    rectified: Floats = np.maximum(inputs @ weights[name] + weights[f"{name}_offset"], 0.0)
    return rectified
