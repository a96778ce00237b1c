"""Boundary conditions: a Func that extends an image beyond its edges (Halide's five)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.amounts import amount
from spaces.model.expressions import functions as fn
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Expr, ExprLike, as_expr, cast
from spaces.model.expressions.types import Int32

ImageBounds = Sequence[tuple[ExprLike, ExprLike] | None]


def _ranges(
    source: ImageParam | Func, bounds: ImageBounds | None
) -> list[tuple[Expr, Expr] | None]:
    """The (min, extent) of each dimension. None leaves a dimension as it is; so does a dimension
    beyond the given ``bounds``.
    """
    dimensions = source.dimensions if isinstance(source, ImageParam) else len(source.args)
    if bounds is None:
        if not isinstance(source, ImageParam):
            raise DefinitionError(
                f"A boundary condition on Func {source.name} needs its bounds: one "
                "(min, extent) for each dimension, or None to leave a dimension as it is."
            )
        bounds = [(source.min(d), source.extent(d)) for d in range(dimensions)]
    if len(bounds) > dimensions:
        raise DefinitionError(
            f"{source.name} has {amount(dimensions, 'dimension')}, but {len(bounds)} bounds are "
            "given."
        )
    bounds = [*bounds, *[None] * (dimensions - len(bounds))]
    return [
        None if b is None else (cast(Int32, as_expr(b[0])), cast(Int32, as_expr(b[1])))
        for b in bounds
    ]


def _wrapped(
    kind: str,
    source: ImageParam | Func,
    bounds: ImageBounds | None,
    coordinate: Callable[[Expr, Expr, Expr], Expr],
) -> Func:
    ranges = _ranges(source, bounds)
    args = tuple(Var(f"_{d}") for d in range(len(ranges)))
    func = Func(kind, anonymous=True)
    func[args] = source[
        tuple(
            arg if limits is None else coordinate(arg, *limits)
            for arg, limits in zip(args, ranges, strict=True)
        )
    ]
    return func


def _nearest(arg: Expr, low: Expr, extent: Expr) -> Expr:
    return fn.clamp(arg, low, low + extent - 1)


def repeat_edge(source: ImageParam | Func, bounds: ImageBounds | None = None) -> Func:
    """A Func that repeats the nearest edge pixel outside the bounds of ``source``."""
    return _wrapped("repeat_edge", source, bounds, _nearest)


def constant_exterior(
    source: ImageParam | Func, value: ExprLike, bounds: ImageBounds | None = None
) -> Func:
    """A Func that has ``value`` outside the bounds of ``source``, converted to its type."""
    ranges = _ranges(source, bounds)
    args = tuple(Var(f"_{d}") for d in range(len(ranges)))
    inside: Expr = as_expr(
        source[
            tuple(
                a if limits is None else _nearest(a, *limits)
                for a, limits in zip(args, ranges, strict=True)
            )
        ]
    )
    outside: Expr | None = None
    for arg, limits in zip(args, ranges, strict=True):
        if limits is not None:
            beyond = (arg < limits[0]) | (arg >= limits[0] + limits[1])
            outside = beyond if outside is None else outside | beyond
    func = Func("constant_exterior", anonymous=True)
    exterior = cast(source.type, as_expr(value, source.type))
    func[args] = inside if outside is None else fn.select(outside, exterior, inside)
    return func


def repeat_image(source: ImageParam | Func, bounds: ImageBounds | None = None) -> Func:
    """A Func that repeats ``source`` outside its bounds: ``abc|abc|abc``."""

    def repeated(arg: Expr, low: Expr, extent: Expr) -> Expr:
        return fn.clamp((arg - low) % extent + low, low, low + extent - 1)

    return _wrapped("repeat_image", source, bounds, repeated)


def mirror_image(source: ImageParam | Func, bounds: ImageBounds | None = None) -> Func:
    """A Func that mirrors ``source`` outside its bounds, edge pixels included: ``cba|abc|cba``."""

    def mirrored(arg: Expr, low: Expr, extent: Expr) -> Expr:
        period = (arg - low) % (extent * 2)
        reflected = fn.select(period >= extent, extent * 2 - 1 - period, period)
        return fn.clamp(reflected + low, low, low + extent - 1)

    return _wrapped("mirror_image", source, bounds, mirrored)


def mirror_interior(source: ImageParam | Func, bounds: ImageBounds | None = None) -> Func:
    """A Func that mirrors ``source`` outside its bounds about the edge pixels: ``dcb|abcd|cba``."""

    def mirrored(arg: Expr, low: Expr, extent: Expr) -> Expr:
        limit = extent - 1
        distance = cast(Int32, fn.abs((arg - low) % (limit * 2) - limit))
        return fn.clamp(limit - distance + low, low, low + extent - 1)

    return _wrapped("mirror_interior", source, bounds, mirrored)
