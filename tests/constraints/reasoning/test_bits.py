"""Bits and shifts of coordinates in proofs: the facts about them hold for all numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.backend.arithmetic import value_of
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.constraints.reasoning.common_bits import facts, masked
from spaces.constraints.reasoning.formulas import OPAQUE, SECOND, Second, all_of
from spaces.constraints.reasoning.opaque import Opaque
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.definitions import arithmetic
from spaces.model.expressions.expr import Expr, Op, Variable, cast, constant
from spaces.model.expressions.integer_functions import (
    halving_add,
    halving_sub,
    popcount,
    rounding_halving_add,
    rounding_shift_right,
    saturating_add,
    saturating_sub,
)
from spaces.model.expressions.types import Int32, Int64
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.interval import Interval
from spaces.model.formulas.smt import condition
from tests.draw_counts import examples, some

A, B, C = (Variable(Int32, name) for name in "abc")
EXTREME = (-(2**31), -(2**31) + 1, -(2**30) - 5, -256, 255, 256, 2**30 + 7, 2**31 - 2, 2**31 - 1)
NUMBERS = st.integers(-40, 40) | st.sampled_from(EXTREME)
MASKS = NUMBERS | st.integers(0, 30).flatmap(
    lambda n: st.sampled_from([1 << n, (1 << n) - 1, -(1 << n), ~(1 << n), 5 << max(n - 3, 0)])
)


def test_facts_hold_of_all_small_and_extreme_numbers() -> None:
    numbers = (*range(-18, 18), *EXTREME)
    stated = all_of(facts(C, A, B))
    for a, b in product(numbers, repeat=2):
        assert evaluate(stated, {"a": a, "b": b, "c": a & b}), (a, b)


def test_facts_bound_joined_and_different_bits() -> None:
    """``max(a, b) <= a | b`` of numbers that are not negative, and no more than ``a + b``; and
    ``a ^ b`` is negative where one of them is.
    """
    a, b, c = (z3.Int(name) for name in "abc")
    known = [condition(fact, {"a": a, "b": b, "c": c}, z3.main_ctx()) for fact in facts(C, A, B)]
    joined, different = a + b - c, a + b - 2 * c
    for given_, follows in (
        ((a >= 0, b >= 0), (joined >= a, joined >= b, joined <= a + b, different >= 0)),
        ((a < 0, b >= 0), (joined < 0, joined >= a, different < 0, c <= b)),
        ((a < 0, b < 0), (joined < 0, c <= a, different >= 0)),
        ((b == -2,), (c <= a, c >= a - 1)),
    ):
        for one in follows:
            solver = z3.Solver()
            solver.add(*known, *given_, z3.Not(one))
            assert solver.check() == z3.unsat, one


@settings(max_examples=examples(300), deadline=None)
@given(NUMBERS, MASKS)
def test_masks_are_remainders(value: int, mask: int) -> None:
    form = masked(A, mask)
    assert form is None or evaluate(form, {"a": value}) == value & mask


@pytest.mark.parametrize("mask", [0, -1, 1, -2, 6, 7, -8, ~4, 1 << 29, 0b110011])
def test_masks_of_two_runs_have_a_form(mask: int) -> None:
    assert masked(A, mask) is not None


LEAF = st.sampled_from([A, B]) | MASKS.map(lambda n: constant(n, Int32))
SHIFTS = st.sampled_from([constant(1, Int32), fn.clamp(B, 0, 3), A & 3])
FORMS = st.integers(0, 9)


@cache
@st.composite
def coordinates(draw: st.DrawFn, depth: int) -> Expr:
    """Coordinates of bits, shifts and averages; small enough in each step to wrap nowhere."""
    if depth == 0:
        return draw(LEAF)
    a, b = draw(coordinates(depth - 1)), draw(coordinates(depth - 1))
    by = draw(SHIFTS)
    made: list[Callable[[], Expr]] = [
        lambda: a & b,
        lambda: a | b,
        lambda: a ^ b,
        lambda: ~a,
        lambda: a >> by,
        lambda: rounding_halving_add(a, b),
        lambda: halving_add(a, b),
        lambda: saturating_sub(a, b),
        lambda: popcount(a),
        lambda: cast(Int32, (cast(Int64, a) - cast(Int64, b)) / 2),
    ]
    return made[draw(FORMS)]()


@settings(max_examples=examples(400), deadline=None)
@given(st.integers(1, 3).flatmap(coordinates), NUMBERS, NUMBERS, st.booleans())
def test_formulas_and_facts_hold_of_coordinates(
    index: Expr, a: int, b: int, is_limited: bool
) -> None:
    values = {"a": a, "b": b}
    limits = {n: (constant(v - 1, Int32), constant(v + 2, Int32)) for n, v in values.items()}
    ranges = {n: Interval(*ends) for n, ends in limits.items() if abs(values[n]) < 1000}
    opaque = Opaque(ranges if is_limited else {})
    index = arithmetic(index)
    formula = opaque.formula(index)
    for name, meaning in opaque.meaning.items():
        values[name] = int(value_of(meaning, {"a": a, "b": b}))
    assert evaluate(formula, values) == int(value_of(index, {"a": a, "b": b}))
    for fact in opaque.known(opaque.meaning):
        assert evaluate(fact, values), str(fact)


def test_facts_of_a_copy_are_about_the_second_iteration() -> None:
    """Where the second iteration has other coordinates, they are not about those of the first."""
    opaque = Opaque()
    both = opaque.formula(A & B)
    assert both.names == {f"{OPAQUE}0"}
    second = Second(["a"])
    about = opaque.known(second(both).names, second)
    assert about
    values = {"a": 100, f"a{SECOND}": 6, "b": 3, f"{OPAQUE}0{SECOND}": 6 & 3}
    assert all(evaluate(fact, values) for fact in about)
    assert all(fact.names <= {f"a{SECOND}", "b", f"{OPAQUE}0{SECOND}"} for fact in about)
    assert opaque.known(second(both).names) == ()


P = Param(Int32, "p", 2).set_range(0, 3)
Q = Param(Int32, "q", 2)
COORDINATES: dict[str, Callable[[Expr, Expr], Expr]] = {
    "x | 1": lambda x, y: x | 1,
    "x ^ 1": lambda x, y: x ^ 1,
    "x & -2": lambda x, y: x & -2,
    "x & 6": lambda x, y: x & 6,
    "~x": lambda x, y: ~x,
    "x | y": lambda x, y: x | y,
    "x & y": lambda x, y: x & y,
    "x ^ y": lambda x, y: x ^ y,
    "x | q": lambda x, y: x | Q,
    "x & q": lambda x, y: x & Q,
    "x << p": lambda x, y: x << P,
    "x >> p": lambda x, y: x >> P,
    "x << clamp(q, 0, 3)": lambda x, y: x << fn.clamp(Q, 0, 3),
    "x >> clamp(q, 0, 3)": lambda x, y: x >> fn.clamp(Q, 0, 3),
    "x >> clamp(y, 0, 3)": lambda x, y: x >> fn.clamp(y, 0, 3),
    "1 << (x & 7)": lambda x, y: constant(1, Int32) << (x & 7),
    "rounding_shift_right(x, 2)": lambda x, y: rounding_shift_right(x, 2),
    "halving_add": lambda x, y: halving_add(x, x + 3),
    "halving_add(x, y)": lambda x, y: halving_add(x, y),
    "halving_sub": lambda x, y: halving_sub(x, y),
    "rounding_halving_add": lambda x, y: rounding_halving_add(x, y),
    "saturating_add": lambda x, y: saturating_add(x, y),
    "saturating_sub": lambda x, y: saturating_sub(x, 3),
    "popcount": lambda x, y: popcount(x),
}


@pytest.mark.parametrize(("name", "level"), some(product(COORDINATES, ["root", "tile"])))
def test_schedules_of_such_coordinates_are_proven(name: str, level: str) -> None:
    x, y, c = Var("x"), Var("y"), Var("c")
    image, f, g = ImageParam(Int32, 1, "image"), Func("f"), Func("g")
    g[c] = image[c]
    f[x, y] = g[COORDINATES[name](x, y)]
    chosen = schedule(pipeline(f)).func("f").tile("x", "y", "xo", "yo", "xi", "yi", 8, 4)
    at = chosen.func("g")
    at = at.compute_root() if level == "root" else at.compute_at("f", "xo")
    checked = verify(pipeline(f), at.func("f").parallel("yo").schedule, device("cpu"))
    assert isinstance(checked, CheckedSchedule), str(checked)
    found = prove(checked)
    left = [proof for proof in found.proofs if proof not in found.proven]
    assert not left, "\n".join(f"{p.obligation.statement} {p.outcome}" for p in left)


def test_what_is_stated_refutes_nothing_that_happens() -> None:
    """Of writes at ``r & 6``, iterations 0 and 1 meet: no fact may say that they do not."""
    opaque, second = Opaque(), Second(["a"])
    place = opaque.formula(Op(Int32, "bit_and", (A, constant(0b10101010, Int32))))
    values = {"a": 0, f"a{SECOND}": 1}
    for fact in opaque.known({*place.names, *second(place).names}, second):
        names = {n: 0 for n in fact.names if n.startswith(OPAQUE)}
        assert evaluate(fact, values | names)
