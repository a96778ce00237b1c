"""The conditions of the statements of a kernel."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.backend.ir.statements import If, Statement, Store, block
from spaces.backend.proofs.sites import sites
from spaces.model.expressions.expr import Variable, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import evaluate
from tests.draw_counts import examples

NAMES = ("x", "y", "z")


@st.composite
def bodies(draw: st.DrawFn, depth: int = 3) -> Statement:
    """Stores of numbers, under conditions with and without another branch."""
    form = draw(st.sampled_from(["store", "block", "if", "if else"])) if depth else "store"
    if form == "store":
        return Store("f", constant(draw(st.integers(0, 99)), Int32), constant(0, Int32))
    inner = bodies(depth - 1)
    if form == "block":
        return block(*draw(st.lists(inner, min_size=2, max_size=3)))
    condition = Variable(Int32, draw(st.sampled_from(NAMES))) > draw(st.integers(0, 3))
    return If(condition, draw(inner), draw(inner) if form == "if else" else None)


def stored(statement: Statement, at: dict[str, int]) -> list[int]:
    """The places that a body stores to, in order."""
    match statement:
        case Store():
            return [evaluate(statement.index, {})]
        case If(condition=condition, body=body, otherwise=otherwise):
            if evaluate(condition, at):
                return stored(body, at)
            return [] if otherwise is None else stored(otherwise, at)
    return [place for inner in statement.children for place in stored(inner, at)]


@settings(max_examples=examples(60))
@given(bodies(), st.fixed_dictionaries(dict.fromkeys(NAMES, st.integers(0, 4))))
def test_a_statement_runs_where_its_conditions_hold(body: Statement, at: dict[str, int]) -> None:
    run = [
        evaluate(site.statement.index, {})
        for site in sites(body)
        if isinstance(site.statement, Store)
        and all(bool(evaluate(c, at)) is holds for c, holds in site.conditions)
    ]
    assert run == stored(body, at)
