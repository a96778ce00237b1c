"""The number of tile choices that the cost models score in a second."""

from __future__ import annotations

import gc
import statistics
import time
from typing import Any

import numpy as np

from spaces.apps.catalog import APPS
from spaces.constraints.devices.device import device
from spaces.cost.batch import Batch
from spaces.cost.learned.inputs import INPUTS_OF
from spaces.cost.learned.model import AT_ONCE
from spaces.cost.learned.weights import shipped_network
from spaces.cost.registry import cost_model
from spaces.model.writing.text import parse_schedule

FAMILIES = {
    "cpu": (
        "output.tile(x, y, xi, yi, tx, ty).reorder(xi, c, yi, x, y).vectorize(xi, 8).parallel(y)\n"
        "ratio.compute_at(output, yi).vectorize(x, 8)\n"
        "blur_y.compute_at(output, yi).vectorize(x, 8)\n"
        "gray.compute_at(output, x).vectorize(x, 8)"
    ),
    "sm_80": (
        "output.reorder(c, x, y).gpu_tile(x, y, xi, yi, tx, ty)\n"
        "ratio.compute_at(output, xi)\n"
        "blur_y.compute_at(output, x).gpu_threads(x, y)\n"
        "gray.compute_at(output, x).gpu_threads(x, y)"
    ),
}
"""Structures of the unsharp mask with tile sizes as parameters, by device."""

MODELS = {
    "weighted": "cpu",
    "reuse": "cpu",
    "learned": "cpu",
    "hybrid": "cpu",
    "occupancy": "sm_80",
}
CHOICES = (128, 256)
"""Tile sizes along x and y; one batch holds all pairs."""


def measure() -> dict[str, Any]:
    """The choices that one core scores in a second; of networks also the stages whose features are
    known. Set OPENBLAS_NUM_THREADS=1: the time of other threads of a matrix product is not seen.
    """
    return {
        "tile_choices_per_second": {name: _rate(name, d) for name, d in MODELS.items()},
        "network_stages_per_second": {name: _network_rate(name) for name in INPUTS_OF},
    }


def _network_rate(kind: str) -> int:
    """The stages in a second whose costs a network gives, from their features."""
    network = shipped_network(kind)
    generator = np.random.default_rng(0)
    algorithm, schedule, terms = (
        generator.uniform(0.0, 10.0, (rows, len(names)))
        for rows, names in (
            (1, network.algorithm),
            (AT_ONCE, network.schedule),
            (AT_ONCE, network.terms),
        )
    )
    rates = []
    for _ in range(15):
        start = time.thread_time()
        network.cost(algorithm, np.log1p(schedule), terms)
        rates.append(AT_ONCE / (time.thread_time() - start))
    return int(statistics.median(rates))


def _rate(name: str, where: str) -> int:
    """The choices of one structure in a second, including the construction of its loop nest."""
    pipeline = APPS["unsharp"].pipeline()
    family = parse_schedule(FAMILIES[where], pipeline)
    model = cost_model(name, device(where))
    tx, ty = np.ix_(8 * np.arange(1, CHOICES[0] + 1), np.arange(1, CHOICES[1] + 1))
    rates = []
    for _ in range(7):
        gc.collect()
        start = time.thread_time()
        costs = model.cost(Batch.of(pipeline, family, {"tx": tx, "ty": ty}))
        rates.append(costs.size / (time.thread_time() - start))
    return int(statistics.median(rates))
