"""Charts: axes with round ticks, and names that stand apart."""

import math
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from spaces.markup.charts.axis import axis_around, axis_from_zero
from spaces.markup.charts.chart import Bar, Bars, ChartLine, Dot, Dots, Look, Plane
from spaces.markup.charts.labels import LabelBox, around, place_labels
from spaces.markup.charts.layout import BarLayout, PlaneLayout
from spaces.markup.charts.rounding import round_steps
from spaces.markup.charts.svg import chart_svg
from tests.pages_html import Read

BLUE = Look("measured", "#4c82d9", "disc")
TIMES = some.lists(some.floats(1e-6, 1e6), min_size=1, max_size=30)


def test_steps_are_round():
    assert round_steps(0, 100, 6) == [0, 20, 40, 60, 80, 100]
    assert round_steps(7.3, 9.1, 6) == pytest.approx([7.5, 8, 8.5, 9])


@settings(max_examples=20, deadline=None)
@given(TIMES)
def test_values_lie_on_their_axis(values):
    axis = axis_around("ms", values, str)
    assert all(0 <= axis.place(value) <= 1 for value in values)
    assert 1 <= len(axis.ticks) <= 8
    assert all(-1e-9 <= axis.place(value) <= 1 + 1e-9 for value, _ in axis.ticks)
    assert axis.is_log == (max(values) > 4 * min(values))


def test_equal_steps_of_a_logarithmic_axis_are_equal_factors():
    axis = axis_around("ms", [1, 1000], str)
    assert axis.place(10) - axis.place(1) == pytest.approx(axis.place(1000) - axis.place(100))
    assert axis_from_zero("s", 40, str).place(0) == 0


@settings(max_examples=20, deadline=None)
@given(some.lists(some.tuples(some.floats(0, 1), some.floats(0, 1)), min_size=1, max_size=5))
def test_names_of_points_stand_apart_and_inside(places):
    area = LabelBox(0, 0, 460, 270)
    wanted = [around(f"trial {n}", x * 460, y * 270) for n, (x, y) in enumerate(places)]
    placed = place_labels(wanted, area)
    assert all(box.shared_with(area) == pytest.approx(box.area) for box in placed)
    assert all(one.shared_with(other) == 0 for one, other in combinations(placed, 2))


def test_a_plane_is_drawn_with_what_was_named():
    axis = axis_from_zero("trials", 3, str)
    dots = (Dot(1, 5, "first", "<one>"), Dot(2, 6), Dot(3, 7))
    plane = Plane("A < B", axis, axis_around("ms", [5, 7], str), (), (Dots(BLUE, dots),))
    read = Read(chart_svg(plane))
    assert {"A < B", "trials", "ms", "first", "<one>", "measured"} <= set(read.words)
    layout = PlaneLayout(plane)
    xs = [layout.at(dot.x, dot.y) for dot in dots]
    assert xs[0][0] < xs[1][0] < xs[2][0]
    assert xs[0][1] > xs[1][1] > xs[2][1]  # more is further up
    assert all(0 <= x <= layout.width and 0 <= y <= layout.height for x, y in xs)


def test_names_of_lines_stand_beside_them():
    axis = axis_from_zero("trials", 3, str)
    rule = ChartLine(Look("reference", "#7a8794", "dashes"), ((0, 6), (3, 6)), "reference 6 ms")
    layout = PlaneLayout(Plane("", axis, axis_around("ms", [5, 7], str), (rule,)))
    (label,) = layout.labels
    (_, y) = layout.at(0, 6)
    assert not label.box.y < y < label.box.y + label.box.height


def test_bars_are_as_long_as_what_they_count():
    bars = (Bar("made", 40, "40", BLUE), Bar("kept", 10, "10", BLUE, interval=(5, 20)))
    layout = BarLayout(Bars("", "", bars))
    assert layout.bar_box(0).width == pytest.approx(4 * layout.bar_box(1).width)
    assert layout.bar_box(0).y + layout.bar_box(0).height <= layout.bar_box(1).y
    assert math.isclose(layout.reach(20) - layout.reach(5), 1.5 * layout.bar_box(1).width)
