"""Dependences between iterations of an update."""

import pytest

from spaces.constraints.dependences.hazards import ordering, racing_dimensions
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Function
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.functions import max, min, select
from spaces.model.expressions.types import Float32, Int32, UInt8

X, Y = Var("x"), Var("y")
IMAGE = ImageParam(UInt8, 2, "input")
R = RDom([(1, 4), (1, 3)], "r")


def updated(update, element=Int32) -> Function:
    """Func f(x, y) of zeros with the update that ``update(f)`` writes."""
    f = Func("f")
    f[X, Y] = cast(element, 0)
    update(f)
    return pipeline(f).function("f")


def pixel(element=Int32):
    return cast(element, IMAGE[R.x, R.y])


def histogram(f):
    f[X, cast(Int32, pixel())] += 1


def scan(f):
    f[X, R.y] = f[X, R.y - 1] + pixel()


def transposed(f):
    f[R.y, R.x] += pixel()


def assign(f):
    f[R.x, Y] = pixel() + R.y


def product(f):
    f[X, Y] *= pixel()


def difference(f):
    f[X, Y] -= pixel()


def flipped(f):
    f[X, Y] = pixel() - f[X, Y]


def least(f):
    f[X, Y] = min(pixel(f.type), f[X, Y])


def last_above(f):
    f[X, Y] = select(pixel() > 3, R.x, f[X, Y])


def squares(f):
    f[X, Y] = f[X, Y] * f[X, Y] + pixel()


def doubled(f):
    f[X, Y] = f[X, Y] + f[X, Y] * pixel()


def strided(f):
    f[R.x * 2 + 1, Y] += pixel()


def placed_by_itself(f):
    f[X, min(max(f[X, R.y], 0), 9)] += pixel()


def diagonal(f):
    f[R.x + R.y, Y] = f[R.x + R.y, Y] * 2 + pixel()


def pairs(f):
    f[R.x * 2, Y] = f[R.x * 2 + 1, Y] + 1


def far(f):
    f[R.x, R.y] = f[R.x + 4, R.y] + 1


def near(f):
    f[R.x, R.y] = f[R.x + 3, R.y] + 1


def mirrored(f):
    f[R.x, R.y] = f[9 - R.x, R.y] + 1


def meets_itself(f):
    f[R.x, R.y] = f[8 - R.x, R.y] + 1


def left_out(f):
    f[R.x, R.y] = f[select(R.x > 2, R.x - 2, 0), R.y] + 1


@pytest.mark.parametrize(
    ("update", "racing", "ordered"),
    [
        # Every iteration may touch any element of the histogram.
        (histogram, {"r.x", "r.y"}, ()),
        (scan, {"r.x", "r.y"}, ("r.y", "r.x")),
        (transposed, set(), ()),
        (assign, {"r.y"}, ("r.y",)),
        (product, {"r.x", "r.y"}, ()),
        (difference, {"r.x", "r.y"}, ()),
        (flipped, {"r.x", "r.y"}, ("r.y", "r.x")),
        (least, {"r.x", "r.y"}, ()),
        (last_above, {"r.x", "r.y"}, ("r.y", "r.x")),
        (squares, {"r.x", "r.y"}, ("r.y", "r.x")),
        (doubled, {"r.x", "r.y"}, ("r.y", "r.x")),
        (strided, {"r.y"}, ()),
        (placed_by_itself, {"r.x", "r.y"}, ("r.y", "r.x")),
        (diagonal, {"r.x", "r.y"}, ("r.y", "r.x")),
        # No iteration writes a value that another one reads.
        (pairs, {"r.y"}, ("r.y",)),
        (far, set(), ()),
        (near, {"r.x"}, ("r.x",)),
        (mirrored, set(), ()),
        (meets_itself, set(), ()),
        (left_out, {"r.x"}, ("r.x",)),
    ],
    ids=lambda case: getattr(case, "__name__", None),
)
def test_dimensions(update, racing, ordered):
    function = updated(update)
    assert racing_dimensions(function, 1) == racing
    assert ordering(function, 1).dimensions == ordered


def test_pure_stages_have_no_hazards():
    function = updated(histogram)
    assert racing_dimensions(function, 0) == frozenset()
    assert ordering(function, 0).dimensions == ()


def test_float_sums_are_ordered_and_float_maxima_are_not():
    def add(f):
        f[X, Y] += pixel(Float32)

    def greatest(f):
        f[X, Y] = max(f[X, Y], pixel(Float32))

    assert ordering(updated(add, Float32), 1).dimensions == ("r.y", "r.x")
    assert ordering(updated(greatest, Float32), 1).dimensions == ()
