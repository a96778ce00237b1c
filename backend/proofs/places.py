"""When two flat indices are the same place.

In the caller's buffers an index is a sum of coordinates times strides, which are unknown numbers.
Coordinates inside a buffer have one index each (bounds are proven apart), so there the same index
means the same factor of every stride.
"""

from __future__ import annotations

from attrs import field, frozen

from spaces.model.expr import Expr, Variable
from spaces.model.simplify import Simplifier
from spaces.model.types import Int32


@frozen
class Places:
    """Makes places of indices; ``dimensions`` of each buffer of the caller, by name."""

    dimensions: dict[str, int]
    _simplify: Simplifier = field(factory=Simplifier, eq=False)

    def of(self, buffer: str, index: Expr) -> tuple[Expr, ...]:
        """Numbers that are the same for two indices of a buffer only if these are the same place:
        the factors of its strides, or the index alone.
        """
        rest = self._simplify.polynomial(index)
        factors: list[Expr] = []
        for d in range(1, self.dimensions.get(buffer, 0)):
            parts = rest.split(Variable(Int32, f"{buffer}.stride.{d}"))
            if parts is None:
                return (index,)
            factor, rest = parts
            factors.append(self._simplify.normal(factor))
        return (self._simplify.normal(rest), *factors)
