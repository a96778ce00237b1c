"""ImageParam: an input image."""

from __future__ import annotations

from typing import Any

from attrs import define, field, frozen

from spaces.model.algorithm.dimensions import BufferDimensions, Dimension
from spaces.model.algorithm.reference import Reference, coordinates_of, indices_of
from spaces.model.algorithm.var import check_name
from spaces.model.amounts import amount
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Expr, Variable
from spaces.model.expressions.numbers import shown_number
from spaces.model.expressions.types import Int32, Type, type_of

MOST_DIMENSIONS = 64
"""The most dimensions of a NumPy array."""


@frozen(eq=False, slots=True, repr=False)
class SizeVariable(Variable):
    """The first coordinate or the extent of a dimension of an :class:`ImageParam`."""

    source: ImageParam = field()


@define(eq=False, repr=False)
class ImageParam:
    """An input image of a given element type and number of dimensions.

    ``image[x, y]`` or ``image(x, y)`` is a pixel, with the innermost coordinate first; in a NumPy
    array this is ``a[y, x]``. ``dim(0)`` sets bounds and strides that every call must have.
    ``width()``, ``height()``, ``channels()``, ``min(d)`` and ``extent(d)`` are sizes for use in
    expressions.

    Args:
        type: the element type, ``UInt8`` for instance, or a NumPy dtype.
        dimensions: the number of dimensions.
        name: its name in messages, schedules and calls.

    Raises:
        DefinitionError: ``dimensions`` is not a number of dimensions, or ``name`` is not a name.
        TypeError: ``type`` is not an element type.
    """

    type: Type = field(converter=type_of)
    dimensions: int = field()
    name: str = field()
    buffer: BufferDimensions = field(init=False)

    @name.validator
    def _is_name(self, _: Any, name: str) -> None:
        check_name("ImageParam", name)

    @dimensions.validator
    def _is_count(self, _: Any, dimensions: Any) -> None:
        is_count = isinstance(dimensions, int) and not isinstance(dimensions, bool)
        if not is_count or not 0 <= dimensions <= MOST_DIMENSIONS:
            raise DefinitionError(
                f"ImageParam takes an element type, a number of dimensions and a name, as in "
                f"ImageParam(UInt8, 2, 'input'); {shown_number(dimensions)} is not a number of "
                f"dimensions from 0 to {MOST_DIMENSIONS}."
            )

    def __getitem__(self, coordinates: Any) -> Expr:
        """The pixel at integer ``coordinates``, one for each dimension, innermost first."""
        args = coordinates_of(coordinates)
        if len(args) != self.dimensions:
            raise DefinitionError(
                f"Image {self.name} has {amount(self.dimensions, 'dimension')}, but here it has "
                f"{len(args)} coordinates."
            )
        return Reference(self.type, self.name, indices_of(self.name, args), None, self)

    def __repr__(self) -> str:
        return f"<ImageParam {self.name}: {self.type}, {amount(self.dimensions, 'dimension')}>"

    def __call__(self, *coordinates: Any) -> Expr:
        return self[coordinates]

    def dim(self, dimension: int) -> Dimension:
        """A dimension, to set its bounds and its stride.

        Raises:
            DefinitionError: there is no such dimension.
        """
        return self.buffer.dim(dimension)

    @buffer.default
    def _buffer(self) -> BufferDimensions:
        return BufferDimensions(self.name, lambda: self.dimensions, self._size)

    def _size(self, part: str, dimension: int) -> Expr:
        return SizeVariable(Int32, f"{self.name}.{part}.{dimension}", self)

    def min(self, dimension: int) -> Expr:
        """The first coordinate of a dimension."""
        return self._size("min", dimension)

    def extent(self, dimension: int) -> Expr:
        """The number of elements along a dimension."""
        return self._size("extent", dimension)

    def width(self) -> Expr:
        """The extent of dimension 0."""
        return self.extent(0)

    def height(self) -> Expr:
        """The extent of dimension 1."""
        return self.extent(1)

    def channels(self) -> Expr:
        """The extent of dimension 2."""
        return self.extent(2)
