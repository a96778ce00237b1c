"""Decides one obligation: by intervals if they suffice, else by the solver within limits.

Each question to the solver has a context of its own (about 1 ms), so that its answer does not
depend on the questions before it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import z3
from attrs import define, evolve, field

from spaces.constraints.obligations.generalize import Generalizer
from spaces.constraints.obligations.records import (
    Counterexample,
    Obligation,
    Outcome,
    Proven,
    Refuted,
    Unknown,
)
from spaces.constraints.reasoning.formulas import all_of, conjuncts
from spaces.constraints.reasoning.intervals import Intervals
from spaces.constraints.reasoning.solvers import BY_TIME, Attempt
from spaces.constraints.reasoning.terms import Terms
from spaces.model.expressions.expr import Expr, Op, walk
from spaces.model.expressions.rewrite import variables
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.smt import NO_TIMEOUT, Term, answer

TIMEOUT_MS = 2000
"""The time limit of the solver for one question."""

Question: TypeAlias = tuple[Expr, tuple[Expr, ...]]
"""A goal and its hypotheses."""

SMALL_SIZES = (4, 8, 16, 32, 64, 128, 256, 512)
"""Limits of sizes, tried in turn so that counterexamples are small."""


def decide(obligation: Obligation, *, timeout_ms: int = TIMEOUT_MS) -> Outcome:
    """Decides whether the goal of an obligation follows from its hypotheses.

    ``Refuted`` says that the formula fails, even if the obligation is not ``exact``.
    """
    return Decider(timeout_ms).decide(obligation)


@define
class Decider:
    """Decides obligations; remembers the conclusions from hypotheses that they share. One thread at
    a time may use it.

    Attributes:
        timeout_ms: the time limit of the solver for one question.
        attempts: how to ask the solver, in turn, until it answers.
        solver_seconds: the time that the solver has taken so far.
    """

    timeout_ms: int = TIMEOUT_MS
    attempts: tuple[Attempt, ...] = field(default=BY_TIME, kw_only=True)
    solver_seconds: float = 0.0
    _terms: Terms | None = None
    _intervals: dict[tuple[Expr, ...], Intervals] = field(factory=dict)
    _generalized: Generalizer = field(factory=Generalizer)
    _shown: dict[Question, bool] = field(factory=dict)
    _given_up: set[Question] = field(factory=set)

    def decide(self, obligation: Obligation, further: tuple[Expr, ...] = ()) -> Outcome:
        """Whether the goal follows from the hypotheses; if not from these alone, then from them and
        ``further`` conditions of the call, which an obligation leaves out because they seldom help.
        """
        outcome = self._decided(obligation)
        if not isinstance(outcome, Refuted):
            return outcome
        every = tuple(dict.fromkeys((*obligation.hypotheses, *further)))
        if len(every) == len(obligation.hypotheses):
            return outcome
        return self._decided(evolve(obligation, hypotheses=every))

    def _decided(self, obligation: Obligation) -> Outcome:
        general = self._generalized(obligation)
        left = self._left(obligation, general)
        if not left:
            return Proven("intervals")
        if general is not obligation:
            # For long formulas the solver shows less than intervals, if it answers at all.
            left = [c for c in left if not self._follows(about(obligation, c))]
            if not left:
                return Proven("solver")
            asked = evolve(obligation, goal=all_of(left))
            left = self._left(asked, asked)
            if not left:
                return Proven("intervals")
        shorter = self._known(obligation.hypotheses).simplified
        left = [c for c in left if not self._follows(about(obligation, shorter(c)))]
        return self._solve(evolve(obligation, goal=all_of(left))) if left else Proven("solver")

    def _left(self, obligation: Obligation, form: Obligation) -> list[Expr]:
        """The conditions of the goal whose counterparts in ``form`` intervals do not show."""
        known = self._known(form.hypotheses)
        pairs = zip(conjuncts(obligation.goal), conjuncts(form.goal), strict=True)
        return [condition for condition, shown in pairs if not known.prove(shown)]

    def _follows(self, asked: Obligation) -> bool:
        """Whether the solver shows in a short time that a goal follows. Asks once for all
        obligations with the same question.
        """
        key = asked.goal, asked.hypotheses
        if key not in self._shown:
            found, _, _ = self._ask(asked, self.timeout_ms // 4)
            self._shown[key] = found == z3.unsat
            if found == z3.unknown and self._is_limited_by_steps:
                self._given_up.add(key)
        return self._shown[key]

    @property
    def _is_limited_by_steps(self) -> bool:
        """Whether the solver gives up only at its limits of steps, so that to ask a question again
        gives the same answer.
        """
        return self.timeout_ms == NO_TIMEOUT and all(one.steps for one in self.attempts)

    def _ask(self, obligation: Obligation, timeout_ms: int) -> tuple[Term, Term, dict[str, Term]]:
        """The answer of the first attempt that has one, or of the last; its solver, and the terms
        of all variables by name.
        """
        for attempt in self.attempts:
            solver, values = question(obligation, self._terms_for(attempt), attempt)
            found = self._check(solver, timeout_ms)
            if found != z3.unknown:
                break
        return found, solver, values

    def _terms_for(self, attempt: Attempt) -> Terms:
        """Those that all questions share; new ones, in a context of their own, for an answer that
        does not depend on what was asked before.
        """
        if attempt.steps:
            return Terms()
        if self._terms is None:  # a context takes 2 ms, and most obligations need none
            self._terms = Terms()
        return self._terms

    def _check(self, solver: Term, timeout_ms: int, *limits: Term) -> Term:
        """The solver's answer in limited time, under further conditions if given."""
        start = time.perf_counter()
        try:
            return answer(solver, *limits, timeout_ms=timeout_ms)
        finally:
            self.solver_seconds += time.perf_counter() - start

    def excludes_everything(self, conditions: tuple[Expr, ...]) -> bool:
        """Whether conditions certainly contradict each other."""
        terms = self._terms_for(self.attempts[0])
        solver = _assuming(conditions, terms, terms.variables(conditions), self.attempts[0])
        return bool(self._check(solver, self.timeout_ms) == z3.unsat)

    def _known(self, hypotheses: tuple[Expr, ...]) -> Intervals:
        if hypotheses not in self._intervals:
            self._intervals[hypotheses] = Intervals(hypotheses)
        return self._intervals[hypotheses]

    def _solve(self, obligation: Obligation) -> Outcome:
        if (obligation.goal, obligation.hypotheses) in self._given_up:
            return self._unknown(obligation)
        refuted, solver, values = self._ask(obligation, self.timeout_ms)
        if refuted == z3.unsat:
            return Proven("solver")
        if refuted == z3.unknown:
            return self._unknown(obligation)
        if obligation.opaque:
            texts = ", ".join(dict.fromkeys(str(e) for _, e in obligation.opaque))
            return Unknown("It depends on a value that is known when the pipeline runs.", texts)
        model = self._small_model(solver, obligation, values)
        if not _fails(obligation, model):
            return Unknown("The solver's counterexample does not stand up to arithmetic.")
        return Refuted(counterexample(obligation, model))

    def _unknown(self, obligation: Obligation) -> Unknown:
        reason = f"The solver gave up within {self.timeout_ms} ms."
        return Unknown(reason, _hardest(obligation))

    def _small_model(
        self, solver: Term, obligation: Obligation, values: Mapping[str, Term]
    ) -> dict[str, int]:
        """A model with sizes up to one of :data:`SMALL_SIZES`, if there is one."""
        found = _numbers(solver.model(), values)
        sizes = {n: values[n] for n in obligation.sizes if n in values}
        origins = [term for name, term in sizes.items() if ".min." in name]
        for most in SMALL_SIZES if sizes else ():
            small = [z3.And(-most <= term, term <= most) for term in sizes.values()]
            for limits in ([*small, *(term == 0 for term in origins)], small):
                if self._check(solver, self.timeout_ms // 4, *limits) == z3.sat:
                    return _numbers(solver.model(), values)
        return found


def about(obligation: Obligation, goal: Expr) -> Obligation:
    """An obligation to show ``goal`` from the relevant hypotheses only: those that share variables
    with it, directly or through other hypotheses.
    """
    names, rest, given = goal.names, obligation.hypotheses, set[Expr]()
    while near := [h for h in rest if not names.isdisjoint(h.names)]:
        given.update(near)
        names = names.union(*(h.names for h in near))
        rest = tuple(h for h in rest if h not in given)
    kept = tuple(h for h in obligation.hypotheses if h in given)
    return evolve(obligation, goal=goal, hypotheses=kept)


def question(
    obligation: Obligation, terms: Terms, attempt: Attempt = BY_TIME[0]
) -> tuple[Term, dict[str, Term]]:
    """A solver that asks for a counterexample, and the terms of all variables by name."""
    values = terms.variables((*obligation.hypotheses, obligation.goal, *obligation.coordinate))
    solver = _assuming(obligation.hypotheses, terms, values, attempt)
    solver.add(z3.Not(terms.condition(obligation.goal)))
    return solver, values


def _assuming(
    conditions: tuple[Expr, ...], terms: Terms, values: Mapping[str, Term], attempt: Attempt
) -> Term:
    """A solver with conditions over some variables; extents among these are at least 1."""
    solver = attempt.made(terms.context)
    solver.add(*(term >= 1 for name, term in values.items() if ".extent." in name))
    solver.add(*map(terms.condition, conditions))
    return solver


def counterexample(obligation: Obligation, model: Mapping[str, int]) -> Counterexample:
    """The counterexample that a model of the variables gives."""
    return Counterexample(
        sizes={n: model[n] for n in obligation.sizes if n in model},
        iteration={n: model[n] for n in obligation.iteration if n in model},
        other={original: model[copy] for copy, original in obligation.other if copy in model},
        buffer=obligation.buffer,
        coordinate=tuple(evaluate(c, model) for c in obligation.coordinate),
    )


def _numbers(model: Term, values: Mapping[str, Term]) -> dict[str, int]:
    return {
        name: model.eval(term, model_completion=True).as_long() for name, term in values.items()
    }


def _fails(obligation: Obligation, model: Mapping[str, int]) -> bool:
    """Whether a model satisfies the hypotheses and not the goal, evaluated without the solver."""
    given = all(evaluate(h, model) for h in obligation.hypotheses)
    return given and not evaluate(obligation.goal, model)


def _hardest(obligation: Obligation) -> str:
    """The first term that multiplies or divides unknowns by each other, or else the goal."""
    return str(next(_nonlinear(obligation), obligation.goal))


def _nonlinear(obligation: Obligation) -> Iterator[Expr]:
    for node in walk(obligation.goal, *obligation.hypotheses):
        if isinstance(node, Op) and node.name in ("mul", "div", "mod"):
            a, b = (bool(variables(c)) for c in node.args)
            if b and (a or node.name != "mul"):
                yield node
