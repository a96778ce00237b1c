"""Steps between the levels of an image pyramid: half and twice the resolution.

The filters of Halide's apps: Burt and Adelson, "The Laplacian Pyramid as a Compact Image Code",
1983, with an even number of weights.
"""

from __future__ import annotations

from spaces import Expr, Float32, Func, cast, lerp


def halved(of: Func, name: str, x: Expr, y: Expr, *more: Expr) -> Func:
    """``of`` at half the resolution, by weights 1 3 3 1 along each axis, in two passes: ``name_x``
    along x, then ``name``.
    """
    across, result = Func(f"{name}_x"), Func(name)
    across[x, y, *more] = (
        of[2 * x - 1, y, *more]
        + 3.0 * (of[2 * x, y, *more] + of[2 * x + 1, y, *more])
        + of[2 * x + 2, y, *more]
    ) / 8.0
    result[x, y, *more] = (
        across[x, 2 * y - 1, *more]
        + 3.0 * (across[x, 2 * y, *more] + across[x, 2 * y + 1, *more])
        + across[x, 2 * y + 2, *more]
    ) / 8.0
    return result


def doubled(of: Func, name: str, x: Expr, y: Expr, *more: Expr) -> Func:
    """``of`` at twice the resolution: a quarter of the farther sample and three quarters of the
    nearer, in two passes: ``name_up_x`` along x, then ``name_up``.
    """
    across, result = Func(f"{name}_up_x"), Func(f"{name}_up")
    across[x, y, *more] = lerp(
        of[(x + 1) / 2, y, *more], of[(x - 1) / 2, y, *more], _share_of_left(x)
    )
    result[x, y, *more] = lerp(
        across[x, (y + 1) / 2, *more], across[x, (y - 1) / 2, *more], _share_of_left(y)
    )
    return result


def _share_of_left(x: Expr) -> Expr:
    """A quarter at even coordinates, which are nearer to the right sample, else three quarters."""
    return cast(Float32, x % 2 * 2 + 1) * 0.25
