"""The protocol of cost models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from spaces.cost.batch import Batch


@runtime_checkable
class CostModel(Protocol):
    """Gives each choice of a batch a cost."""

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        """One number for each choice, in a shape that broadcasts to the shape of the batch. Lower
        is better; infinity or NaN marks a useless choice.
        """
        ...


CostFunction: TypeAlias = Callable[[Batch], NDArray[np.float64]]


@frozen
class FunctionModel:
    """A plain function as a cost model."""

    function: CostFunction

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        return batch.full(self.function(batch))
