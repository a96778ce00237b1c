"""Statements that hold for any number in place of a formula of sizes hold for the formula, too."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spaces import Expr, Int32, Obligation, Proven, Refuted
from spaces.constraints.obligations.decide import Decider, decide
from spaces.constraints.obligations.generalize import PREFIX, Generalizer
from spaces.constraints.reasoning.formulas import all_of, any_of, at_most, equal, less
from spaces.constraints.reasoning.intervals import Intervals
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Variable
from tests.constraints.proofs.test_decide import RANGES, A, B, C, conditions, holds, number
from tests.draw_counts import examples


def about(hypotheses: tuple[Expr, ...], goal: Expr, *sizes: str) -> Obligation:
    """An obligation in which a call fixes ``sizes``, and all other variables vary."""
    return Obligation("bounds", "f", 0, "A test.", hypotheses, goal, "f", sizes=sizes)


@settings(max_examples=examples(80))
@given(st.lists(conditions, max_size=2), conditions, st.sampled_from(["a", "ab", "abc"]))
def test_what_is_shown_of_any_number_holds_of_the_formula(
    extra: list[Expr], goal: Expr, sizes: str
) -> None:
    asked = about((*RANGES, *extra), goal, *sizes)
    general = Generalizer()(asked)
    if Intervals(general.hypotheses).prove(general.goal):
        assert holds(asked.hypotheses, goal)


def test_the_same_formula_of_sizes_is_one_variable_in_all_obligations() -> None:
    generalized = Generalizer()
    rounded = (A + 7) / 8
    first = generalized(about((), at_most(C, rounded * 8), "a"))
    second = generalized(about((at_most(C, rounded),), less(C, B), "a"))
    (named,) = {n for n in first.goal.names if n.startswith(PREFIX)}
    assert named in {n for h in second.hypotheses for n in h.names}
    (other,) = generalized(about((), at_most(C, A / 8), "a")).goal.names - {"c"}
    assert other != named


def test_a_formula_of_sizes_keeps_the_numbers_between_which_it_lies() -> None:
    rest = A % 4
    shown = about((at_most(number(3), C),), all_of((at_most(rest, C), at_most(-C, rest))), "a")
    general = Generalizer()(shown)
    assert Intervals(general.hypotheses).prove(general.goal)
    close = about((at_most(number(2), C),), at_most(rest, C), "a")
    assert not Intervals(Generalizer()(close).hypotheses).prove(Generalizer()(close).goal)


def test_what_is_false_of_some_number_is_asked_of_the_formula_itself() -> None:
    size, loop = Variable(Int32, "out.extent.0"), Variable(Int32, "x")
    last = fn.max(size - 8, 0)
    known = (at_most(number(8), size), less(loop, number(8)))
    inside = about(known, less(loop + last, size), "out.extent.0")
    assert isinstance(decide(inside), Proven)
    assert isinstance(decide(about(known[1:], inside.goal, "out.extent.0")), Refuted)


def test_the_same_goal_is_asked_again_where_other_things_are_known() -> None:
    decider = Decider()
    goal = less(C + A % 4, B)
    for gap, holds_there in ((4, True), (3, False), (4, True)):
        above = any_of((at_most(C + gap, B), at_most(C + 9, B)))  # intervals ignore this
        outcome = decider.decide(about((above,), goal, "a"))
        assert isinstance(outcome, Proven) == holds_there


def test_an_obligation_without_formulas_of_sizes_is_left_as_it_is() -> None:
    asked = about(RANGES, equal(A + B * 2, C), "a", "b")
    assert Generalizer()(asked) is asked
