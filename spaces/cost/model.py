"""The protocol of cost models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from spaces.cost.batch import Batch
from spaces.cost.errors import PriceErrors
from spaces.features.features import Features
from spaces.model.formulas.symbolic import SymbolicNumber


@runtime_checkable
class CostModel(Protocol):
    """Gives each choice of a batch a cost. A model does not change while a search runs: the search
    keeps costs, and takes them again for the same structure.
    """

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        """One number for each choice, in a shape that broadcasts to the shape of the batch. Lower
        is better; infinity or NaN marks a useless choice. A batch may have numbers in place of all
        parameters: searches first price one choice of each structure.
        """
        ...


@runtime_checkable
class BoundedModel(CostModel, Protocol):
    """A cost model with a lower bound for single Funcs. So a partial schedule has a lower bound:
    the sum over the Funcs whose loops no later decision changes.
    """

    def least(self, features: Features) -> SymbolicNumber:
        """A lower bound of the cost of the Funcs in ``features``, in every schedule that has them
        with these loops and this storage: one number for each choice.

        A search adds the bound of no Func and the bounds of several Funcs of a schedule, each
        alone. The cost of the schedule must not be below this sum. The bound of a Func must not be
        negative, and must not fall if a stage has more reads and operations: ``features`` leaves
        out those that later decisions may change. Images stand for Funcs that are not decided.

        The bound of no Func is a lower bound for all schedules: 0, or minus infinity if the model
        knows none.
        """
        ...


@runtime_checkable
class AdditiveModel(CostModel, Protocol):
    """A cost model that adds up the costs of the loop nests at root. The cost of a nest depends on
    the Funcs computed in it, and on the sizes of what it reads. So a search that decides one Func
    after another prices only the nests that change; what it returns has the cost of the whole.
    """

    @property
    def adds_nests(self) -> bool:
        """Always true. Models without this property are not additive."""
        ...


@runtime_checkable
class PartedModel(CostModel, Protocol):
    """A cost model that splits its price into parts."""

    def parts(self, features: Features) -> Mapping[tuple[str, int], Mapping[str, SymbolicNumber]]:
        """The parts of the price by name, for each Func and number of its stage. Their sum is the
        price.
        """
        ...


@runtime_checkable
class UncertainModel(PartedModel, Protocol):
    """A cost model that says how far its prices may be wrong. So a search for several schedules
    chooses, after the cheapest one, those whose errors are others: it does not fill its places with
    near twins.
    """

    @property
    def errors(self) -> PriceErrors:
        """The errors of the prices. Prices are positive where they are finite."""
        ...


@runtime_checkable
class RegisterModel(CostModel, Protocol):
    """A cost model that estimates the registers of threads, and that can take the numbers of a
    compiler instead.
    """

    def with_registers(self, counted: Mapping[tuple[str, int], int]) -> CostModel:
        """The model with the registers of a thread of some kernels, each by the Func and the number
        of the stage that name it.
        """
        ...


CostFunction: TypeAlias = Callable[[Batch], NDArray[np.float64]]


@frozen
class FunctionModel:
    """A plain function as a cost model."""

    function: CostFunction

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        return batch.full(self.function(batch))
