"""Simplifiers that share normal forms give what each gives alone."""

from __future__ import annotations

import random

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, Op, Variable, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.known_forms import KnownForms
from spaces.model.formulas.simplify import Simplifier

A, B, C = (Variable(Int32, name) for name in "abc")


def _number(value: int) -> Expr:
    return constant(value, Int32)


def _random(chosen: random.Random, depth: int) -> Expr:
    if not depth:
        return chosen.choice((A, B, C, _number(chosen.randrange(-3, 9))))
    parts = (_random(chosen, depth - 1), _random(chosen, chosen.randrange(depth)))
    if chosen.random() < 0.25:
        divisor = _number(chosen.choice((2, 4, 8)))
        return Op(Int32, chosen.choice(("div", "mod")), (parts[0], divisor))
    return Op(Int32, chosen.choice(("add", "sub", "mul", "min", "max")), parts)


def _limited(shared: KnownForms | None, limits: list[tuple[str, Expr, Expr]]) -> Simplifier:
    simplify = Simplifier(shared=shared)
    for limit in limits:
        simplify.assume(*limit)
    return simplify


def test_random_expressions_under_random_limits():
    chosen, shared, few = random.Random(4), KnownForms(), KnownForms(most=3)
    several = [_random(chosen, 3) for _ in range(40)]
    different: dict[Expr, set[Expr]] = {}
    for _ in range(30):
        last = chosen.choice((_number(3), A, A + 2))
        limits = [("a", _number(0), _number(chosen.choice((0, 3, 7)))), ("b", _number(0), last)]
        limits.append(("c", chosen.choice((A, B)), B + chosen.choice((0, 4))))
        chosen.shuffle(limits)
        alone, sharing, forgetting = (_limited(known, limits) for known in (None, shared, few))
        for expr in chosen.sample(several, len(several)):
            expected = alone(expr)
            different.setdefault(expr, set()).add(expected)
            assert sharing(expr) is expected
            assert forgetting(expr) is expected
            assert sharing.polynomial(expr) == alone.polynomial(expr)
    assert max(map(len, different.values())) > 2


def test_limits_of_variables_in_limits_count():
    """``b`` reaches only up to ``a``, so what ``a`` is decides whether ``b`` may be 8."""
    shared, found = KnownForms(), []
    for most in (7, 8):
        limits = [("a", _number(0), _number(most)), ("b", _number(0), A)]
        found.append(_limited(shared, limits)(B / 8))
    assert found == [_number(0), B / 8]


def test_limits_that_come_later_count():
    shared = KnownForms()
    simplify = Simplifier(shared=shared)
    expr = fn.min(A, 5) + B
    assert simplify(expr) is not simplify(A + B)
    simplify.assume("a", _number(0), _number(5))
    fresh = Simplifier(shared=shared)
    fresh.assume("a", _number(0), _number(5))
    assert simplify(expr + 1) is fresh(expr + 1)
    assert fresh(expr) is fresh(A + B)


def test_settled_variables_are_not_shared():
    shared = KnownForms()
    settled = Simplifier(shared=shared)
    settled.fix_value("a", constant(3, Int32))
    assert settled(A + B) is settled(B + 3)
    assert Simplifier(shared=shared)(A + B) is not settled(B + 3)
