"""The costs of a lattice of tile choices, by arrays or by machine code, whichever is faster."""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spaces.cost.batch import Batch
from spaces.cost.model import CostModel
from spaces.features.features import Features
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.types import Float64, Int64
from spaces.model.formulas.algebra import INTEGERS, read_all
from spaces.model.formulas.instructions import NotNativeError
from spaces.model.formulas.native import read_native
from spaces.model.formulas.recorded import DependsOnDataError, Recorded, expression_of
from spaces.model.formulas.symbolic import SymbolicNumber

MANY = 1 << 19
"""Batches of at least this many choices are priced by machine code. To compile it takes 60 to
800 ms; for that many choices, arrays take 0.2 to 0.8 s.
"""


@runtime_checkable
class FormulaModel(Protocol):
    """A cost model that is arithmetic on features: its calculation takes the same steps for all
    numbers, with ``np.where`` in place of ``if``.
    """

    def cost(self, batch: Batch) -> NDArray[np.float64]: ...

    def price(self, features: Features) -> SymbolicNumber:
        """The cost by features, as ints or arrays or as :class:`Recorded` numbers."""
        ...


def cost_formula(model: FormulaModel, batch: Batch) -> Expr:
    """The cost of a choice as a formula over the parameters of the structure of a batch.

    Raises:
        DependsOnDataError: the model does more than arithmetic.
    """

    def numbers(leaves: tuple[Expr, ...]) -> list[SymbolicNumber]:
        fixed = [leaf for leaf in leaves if leaf.names.isdisjoint(batch.columns)]
        known = dict(zip(fixed, read_all(tuple(fixed), batch.sizes, INTEGERS), strict=True))
        return [known.get(leaf, Recorded(cast(Int64, leaf))) for leaf in leaves]

    return cast(Float64, expression_of(model.price(batch.formulas.map_numbers(numbers))))


def lattice_costs(model: CostModel, batch: Batch) -> NDArray[np.float64]:
    """The costs of the choices of a batch, in its shape: by machine code where there are many and
    the model is a :class:`FormulaModel`, else by its own ``cost``.

    Raises:
        BatchError: the model does not give a number for each choice.
    """
    if math.prod(batch.shape) >= MANY and isinstance(model, FormulaModel):
        try:
            formula = cost_formula(model, batch)
            return batch.full(read_native(formula, {**batch.sizes, **batch.columns}))
        except (DependsOnDataError, NotNativeError):
            pass
    return batch.full(model.cost(batch))
