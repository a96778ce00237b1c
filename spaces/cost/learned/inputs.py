"""The inputs of a network for a structure: the features and the terms of each stage, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import CpuDevice
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.cpu.term import PARTS
from spaces.cost.learned.algorithm_features import algorithm_features
from spaces.cost.learned.schedule_features import Numbers, schedule_features
from spaces.cost.learned.terms import PRICES, terms
from spaces.features.features import Features
from spaces.model.formulas.symbolic import SymbolicNumber, as_array

Floats: TypeAlias = NDArray[np.float64]


@frozen(eq=False)
class StageInputs:
    """One stage of a structure.

    Attributes:
        place: its Func, and its number there.
        algorithm: its features of the algorithm.
        schedule: its features of the schedule, each a number or an array over the choices.
        terms: the terms of its cost, likewise.
    """

    place: tuple[str, int]
    algorithm: Mapping[str, int]
    schedule: Numbers
    terms: Mapping[str, SymbolicNumber]


StageReader: TypeAlias = Callable[[Features, CpuDevice], Iterator[StageInputs]]
"""Reads the stages of a structure."""


def learned_inputs(features: Features, device: CpuDevice) -> Iterator[StageInputs]:
    """The features of [A21] appendix A, and the terms of appendix B."""
    for view, numbers in schedule_features(features, device):
        place = view.stage.func, view.stage.index
        yield StageInputs(place, algorithm_features(features, view.stage), numbers, terms(numbers))


def hybrid_inputs(features: Features, device: CpuDevice) -> Iterator[StageInputs]:
    """The same features and the parts of ``reuse``; the terms are these parts."""
    of_stages = Reuse(device).parts(features)
    for view, numbers in schedule_features(features, device):
        place = view.stage.func, view.stage.index
        own = of_stages[place]
        yield StageInputs(
            place,
            algorithm_features(features, view.stage),
            {**numbers, **{f"reuse_{part}": cycles for part, cycles in own.items()}},
            own,
        )


PRICES_OF: Mapping[str, Mapping[str, float]] = {
    "learned": PRICES,
    "hybrid": dict.fromkeys(PARTS, 1.0),
}
"""The terms of each kind of network, with the coefficients that an untrained one gives them."""

INPUTS_OF: Mapping[str, StageReader] = {"learned": learned_inputs, "hybrid": hybrid_inputs}
"""The reader of each kind of network."""


def table(numbers: Mapping[str, SymbolicNumber], shape: tuple[int, ...]) -> Floats:
    """Numbers as a table: a row for each choice of ``shape``, a column for each name."""
    columns = np.empty((*shape, len(numbers)))
    for place, number in enumerate(numbers.values()):
        columns[..., place] = as_array(number)
    return columns.reshape(-1, len(numbers))


def compress(numbers: Floats) -> Floats:
    """The logarithm of one more than each number, in place."""
    np.maximum(numbers, 0.0, out=numbers)
    return np.log1p(numbers, out=numbers)
