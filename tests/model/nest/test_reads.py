"""What a stage reads, taken together: the ends of each window are the ends of all it stands for."""

from hypothesis import given
from hypothesis import strategies as st

from spaces import Expr, Func, ImageParam, Int32, Var, pipeline
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Variable
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.reads import Window, reads

X = Variable(Int32, "x")


def windows_of(coordinates: list[Expr]) -> tuple[Window, ...]:
    """The windows of a stage that reads an image at some coordinates of ``x``."""
    image, f, x = ImageParam(Int32, 1, "image"), Func("f"), Var("x")
    total = image[coordinates[0]]
    for coordinate in coordinates[1:]:
        total = total + image[coordinate]
    f[x] = total
    (stage,) = pipeline(f).function("f").stages
    (found,) = reads(stage).windows["image"]
    return found


def test_a_stencil_is_one_window():
    (window,) = windows_of([X - 1, X, X + 2])
    assert (window.first, window.low) == (X, -1)
    assert (window.last, window.high) == (X, 2)


def test_a_stencil_inside_a_clamp_is_one_window():
    (window,) = windows_of([fn.clamp(X + k, 0, 9) for k in (1, -2, 3, 0)])
    values = [evaluate(e, {"x": 4}) for e in (window.first, window.last)]
    assert (values[0] + window.low, values[1] + window.high) == (2, 7)


def test_halves_of_neighbors_are_one_window():
    (window,) = windows_of([X / 2, (X + 1) / 2])
    values = [evaluate(e, {"x": 5}) for e in (window.first, window.last)]
    assert (values[0] + window.low, values[1] + window.high) == (2, 3)


def test_what_falls_with_the_coordinate_is_a_window_of_its_own():
    found = windows_of([9 - fn.min(X, 4), 9 - fn.min(X + 1, 4)])
    assert len(found) == 2


@st.composite
def coordinate(draw, depth=2):
    if not depth or draw(st.booleans()):
        return X * draw(st.sampled_from([-2, -1, 1, 2, 3])) + draw(st.integers(-4, 4))
    inner, number = draw(coordinate(depth - 1)), draw(st.integers(-6, 6))
    made = draw(st.sampled_from(["min", "max", "div", "add", "rest", "mirror"]))
    if made in ("min", "max"):
        return getattr(fn, made)(inner, number)
    if made == "add":
        return inner + number
    if made == "mirror":
        return number - inner
    divisor = draw(st.sampled_from([-3, -1, 1, 2, 3]))
    return inner / divisor if made == "div" else inner % divisor


@given(st.lists(coordinate(), min_size=1, max_size=5))
def test_the_ends_hold_at_every_point(coordinates):
    found = windows_of(coordinates)
    for x in range(-9, 10):
        at = {"x": x}
        read = [evaluate(c, at) for c in coordinates]
        lows = [evaluate(w.first, at) + w.low for w in found]
        highs = [evaluate(w.last, at) + w.high for w in found]
        assert min(lows) == min(read)
        assert max(highs) == max(read)
