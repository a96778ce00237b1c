"""The loop program: passes make it from a loop nest, and both printers print it."""

from __future__ import annotations

from attrs import field, frozen

from spaces.backend.ir.statements import Statement
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Type


@frozen
class BufferParameter:
    """An image or output that the caller passes: a pointer to its first element, and min, extent
    and stride (in elements) of each dimension, innermost first.

    Attributes:
        steps: the strides that are known, and None for those that the caller chooses.
        least_extent: the smallest extent of a dimension.
        likely_steps: the known strides, and those that most callers choose.
    """

    name: str
    type: Type
    dimensions: int
    is_output: bool
    steps: tuple[int | None, ...] = field()

    @steps.default
    def _dense(self) -> tuple[int | None, ...]:
        return (1, *(None,) * (self.dimensions - 1))[: self.dimensions]

    least_extent: int = 1
    likely_steps: tuple[int | None, ...] = field()

    @likely_steps.default
    def _known(self) -> tuple[int | None, ...]:
        return self.steps


@frozen
class ScalarParameter:
    """A scalar that the caller passes."""

    name: str
    type: Type


@frozen
class SizeCheck:
    """A condition on sizes; where it does not hold, the caller gets an error."""

    condition: Expr
    message: str


@frozen
class LoopProgram:
    """A whole program.

    It runs only in calls for which the ``assumptions`` hold. Its free variables are ``B.min.D``,
    ``B.extent.D``, ``B.stride.D`` of its buffers and the names of its scalars. Where it is
    ``hinted``, its values have operators that name the usual side of a test.
    """

    name: str
    buffers: tuple[BufferParameter, ...]
    scalars: tuple[ScalarParameter, ...]
    size_checks: tuple[SizeCheck, ...]
    body: Statement
    assumptions: tuple[Expr, ...] = ()
    hinted: bool = False
