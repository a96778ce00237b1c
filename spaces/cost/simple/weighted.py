"""The weighted sum of execution features of [TOY]."""

from __future__ import annotations

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from spaces.cost.batch import Batch
from spaces.features.features import Features
from spaces.features.records import FuncFeatures, StageFeatures, total
from spaces.model.formulas.symbolic import SymbolicNumber


@frozen
class Groups:
    """The five groups of execution features of [TOY]; bytes, and counts over the whole run."""

    mem: SymbolicNumber
    loads: SymbolicNumber
    stores: SymbolicNumber
    arith: SymbolicNumber
    math: SymbolicNumber


def groups(features: Features) -> Groups:
    """The five groups of a schedule, as formulas or as arrays.

    "Intermediate results" are the values of Funcs that are neither inlined nor outputs: ``mem``
    is the bytes of one allocation of each, ``loads`` and ``stores`` count their values.
    """
    stages = features.stages
    stored = [func for func in features.funcs if not func.is_output]
    return Groups(
        mem=total(func.allocation_bytes for func in stored),
        loads=total(features.loads_of_funcs(stage) for stage in stages),
        stores=total(func.stores for func in stored),
        arith=total(stage.points * stage.work.operations.arithmetic for stage in stages),
        math=total(stage.points * stage.work.operations.math for stage in stages),
    )


@frozen
class Weighted:
    """Cost as a weighted sum; the defaults are the published weights ([TOY], Evaluation).

    The sum ignores loop order, locality and parallelism.
    """

    mem: float = 0.1
    loads: float = 0.5
    stores: float = 0.5
    arith: float = 1.0
    math: float = 10.0

    def cost(self, batch: Batch) -> NDArray[np.float64]:
        return batch.full(self.price(batch.features))

    def price(self, features: Features) -> SymbolicNumber:
        found = groups(features)
        return (
            self.mem * found.mem
            + self.loads * found.loads
            + self.stores * found.stores
            + self.arith * found.arith
            + self.math * found.math
        )

    def parts(self, features: Features) -> dict[tuple[str, int], dict[str, SymbolicNumber]]:
        """The five groups of each stage; memory and stores count for the first stage of a Func."""
        return {
            (stage.func, stage.index): self._parts(features, func, stage)
            for func in features.funcs
            for stage in func.stages
        }

    def _parts(
        self, features: Features, func: FuncFeatures, stage: StageFeatures
    ) -> dict[str, SymbolicNumber]:
        found: dict[str, SymbolicNumber] = {
            "loads": self.loads * features.loads_of_funcs(stage),
            "arith": self.arith * stage.points * stage.work.operations.arithmetic,
            "math": self.math * stage.points * stage.work.operations.math,
        }
        if stage.index == 0 and not func.is_output:
            found["mem"] = self.mem * func.allocation_bytes
            found["stores"] = self.stores * func.stores
        return found

    def least(self, features: Features) -> SymbolicNumber:
        """The price of these Funcs: each group is a sum over stages, of their own reads and
        operations. Minus infinity if a weight is negative.
        """
        return self.price(features) if min(attrs.astuple(self)) >= 0 else -np.inf
