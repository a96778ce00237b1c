"""The cost models ``learned`` and ``hybrid``: a trained network's cost of every stage, summed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.cost.batch import Batch
from spaces.cost.learned.inputs import INPUTS_OF, StageInputs, compress, table
from spaces.cost.learned.network import Network
from spaces.cost.learned.weights import WeightsError, read_network, shipped_network
from spaces.features.features import Features
from spaces.model.formulas.symbolic import SymbolicNumber

AT_ONCE = 1 << 14
"""The network reads the stages of this many choices at once: their inputs stay in a cache."""


@frozen
class Learned:
    """Estimated cycles by a network that was trained on measured schedules [A21 5].

    Costs of one pipeline compare; those of different pipelines need not. The weights that come with
    the library were trained on one CPU, which their log names; ``spaces train`` trains others.

    Attributes:
        device: the CPU.
        network: the trained network. ``learned`` predicts coefficients of the terms of [A21]
            appendix B, ``hybrid`` corrections of the parts of the cost model ``reuse``.
    """

    device: CpuDevice
    network: Network = field(repr=False)

    @staticmethod
    def of(device: Device, kind: str = "learned", path: str | Path | None = None) -> Learned:
        """The model for one CPU.

        Args:
            device: the CPU.
            kind: ``learned`` or ``hybrid``; read from the file if ``path`` is given.
            path: a file of ``spaces train``; by default the weights that come with the library.

        Raises:
            ValueError: ``device`` is a GPU; there are no trained weights for it.
            WeightsError: the file holds no network with the features of this version.
        """
        if not isinstance(device, CpuDevice):
            raise ValueError(
                f"The cost model {kind!r} has trained weights for CPUs only, and {device.name} is "
                "a GPU; use 'occupancy'."
            )
        network = shipped_network(kind) if path is None else read_network(Path(path))
        if network.kind not in INPUTS_OF:
            raise WeightsError(
                f"{path} is for a cost model {network.kind!r}; there are {', '.join(INPUTS_OF)}."
            )
        return Learned(device, network)

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        if not batch.shape:
            return batch.full(self._costs(batch)[0])
        costs = np.concatenate([self._costs(piece) for piece in _pieces(batch)])
        return batch.full(costs.reshape(batch.shape))

    def _costs(self, batch: Batch) -> NDArray[np.float64]:
        total = np.zeros(int(np.prod(batch.shape)))
        for stage in INPUTS_OF[self.network.kind](batch.features, self.device):
            total += self._cost(stage, batch.shape)
        return total

    def parts(self, features: Features) -> dict[tuple[str, int], dict[str, SymbolicNumber]]:
        """The cost of each stage of one choice."""
        return {
            stage.place: {"stage": float(self._cost(stage, ())[0])}
            for stage in INPUTS_OF[self.network.kind](features, self.device)
        }

    def _cost(self, stage: StageInputs, shape: tuple[int, ...]) -> NDArray[np.float64]:
        self._check(stage)
        algorithm = compress(table(stage.algorithm, ()))
        schedule = compress(table(stage.schedule, shape))
        return self.network.cost(algorithm, schedule, table(stage.terms, shape))

    def _check(self, stage: StageInputs) -> None:
        """Raises WeightsError if the network was trained on other features."""
        known = (self.network.algorithm, self.network.schedule, self.network.terms)
        if (tuple(stage.algorithm), tuple(stage.schedule), tuple(stage.terms)) != known:
            raise WeightsError(
                "The weights were trained on other features than this version of the library has; "
                "train them again with 'spaces train'."
            )


def _pieces(batch: Batch) -> Iterator[Batch]:
    """The batch in pieces of at most :data:`AT_ONCE` choices, in the order of its choices."""
    axes = [axis for axis, extent in enumerate(batch.shape) if extent > 1]
    size = int(np.prod(batch.shape))
    if size <= AT_ONCE or not axes:
        yield batch
        return
    axis, extent = axes[0], batch.shape[axes[0]]
    count = min(extent, -(-size // AT_ONCE))
    for part in np.array_split(np.arange(extent), count):
        back = len(batch.shape) - axis
        yield from _pieces(batch.at({n: _cut(c, back, part) for n, c in batch.columns.items()}))


def _cut(column: NDArray[np.int64], back: int, part: NDArray[np.int64]) -> NDArray[np.int64]:
    """The values of a column at some places of the axis that is ``back`` from the last one."""
    if column.ndim < back or column.shape[-back] == 1:
        return column
    kept: NDArray[np.int64] = np.take(column, part, axis=-back)
    return kept
