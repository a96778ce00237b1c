"""Decided formulas: the answers of intervals and the solver, compared with all small values."""

from __future__ import annotations

from itertools import product

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spaces import Expr, Int32, Obligation, Proven, Refuted, Unknown
from spaces.constraints.obligations.decide import decide
from spaces.constraints.reasoning.formulas import (
    all_of,
    any_of,
    at_most,
    different,
    equal,
    less,
    negation,
    precedes,
    within,
)
from spaces.constraints.reasoning.intervals import Intervals
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Variable, constant
from spaces.model.formulas.algebra import evaluate
from tests.draw_counts import examples

NAMES = ("a", "b", "c")
A, B, C = (Variable(Int32, n) for n in NAMES)
LOW, HIGH = -3, 3


def number(value: int) -> Expr:
    return constant(value, Int32)


RANGES = tuple(c for v in (A, B, C) for c in within(v, number(LOW), number(HIGH)))


def obligation(hypotheses: tuple[Expr, ...], goal: Expr) -> Obligation:
    return Obligation(
        "bounds", "f", 0, "A test.", hypotheses, goal, "f", (A, B), sizes=("a",), iteration=("b",)
    )


terms = st.recursive(
    st.sampled_from([A, B, C]) | st.integers(-5, 5).map(number),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(fn.min, inner, inner),
        st.builds(fn.max, inner, inner),
        st.builds(lambda a, k: a * k, inner, st.integers(-3, 3)),
        st.builds(lambda a, k: a / k, inner, st.integers(1, 4)),
        st.builds(lambda a, k: a % k, inner, st.integers(1, 4)),
        st.builds(lambda a, b, c, d: fn.select(less(a, b), c, d), inner, inner, inner, inner),
    ),
    max_leaves=5,
)
comparisons = st.builds(
    lambda make, a, b: make(a, b), st.sampled_from([at_most, less, equal, different]), terms, terms
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds(lambda a, b: all_of((a, b)), inner, inner),
        st.builds(lambda a, b: any_of((a, b)), inner, inner),
        st.builds(negation, inner),
    ),
    max_leaves=3,
)


def holds(hypotheses: tuple[Expr, ...], goal: Expr) -> bool:
    """Whether a formula holds for all values, tried one by one."""
    for values in product(range(LOW, HIGH + 1), repeat=3):
        env = dict(zip(NAMES, values, strict=True))
        if all(evaluate(h, env) for h in hypotheses) and not evaluate(goal, env):
            return False
    return True


@settings(max_examples=examples(80))
@given(st.lists(conditions, max_size=2), conditions)
def test_what_intervals_show_holds(extra: list[Expr], goal: Expr) -> None:
    hypotheses = (*RANGES, *extra)
    if Intervals(hypotheses).prove(goal):
        assert holds(hypotheses, goal)


@settings(max_examples=examples(40))
@given(st.lists(conditions, max_size=2), conditions)
def test_decisions_are_those_of_trying_everything(extra: list[Expr], goal: Expr) -> None:
    hypotheses = (*RANGES, *extra)
    outcome = decide(obligation(hypotheses, goal))
    assume(not isinstance(outcome, Unknown))
    assert isinstance(outcome, Proven) == holds(hypotheses, goal)


def test_intervals_ask_for_both_cases_of_a_selection() -> None:
    known = Intervals(RANGES)
    assert known.prove(at_most(number(0), fn.select(less(A, B), A + 3, 0) + fn.max(A, -A) - A))
    assert not known.prove(at_most(number(0), fn.select(less(A, B), 1, -1)))


def test_intervals_compare_quotients_by_what_is_divided() -> None:
    known = Intervals((at_most(B - 4, A),))
    assert known.prove(at_most(B / 4 - 1, A / 4))
    assert not known.prove(at_most(B / 4, A / 4))


def test_congruent_numbers_that_are_near_are_equal() -> None:
    near = (*RANGES, equal(A % 7, B % 7))
    assert Intervals(near).prove(equal(A, B))
    far = (*RANGES, equal(A % 6, B % 6))
    outcome = decide(obligation(far, equal(A, B)))
    assert isinstance(outcome, Refuted)
    assert sorted([*outcome.counterexample.coordinate]) == [-3, 3]


def test_what_begins_at_an_unknown_place_is_counted_from_there() -> None:
    first = Variable(Int32, "out.min.0")
    known = Intervals((at_most(first, A), at_most(A, first + 9)))
    assert known.prove(all_of(within((A - first) / 4, number(0), number(2))))
    assert not known.prove(at_most((A - first) / 4, number(1)))


