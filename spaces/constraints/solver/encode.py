"""The rules as z3 constraints over the decisions of a universe.

The models of the encoding are exactly the legal choices of the universe. Every rule about every
Func is a named assertion, so that a minimal set of them explains why a choice has no model. Each
encoding has a z3 context of its own, which one thread at a time uses. Every question has a time
limit; the answer is then ``unknown``.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

import z3
from attrs import define, field, frozen

from spaces.constraints.devices.device import Device
from spaces.constraints.solver.clauses import Clause, clauses
from spaces.constraints.solver.universe import Assignment, Option, Universe
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.rewrite import variables
from spaces.model.formulas.smt import Term, answer, condition, new_context


@frozen
class Label:
    """The name of an assertion: one rule, about one Func, at the further size named if any."""

    rule: str
    func: str
    size: str = ""

    def __str__(self) -> str:
        return f"{self.rule} of {self.func}" + (f" at {self.size}" if self.size else "")


@frozen
class Encoded:
    """A universe as constraints.

    Attributes:
        universe: the universe behind the constraints.
        clauses: the rules over the universe, before they became terms.
        solver: asserts that each decision takes at most one option, and each rule under its label.
        chosen: for each decision and option the condition that the option is chosen.
        labels: for each assertion the condition that switches it on.
        menus: for each decision the condition that it must take one of its options.
        timeout_ms: the time limit of one question.
        asking: the lock of the solver and its terms.
    """

    universe: Universe
    clauses: tuple[Clause, ...] = field(repr=False)
    solver: Term = field(repr=False, eq=False)
    chosen: Mapping[tuple[str, Option], Term] = field(repr=False, eq=False)
    labels: Mapping[Label, Term] = field(repr=False, eq=False)
    menus: Mapping[str, Term] = field(repr=False, eq=False)
    timeout_ms: int = field(default=10_000, eq=False)
    asking: threading.RLock = field(factory=threading.RLock, repr=False, eq=False)

    def ask(self, *assumed: Term) -> Term:
        """Whether there is a model in which all of ``assumed`` hold, in limited time.

        Raises:
            OutOfTime: a deadline around this call is past.
        """
        return answer(self.solver, *assumed, timeout_ms=self.timeout_ms)


def encode(
    universe: Universe, device: Device, *, timeout_ms: int = 10_000, seconds: float = math.inf
) -> Encoded:
    """Encodes the rules over a universe as constraints; a question takes at most ``timeout_ms``.

    Raises:
        TimeoutError: the rules of all structures take longer than ``seconds``.
        ValueError: a structure does not fit its pipeline, a decision has no options, or two share a
            name.
    """
    try:
        with Deadline.after(seconds).kept():
            return _encoded(universe, device, timeout_ms)
    except OutOfTime:
        raise TimeoutError("The rules were not asked of all structures in time.") from None


def _encoded(universe: Universe, device: Device, timeout_ms: int) -> Encoded:
    context = new_context()
    solver = z3.Solver(ctx=context)
    chosen: dict[tuple[str, Option], Term] = {}
    menus: dict[str, Term] = {}
    for decision in universe.decisions:
        terms = [z3.Bool(f"{decision.name} = {option}", context) for option in decision.options]
        menus[decision.name] = z3.Bool(f"{decision.name} is chosen", context)
        solver.add(z3.AtMost(*terms, 1), z3.Implies(menus[decision.name], z3.Or(*terms)))
        chosen.update({(decision.name, o): t for o, t in zip(decision.options, terms, strict=True)})
    formulas = _DecisionTerms(universe, chosen, context)
    table = clauses(universe, device)
    labels: dict[Label, Term] = {}
    for clause in table:
        label = Label(clause.rule, clause.func, clause.size)
        in_force = labels.setdefault(label, z3.Bool(str(label), context))
        case = [chosen[decision, option] for decision, option in clause.case]
        solver.add(z3.Implies(z3.And(in_force, *case), formulas.term(clause.holds)))
    return Encoded(universe, table, solver, chosen, labels, menus, timeout_ms)


MAX_TABLE = 4096
"""A formula over numeric decisions with at most this many combinations of options becomes a table:
products and quotients of unknowns are hard for the solver.
"""


class _DecisionTerms:
    """Formulas over the numeric decisions of a universe, as terms over options."""

    def __init__(
        self, universe: Universe, chosen: Mapping[tuple[str, Option], Term], context: z3.Context
    ) -> None:
        self.menus = {d.name: d.options for d in universe.numeric}
        self.chosen = chosen
        self.context = context
        self.done: dict[Expr, Term] = {}

    def term(self, holds: Expr) -> Term:
        """The term of ``holds``; a formula that occurs often becomes a term once."""
        if holds not in self.done:
            names = variables(holds)
            combinations = math.prod(len(self.menus[n]) for n in names)
            table = combinations <= MAX_TABLE
            self.done[holds] = self._table(holds, names) if table else self._arithmetic(holds)
        return self.done[holds]

    def _table(self, holds: Expr, names: tuple[str, ...]) -> Term:
        """The condition that excludes each combination for which the formula is false."""
        excluded = []
        for options in itertools.product(*(self.menus[n] for n in names)):
            numbers = {
                n: z3.IntVal(int(o), self.context) for n, o in zip(names, options, strict=True)
            }
            if not z3.is_true(z3.simplify(condition(holds, numbers, self.context))):
                chosen = (self.chosen[n, o] for n, o in zip(names, options, strict=True))
                excluded.append(z3.Not(z3.And(*chosen, self.context)))
        return z3.And(*excluded, self.context)

    def _arithmetic(self, holds: Expr) -> Term:
        """The formula over integers, each one of the options of its decision. It is true if a
        decision is left out.
        """
        names = variables(holds)
        left_out = [z3.Not(z3.Or(*(self.chosen[n, o] for o in self.menus[n]))) for n in names]
        inside = condition(holds, {n: self._number(n) for n in names}, self.context)
        return z3.Or(*left_out, inside)

    def _number(self, name: str) -> Term:
        *others, last = self.menus[name]
        result = z3.IntVal(int(last), self.context)
        for option in reversed(others):
            result = z3.If(self.chosen[name, option], int(option), result)
        return result


SolverEnd: TypeAlias = Literal["all", "limit", "unknown"]
"""How a search ended: all models found; more exist than the limit; or the solver gave up or the
time was up.
"""


@define
class ModelStream:
    """A lazy stream of the legal choices of a universe, in the order of decisions and options.

    Attributes:
        encoded: the encoded universe.
        chosen: fixed options for some decisions.
        limit: the most choices to yield.
        seconds: the time limit, counted from the request for the first choice.
        end: how the stream ended; set at its end.
    """

    encoded: Encoded
    chosen: Assignment = field(factory=dict)
    limit: int = 100_000
    seconds: float = 60.0
    end: SolverEnd | None = field(init=False, default=None)

    def __iter__(self) -> Iterator[dict[str, Option]]:
        """The choices.

        Raises:
            KeyError: the universe lacks a decision or option in ``chosen``.
        """
        search = _ModelSearch(self.encoded, self.chosen, Deadline.after(self.seconds))
        for number, choice in enumerate(search.choices(0)):
            if number == self.limit:
                self.end = "limit"
                return
            yield choice
        self.end = "unknown" if search.gave_up else "all"


@frozen
class Models:
    """Legal choices found by the solver.

    Attributes:
        choices: the legal choices, in the order of decisions and options.
        end: whether these are all legal choices.
    """

    choices: tuple[dict[str, Option], ...]
    end: SolverEnd


def models(encoded: Encoded, *, limit: int = 100_000, seconds: float = 60.0) -> Models:
    """Finds the models of an encoding, one decision after the other.

    Returns at most ``limit`` models, and stops after ``seconds``.
    """
    stream = ModelStream(encoded, limit=limit, seconds=seconds)
    choices = tuple(stream)
    return Models(choices, stream.end or "unknown")


class _ModelSearch:
    """A depth-first search over the decisions. It leaves a branch that the solver finds empty.

    It passes assumptions and asserts nothing, so that other searches may use the solver meanwhile.
    """

    def __init__(self, encoded: Encoded, chosen: Assignment, deadline: Deadline) -> None:
        self.encoded = encoded
        self.deadline = deadline
        self.gave_up = False
        self.assumed = [*encoded.labels.values(), *encoded.menus.values()]
        self.assumed += [encoded.chosen[decision, option] for decision, option in chosen.items()]
        self.path: list[Option] = []

    def choices(self, index: int) -> Iterator[dict[str, Option]]:
        """The models whose first ``index`` decisions equal the path."""
        decisions = self.encoded.universe.decisions
        if index == len(decisions):
            yield {d.name: o for d, o in zip(decisions, self.path, strict=True)}
            return
        decision = decisions[index]
        for option in decision.options:
            self.assumed.append(self.encoded.chosen[decision.name, option])
            self.path.append(option)
            if self._may_continue():
                yield from self.choices(index + 1)
            self.assumed.pop()
            self.path.pop()

    def _may_continue(self) -> bool:
        """Whether the branch has a model. Leaves an unknown branch, and notes that."""
        try:
            with self.deadline.kept(), self.encoded.asking:
                found = self.encoded.ask(*self.assumed)
        except OutOfTime:
            found = z3.unknown
        self.gave_up |= found == z3.unknown
        return bool(found == z3.sat)


@frozen
class Explanation:
    """The solver's answer about a choice.

    Attributes:
        answer: whether the choice has a model, or ``unknown`` if the time was up.
        rules: if it has none, a minimal set of assertions that exclude it together.
    """

    answer: Literal["legal", "illegal", "unknown"]
    rules: tuple[Label, ...] = ()


def explain(encoded: Encoded, choice: Assignment) -> Explanation:
    """Asks whether a choice, or a part of one, has a model, and if not, which rules exclude it.

    Raises:
        KeyError: the universe has no such decision or option.
    """
    with encoded.asking:
        return _explained(encoded, choice)


def _explained(encoded: Encoded, choice: Assignment) -> Explanation:
    solver = encoded.solver
    solver.push()
    try:
        solver.add(*encoded.menus.values())
        solver.add(*(encoded.chosen[decision, option] for decision, option in choice.items()))
        found = encoded.ask(*encoded.labels.values())
        if found != z3.unsat:
            return Explanation("legal" if found == z3.sat else "unknown")
        core = {str(term) for term in solver.unsat_core()}
        kept = [label for label in encoded.labels if str(label) in core]
        for label in tuple(kept):
            fewer = [other for other in kept if other != label]
            if encoded.ask(*(encoded.labels[other] for other in fewer)) == z3.unsat:
                kept = fewer
        return Explanation("illegal", tuple(kept))
    finally:
        solver.pop()
