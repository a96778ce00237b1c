"""Universes count each schedule once; families of schedules take numbers for names."""

import math

from spaces import Decision, Schedule, schedule
from spaces.constraints.examples import algorithms
from spaces.model.schedules.parameters import bind, parameters
from tests.constraints.solver.universes import updates

BLUR = algorithms.blur()


def family() -> Schedule:
    d = schedule(BLUR).tile("x", "y", "xi", "yi", "tx", 8).func("bx")
    return d.compute_at("by", "x").fold_storage("y", "k").vectorize("x", "tx").schedule


def test_parameters_are_named_once_in_order():
    assert parameters(family()) == ("tx", "k")
    assert parameters(Schedule.default(BLUR)) == ()


def test_binding_replaces_every_factor_of_that_name():
    d = schedule(BLUR).tile("x", "y", "xi", "yi", 4, 8).func("bx")
    expected = d.compute_at("by", "x").fold_storage("y", 3).vectorize("x", 4).schedule
    assert bind(family(), {"tx": 4, "k": 3}) == expected
    assert parameters(bind(family(), {"k": 3})) == ("tx",)
    assert bind(family(), {"other": 1}) == family()


def test_choices_leave_out_numbers_that_mean_nothing():
    universe = updates()
    choices = list(universe.choices())
    schedules = {universe.schedule(choice) for choice in choices}
    assert len(schedules) == len(choices)
    assert len(choices) < math.prod(len(d.options) for d in universe.decisions)
    # Of six orders of the update two mention the factor, which has three options.
    assert len(choices) == 2 * 4 * (4 + 2 * 3)


def test_decisions_are_numeric_or_structural():
    assert Decision("t", "by", (1, 2)).is_numeric
    assert not Decision("t", "by", ("a", "b")).is_numeric