def test_what_is_known_is_read_once_however_often_it_is_shared() -> None:
    shared: Expr = C
    for step in range(60):
        shared = fn.max(shared / 2, shared % 5 + step)
    known = Intervals((at_most(A, shared), at_most(shared, B)))
    assert known.prove(at_most(A, shared))
    assert not known.prove(at_most(B, shared))


def test_counterexamples_are_small_and_sorted_by_what_they_are() -> None:
    size, loop, other = (Variable(Int32, n) for n in ("out.extent.0", "x", "x~"))
    asked = Obligation(
        kind="race",
        func="out",
        stage=0,
        statement="A test.",
        hypotheses=(less(number(2), size), less(loop, other), at_most(number(0), loop)),
        goal=less(size, other),
        buffer="out",
        coordinate=(loop + 1,),
        sizes=("out.extent.0",),
        iteration=("x",),
        other=(("x~", "x"),),
    )
    outcome = decide(asked)
    assert isinstance(outcome, Refuted)
    example = outcome.counterexample
    assert set(example.sizes) == {"out.extent.0"}
    assert 3 <= example.sizes["out.extent.0"] <= 4
    assert 0 <= example.iteration["x"] < example.other["x"] <= example.sizes["out.extent.0"]
    assert example.coordinate == (example.iteration["x"] + 1,)
    assert f"out({example.coordinate[0]}) at x = {example.iteration['x']} and" in str(example)


def test_a_counterexample_that_hangs_on_a_value_is_none() -> None:
    value = Variable(Int32, "?0")
    asked = Obligation(
        kind="bounds",
        func="f",
        stage=0,
        statement="A test.",
        hypotheses=(),
        goal=less(value, A),
        buffer="f",
        opaque=(("?0", Variable(Int32, "what is read")),),
    )
    outcome = decide(asked)
    assert isinstance(outcome, Unknown)
    assert outcome.expression == "what is read"


def test_what_the_solver_does_not_answer_is_unknown() -> None:
    cubes = [v * v * v for v in (A, B, C)]
    positive = tuple(less(number(0), v) for v in (A, B, C))
    outcome = decide(obligation(positive, different(cubes[0] + cubes[1], cubes[2])), timeout_ms=50)
    assert isinstance(outcome, Unknown)
    assert "50 ms" in outcome.reason
    assert "a * a" in outcome.expression


def test_rows_of_fused_tiles_cancel_before_the_solver_is_asked() -> None:
    width = Variable(Int32, "out.extent.0")
    tiles = (width + 31) / 32
    start = fn.min(A / 32 * 32, width - 32)
    fused = fn.min((B * tiles + A / 32) % tiles * 32, width - 32)
    within_tile = A - start
    split = within_tile / 8 * 8 + (within_tile - fn.min(within_tile / 8 * 8, 24))
    goal = equal(split + fused, A)
    for last, holds_there, limit in ((width - 1, True, 2000), (width, False, 100)):
        known = (at_most(number(32), width), *within(A, number(0), last))
        outcome = decide(obligation(known, goal), timeout_ms=limit)
        assert isinstance(outcome, Proven) == holds_there


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=3))
def test_order_of_iterations_is_lexicographic(pairs: list[tuple[int, int]]) -> None:
    first, second = (tuple(p[i] for p in pairs) for i in (0, 1))
    formulas = [tuple(map(number, x)) for x in (first, second)]
    assert evaluate(precedes(*formulas), {}) == (first < second)
    assert evaluate(precedes(*formulas, or_equal=True), {}) == (first <= second)


def test_buffers_have_one_element_or_more() -> None:
    size = Variable(Int32, "out.extent.0")
    for least, is_proven in ((1, True), (2, False)):
        goal = at_most(number(least), size * size)
        asked = Obligation(
            "bounds", "out", 0, "A test.", (), goal, "out", (size,), sizes=("out.extent.0",)
        )
        outcome = decide(asked)
        assert isinstance(outcome, Proven) is is_proven
        if isinstance(outcome, Refuted):
            assert outcome.counterexample.sizes == {"out.extent.0": 1}


def test_combinations_of_comparisons_are_shown_only_where_they_hold() -> None:
    known = Intervals(within(A, number(LOW), number(HIGH)))
    numbers = [number(n) for n in (LOW - 1, LOW, 0, HIGH, HIGH + 1)]
    simple = [make(A, n) for make in (at_most, less, equal, different) for n in numbers]
    simple += [make(n, A) for make in (at_most, less) for n in numbers]
    shown = 0
    for a, b in product(simple, repeat=2):
        for goal in (all_of((a, b)), any_of((a, b))):
            for asked in (goal, negation(goal)):
                if known.prove(asked):
                    shown += 1
                    assert all(evaluate(asked, {"a": n}) for n in range(LOW, HIGH + 1)), asked
    assert shown > 100
