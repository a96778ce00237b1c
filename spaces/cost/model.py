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
    """Anything that gives each choice of a batch a cost."""

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        """One number a choice, in the shape of the batch or one that broadcasts to it: lower is
        better; what is infinite, or nan, is of no use.
        """
        ...


CostFunction: TypeAlias = Callable[[Batch], NDArray[np.float64]]


@frozen
class FunctionModel:
    """A plain function as a cost model."""

    function: CostFunction

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        return batch.full(self.function(batch))
