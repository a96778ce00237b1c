"""Networks with random weights, for tests."""

from __future__ import annotations

import numpy as np
from attrs import evolve

from spaces.cost.batch import Batch
from spaces.cost.learned.network import Network
from spaces.tuning.learning.examples import Examples, MeasuredSchedule
from spaces.tuning.learning.training import Training, start_network


def measured(pipe, structure, columns, seconds=lambda number: 1.0 + number):
    """The choices of a structure with made-up times."""
    batch = Batch.of(pipe, structure, columns)
    return [
        MeasuredSchedule(pipe.name, pipe, batch.schedule_at(n), seconds(n))
        for n in range(int(np.prod(batch.shape)))
    ]


def random_network(found: Examples, seed: int = 0) -> Network:
    """A network whose last layer is random, too."""
    network = start_network(found, Training(widths=(4, 6, 5), seed=seed))
    generator = np.random.default_rng(seed)
    weights = dict(network.weights)
    for name in ("head", "head_offset", "trunk_offset", "schedule_offset", "algorithm_offset"):
        weights[name] = generator.normal(0.0, 0.3, weights[name].shape)
    return evolve(network, weights=weights)
