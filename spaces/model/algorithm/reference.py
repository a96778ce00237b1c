"""Calls that hold their Func or image as an object, and the coordinates of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Call, Expr, as_expr, cast
from spaces.model.expressions.types import Int32

if TYPE_CHECKING:
    from spaces.model.algorithm.func import Func
    from spaces.model.algorithm.image_param import ImageParam


@frozen(eq=False, slots=True, repr=False)
class Reference(Call):
    """A call that holds the Func or ImageParam object it names."""

    component: int | None = field()
    source: Func | ImageParam = field()

    def with_children(self, children: tuple[Expr, ...]) -> Expr:
        return Reference(self.type, self.target, children, self.component, self.source)


def coordinates_of(coordinates: Any) -> tuple[Expr, ...]:
    """The coordinates in the brackets of a call, one or several, as expressions."""
    parts = coordinates if isinstance(coordinates, tuple) else (coordinates,)
    return tuple(as_expr(p) for p in parts)


def indices_of(name: str, args: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The coordinates ``args`` of ``name``, each integer converted to int32.

    Raises:
        DefinitionError: a coordinate is a float.
    """
    for d, arg in enumerate(args):
        if arg.type.is_float:
            raise DefinitionError(
                f"Coordinate {d} of {name}, `{arg}`, is {arg.type}; coordinates are integers."
            )
    return tuple(cast(Int32, a) for a in args)
