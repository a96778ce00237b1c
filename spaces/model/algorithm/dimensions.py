"""What is known beforehand of the sizes and strides of images and outputs, in Halide's words.

``image.dim(2).set_bounds(0, 3)`` says that the third dimension has three elements: bounds and loops
are simplified with that, and a call with another array is refused. ``set_stride`` says how many
elements lie from one value to the next along a dimension, 1 along the first one unless said.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Const, Expr, ExprLike, as_expr
from spaces.model.expressions.types import Int32


@define(eq=False)
class Dimension:
    """One dimension of an image or output, ``size`` giving its variables ``min`` and ``extent``."""

    buffer: str
    number: int
    size: Callable[[str], Expr]
    given: dict[str, Expr] = field(init=False, factory=dict)
    stride: int | None = field(init=False, default=None)

    def min(self) -> Expr:
        """The first coordinate."""
        return self.size("min")

    def extent(self) -> Expr:
        """How many elements there are."""
        return self.size("extent")

    def max(self) -> Expr:
        """The last coordinate."""
        return self.min() + self.extent() - 1

    def set_min(self, value: ExprLike) -> Dimension:
        """The first coordinate is ``value``, an integer or made of other sizes and Params.

        Raises:
            DefinitionError: ``value`` is no int32 (as in all of this group).
        """
        self.given["min"] = self._integer(value)
        return self

    def set_extent(self, value: ExprLike) -> Dimension:
        """There are ``value`` elements."""
        extent = self._integer(value)
        if isinstance(extent, Const) and extent.value < 1:
            raise DefinitionError(
                f"Dimension {self.number} of {self.buffer} cannot have {extent} elements; "
                "give it at least 1."
            )
        self.given["extent"] = extent
        return self

    def set_bounds(self, min: ExprLike, extent: ExprLike) -> Dimension:
        """``set_min`` and ``set_extent``."""
        return self.set_min(min).set_extent(extent)

    def set_stride(self, elements: object) -> Dimension:
        """Neighbors are ``elements`` apart in memory, as in interleaved channels: 3 along ``x`` and
        1 along ``c``.

        Raises:
            DefinitionError: it is no whole number from 1 on.
        """
        if isinstance(elements, bool) or not isinstance(elements, int) or elements < 1:
            raise DefinitionError(
                f"The stride of dimension {self.number} of {self.buffer} is a whole number of "
                f"elements, at least 1, and not {elements!r}."
            )
        self.stride = elements
        return self

    def _integer(self, value: ExprLike) -> Expr:
        given = as_expr(value)
        if given.type != Int32:
            raise DefinitionError(
                f"Sizes are int32, but `{given}`, given for dimension {self.number} of "
                f"{self.buffer}, is {given.type}; cast it."
            )
        return given


@define(eq=False)
class BufferDimensions:
    """The dimensions of a buffer; ``dim(d)`` is always the same object for the same ``d``."""

    name: str
    count: Callable[[], int]
    size: Callable[[str, int], Expr]
    known: dict[int, Dimension] = field(init=False, factory=dict)

    def dim(self, number: int) -> Dimension:
        """Dimension ``number``, 0 being the innermost.

        Raises:
            DefinitionError: there is no such dimension.
        """
        count = self.count()
        if not 0 <= number < count:
            raise DefinitionError(
                f"{self.name} has dimensions 0 to {count - 1}, and {number} is none of them."
            )
        if number not in self.known:
            self.known[number] = Dimension(self.name, number, lambda part: self.size(part, number))
        return self.known[number]
