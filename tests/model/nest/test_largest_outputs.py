"""The largest outputs that images of known sizes allow."""

from __future__ import annotations

import numpy as np
import pytest

from spaces import Func, ImageParam, Int32, Param, Pipeline, Var, clamp, evaluate, pipeline
from spaces.backend.arguments import ArgumentError
from spaces.model.nest.largest_outputs import largest_outputs

X, Y = Var("x"), Var("y")


def stencil() -> Pipeline:
    image, g, f = ImageParam(Int32, 2, "im"), Func("g"), Func("f")
    g[X, Y] = image[X - 1, Y] + image[X + 2, Y + 1]
    f[X, Y] = g[X, Y] + g[X, 2 * Y]
    return pipeline(f, estimates={image: [20, (-3, 17)]})


def shifted() -> Pipeline:
    """Two outputs; a parameter moves one of them, and the other mixes two dimensions."""
    image, p, f, g = ImageParam(Int32, 1, "im"), Param(Int32, "p", default=30), Func("f"), Func("g")
    f[X] = image[X + p]
    g[X, Y] = image[X + 3 * Y]
    return pipeline([f, g], estimates={image: [40]})


@pytest.mark.parametrize(
    ("build", "wanted"),
    [
        (stencil, {"f": ((1, 17), (-1, 8))}),
        (shifted, {"f": ((-30, 40),), "g": ((0, 40), (0, 1))}),
    ],
)
def test_outputs_grow_up_to_the_ends_of_images(build, wanted) -> None:
    made = build()
    assert largest_outputs(made) == wanted
    images = {
        i.name: np.arange(np.prod(e), dtype="i4").reshape(e[::-1])
        for i in made.images
        for e in [[n for _, n in made.estimate(i.name)]]
    }
    sizes = {e.buffer: e.ranges for e in made.estimates}
    params = made.scalar_defaults()
    evaluate(made, images, params, {**sizes, **wanted})
    for name, ranges in wanted.items():
        for d, (low, extent) in enumerate(ranges):
            for larger in ((low, extent + 1), (low - 1, extent + 1)):
                tried = {**wanted, name: (*ranges[:d], larger, *ranges[d + 1 :])}
                with pytest.raises(ArgumentError, match="im"):
                    evaluate(made, images, params, {**sizes, **tried})


def test_what_images_do_not_limit_is_not_proposed() -> None:
    image, p, f = ImageParam(Int32, 1, "im"), Param(Int32, "p"), Func("f")
    f[X, Y] = image[X] + Y  # y has no end
    assert largest_outputs(pipeline(f, estimates={image: [9]})) == {}
    f = Func("f")
    f[X] = image[clamp(X, 0, 8)]
    assert largest_outputs(pipeline(f, estimates={image: [9]})) == {}
    f = Func("f")
    f[X] = image[X + p]
    assert largest_outputs(pipeline(f, estimates={image: [9]})) == {}
    f = Func("f")
    f[X] = image[X]
    assert largest_outputs(pipeline(f)) == {}
    assert largest_outputs(pipeline(f, estimates={image: [9], f: [3]})) == {}
    assert largest_outputs(pipeline(f, estimates={image: [9]})) == {"f": ((0, 9),)}
