"""Constraints on the sizes and strides of images and outputs, in Halide's words.

``image.dim(2).set_bounds(0, 3)`` says that the third dimension has three elements. Bounds and loops
use this fact, and a call with another array fails. ``set_stride`` gives the distance, in elements,
between neighbors along a dimension; the default is 1 along the first dimension.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import define, field

from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Const, Expr, ExprLike, as_expr
from spaces.model.expressions.types import Int32


@define(eq=False)
class Dimension:
    """One dimension of an image or output; ``size`` returns its variable ``min`` or ``extent``."""

    buffer: str
    number: int
    size: Callable[[str], Expr]
    given: dict[str, Expr] = field(init=False, factory=dict)
    stride: int | None = field(init=False, default=None)

    def min(self) -> Expr:
        """The first coordinate."""
        return self.size("min")

    def extent(self) -> Expr:
        """The number of elements."""
        return self.size("extent")

    def max(self) -> Expr:
        """The last coordinate."""
        return self.min() + self.extent() - 1

    def set_min(self, value: ExprLike) -> Dimension:
        """Sets the first coordinate to ``value``, an integer or an expression of other sizes and
        Params.

        Raises:
            DefinitionError: ``value`` is not an int32 (every setter of a size raises it).
        """
        self.given["min"] = self._integer(value)
        return self

    def set_extent(self, value: ExprLike) -> Dimension:
        """Sets the number of elements to ``value``.

        Raises:
            DefinitionError: ``value`` is not an int32, or is less than 1.
        """
        extent = self._integer(value)
        if isinstance(extent, Const) and extent.value < 1:
            raise DefinitionError(
                f"Dimension {self.number} of {self.buffer} cannot have {extent} elements; "
                "give it at least 1."
            )
        self.given["extent"] = extent
        return self

    def set_bounds(self, min: ExprLike, extent: ExprLike) -> Dimension:
        """Sets the first coordinate and the number of elements."""
        return self.set_min(min).set_extent(extent)

    def set_stride(self, elements: object) -> Dimension:
        """Sets the distance in memory between neighbors along this dimension, in elements.
        Interleaved channels, for instance, have 3 along ``x`` and 1 along ``c``.

        Raises:
            DefinitionError: ``elements`` is not a whole number of at least 1.
        """
        if isinstance(elements, bool) or not isinstance(elements, int) or elements < 1:
            raise DefinitionError(
                f"The stride of dimension {self.number} of {self.buffer} must be a whole number "
                f"of elements, at least 1; {elements!r} is not."
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
    """The dimensions of a buffer; ``dim(d)`` returns one and the same object for one ``d``."""

    name: str
    count: Callable[[], int]
    size: Callable[[str, int], Expr]
    known: dict[int, Dimension] = field(init=False, factory=dict)

    def dim(self, number: int) -> Dimension:
        """Dimension ``number``; 0 is the innermost.

        Raises:
            DefinitionError: there is no such dimension.
        """
        count = self.count()
        if not 0 <= number < count:
            raise DefinitionError(
                f"{self.name} has dimensions 0 to {count - 1}; it has no dimension {number}."
            )
        if number not in self.known:
            self.known[number] = Dimension(self.name, number, lambda part: self.size(part, number))
        return self.known[number]
