"""Values that outputs need at certain sizes, whatever the schedule, by hand."""

from __future__ import annotations

from spaces import Func, ImageParam, Int32, RDom, Var, pipeline, select
from spaces.model.nest.needed import needed_ranges


def test_iterations_of_a_long_domain_are_followed_here_and_there() -> None:
    """The first and the last one of 1024, and every fourth between them: not the one that reads
    far away.
    """
    image, total, r = ImageParam(Int32, 1, "image"), Func("total"), RDom([(0, 1024)], "r")
    total[()] = 0
    total[()] += image[select(r.x == 1, 5000, r.x)]
    assert needed_ranges(pipeline(total), {})["image"] == ((0, 1023),)


def test_all_iterations_of_a_short_domain_are_followed() -> None:
    x, image, out = Var("x"), ImageParam(Int32, 1, "image"), Func("out")
    r = RDom([(0, 16), (0, 16)], "r")
    out[x] = 0
    out[x] += image[select((r.x == 7) & (r.y == 9), -50, x + r.x)]
    found = needed_ranges(pipeline(out), {"out.min.0": 3, "out.extent.0": 10})
    assert found == {"out": ((3, 12),), "image": ((-50, 27),)}
