"""The boundary condition of most apps."""

from __future__ import annotations

from spaces import Func, ImageParam, boundary


def edges_repeated(picture: ImageParam) -> Func:
    """A picture that repeats its edge pixels outside, but not its channels, the third dimension."""
    return boundary.repeat_edge(picture, [(picture.min(d), picture.extent(d)) for d in (0, 1)])
