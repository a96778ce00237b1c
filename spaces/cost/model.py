"""The protocol of cost models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from spaces.cost.batch import Batch
from spaces.cost.features.features import Features
from spaces.model.formulas.symbolic import SymbolicNumber


@runtime_checkable
class CostModel(Protocol):
    """Gives each choice of a batch a cost."""

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        """One number for each choice, in a shape that broadcasts to the shape of the batch. Lower
        is better; infinity or NaN marks a useless choice. A batch may have numbers in place of all
        parameters: searches first price one choice of each structure.
        """
        ...


@runtime_checkable
class BoundedModel(CostModel, Protocol):
    """A cost model that says what single Funcs cost at least. So a half-decided schedule has a
    lower bound: the sum over the Funcs whose loops no later decision changes.
    """

    def least(self, features: Features) -> SymbolicNumber:
        """What the Funcs in ``features`` cost at least in every schedule that has them with these
        loops and this storage: one number for each choice.

        Take the least cost of no Func, and add the least costs of any different Funcs of a
        schedule, each alone: the cost of the schedule must not be below this sum. The least cost of
        a Func must not be negative, and must not fall if a stage has more reads and operations:
        those that later decisions may change are left out of ``features``. Images stand for Funcs
        that are open.

        The least cost of no Func is a limit of every schedule's cost: 0, or minus infinity if the
        model knows no limit.
        """
        ...


@runtime_checkable
class AdditiveModel(CostModel, Protocol):
    """A cost model whose cost of a schedule is the sum of the costs of its loop nests at root: what
    one nest costs depends on the Funcs computed in it, and on what it reads only by its size. So a
    search that decides Func after Func prices the nests that it changes; what it returns has the
    cost of the whole.
    """

    @property
    def adds_nests(self) -> bool:
        """Always true: it tells these models from others."""
        ...


@runtime_checkable
class PartedModel(CostModel, Protocol):
    """A cost model that tells what costs how much."""

    def parts(self, features: Features) -> Mapping[tuple[str, int], Mapping[str, SymbolicNumber]]:
        """For each Func and number of its stage the parts of its cost, each with a name. The sum of
        all parts is the price.
        """
        ...


@runtime_checkable
class RegisterModel(CostModel, Protocol):
    """A cost model that estimates the registers of threads, and can be told what a compiler counts
    instead.
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
