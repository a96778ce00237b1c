"""What the ideas of random pipelines of one idea are made of."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeAlias

from attrs import frozen

from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, cast
from spaces.model.expressions.types import Float32, Float64, Int32, Type, UInt8, UInt16, UInt32

X, Y, C, B = Var("x"), Var("y"), Var("c"), Var("b")

SUMS = {UInt8: UInt16, UInt16: UInt32, Int32: Int32, Float32: Float32, Float64: Float64}
"""The types of images, and the type of a sum of values of each."""

SIZES = ((256, 192), (640, 480), (1000, 750), (1920, 1080), (3000, 2000))
"""From thumbnails to six megapixels."""

Sizes: TypeAlias = dict[Func | ImageParam | str, list[int]]


@frozen
class Made:
    """The Func that is computed, and the sizes of it and of all images."""

    output: Func
    sizes: Sizes


@frozen
class Setting:
    """What an idea is made of.

    Attributes:
        dice: further choices.
        type: of the image's values.
        width: of the image or of the output, about.
        height: likewise.
    """

    dice: random.Random
    type: Type
    width: int
    height: int

    @property
    def sums(self) -> Type:
        """The type of a sum of values."""
        return SUMS[self.type]

    def image(self, dimensions: int = 2) -> ImageParam:
        """An image of values of the type."""
        return ImageParam(self.type, dimensions, "image")

    def wide(self, value: Expr | int) -> Expr:
        """A value in the type of sums."""
        return cast(self.sums, value)

    def worked(self, value: Expr) -> Expr:
        """Something pointwise, from nothing to a polynomial."""
        type = value.type

        def number(n: int) -> Expr:
            return cast(type, n)

        match self.dice.randrange(7):
            case 0:
                return value + value * number(2)
            case 1:
                return fn.min(fn.max(value, number(3)), number(200))
            case 2:
                return fn.sqrt(value) if type.is_float else value * value + number(1)
            case 3:
                return value / number(3)
            case 4:
                for n in range(6):
                    value = value * number(3) + number(n)
                return value
            case _:
                return value


Idea: TypeAlias = Callable[[Setting], Made]
"""Makes a pipeline of a setting."""
