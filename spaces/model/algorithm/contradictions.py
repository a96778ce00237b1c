"""Conditions of a pipeline that contradict one another, found by the solver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import z3

from spaces.model.algorithm.pipeline import Promise
from spaces.model.expressions.expr import Expr, Variable, walk
from spaces.model.expressions.types import Bool
from spaces.model.formulas.algebra import FormulaError
from spaces.model.formulas.smt import Term, answer, condition, new_context

_STEPS = 1_000_000
"""The steps of z3 that the search for a contradiction may take, some 0.3 s; after them the
conditions count as consistent. Steps are the same on every machine, unlike seconds.
"""


def contradictions(promises: Sequence[Promise], sizes: Mapping[str, int]) -> Iterator[str]:
    """The sentence for conditions over integers that contradict one another, if there are any."""
    context = new_context()
    solver = z3.SimpleSolver(ctx=context)
    solver.set("rlimit", _STEPS)
    terms: dict[str, Term] = {}
    tracked: dict[str, str] = {}
    for number, promise in enumerate(promises):
        terms |= _terms(promise.condition, terms, solver)
        try:
            asked = condition(promise.condition, terms, context)
        except FormulaError:
            continue  # over floats
        tracked[f"promise {number}"] = f"`{promise.condition}` ({promise.message})"
        solver.assert_and_track(asked, f"promise {number}")
    for name in sorted(sizes.keys() & terms.keys()):
        solver.assert_and_track(terms[name] == sizes[name], name)
    if answer(solver) != z3.unsat:
        return
    core = sorted(map(str, solver.unsat_core()))
    parts = dict.fromkeys(tracked[label] for label in core if label in tracked)
    given = ", ".join(f"{name} is {sizes[name]}" for name in core if name in sizes)
    where = f" where {given}, as estimated" if given else ""
    listed = "; ".join(parts)
    yield f"No call can meet these conditions together{where}: {listed}. Change one of them."


def _terms(asked: Expr, known: Mapping[str, Term], solver: Term) -> dict[str, Term]:
    """Terms for the variables without one, each limited to the values of its type."""
    found: dict[str, Term] = {}
    for node in walk(asked):
        if isinstance(node, Variable) and not node.type.is_float and node.name not in known:
            made = z3.Bool if node.type == Bool else z3.Int
            found[node.name] = made(node.name, solver.ctx)
            if node.type != Bool:
                lowest = 1 if ".extent." in node.name else node.type.min_value
                solver.add(found[node.name] >= lowest, found[node.name] <= node.type.max_value)
    return found
