"""The rules over a universe as clauses: which options exclude each other, which numbers fit.

A clause says: if these structural options are chosen, this formula over the numeric decisions must
hold. A rule that reads one Func gives clauses over the decisions of this Func. A rule that also
reads consumers gives clauses over their decisions as well, or over all decisions if Funcs may share
loops. Loop nests are built only for structures that all other rules allow, with numeric decisions
as parameters.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TypeAlias

from attrs import define, field, frozen

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.judge import (
    ask_calls,
    ask_matching,
    ask_nest,
    ask_own,
    ask_pipeline,
    bounds_of,
)
from spaces.constraints.legality.lattice import is_violated
from spaces.constraints.rules.findings import Asked
from spaces.constraints.rules.inlining import inline_size
from spaces.constraints.rules.matching import open_parameter
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import SpaceRule
from spaces.constraints.solver.universe import Universe
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import ask_clock
from spaces.model.expressions.expr import Const, Expr, Variable, compare, constant
from spaces.model.expressions.rewrite import rewrite, substitute
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.float_values import made_from_floats
from spaces.model.formulas.regions import UnboundedError
from spaces.model.schedules.parameters import parameters
from spaces.model.schedules.schedule import Schedule

StructuralChoice: TypeAlias = tuple[tuple[str, str], ...]
"""Structural decisions with the option chosen for each."""

_Key: TypeAlias = tuple[str, str, StructuralChoice]
_Ask: TypeAlias = Callable[[Records, str], Iterable[Asked]]

ROOT = "root"
"""The option of computing a Func at root."""

CLOSED = "universe.closed"
"""The label of clauses that tie a decision without effect to its first option."""


@frozen
class Clause:
    """If all of ``case`` is chosen, rule ``rule`` requires ``holds`` for Func ``func``; ``size`` is
    the text of a further size, empty for the estimates.
    """

    rule: str
    func: str
    case: StructuralChoice
    holds: Expr
    size: str = ""


def clauses(universe: Universe, device: Device) -> tuple[Clause, ...]:
    """All clauses of a universe.

    Raises:
        OutOfTime: a deadline around this call is past.
        ValueError: a structure does not fit its pipeline, a decision has no options, or two share a
            name.
    """
    names = [d.name for d in universe.decisions]
    empty = [d.name for d in universe.decisions if not d.options]
    if empty:
        raise ValueError(f"Decisions of the universe have no options: {', '.join(empty)}.")
    if len(set(names)) != len(names):
        raise ValueError(f"Two decisions of the universe share a name: {', '.join(names)}.")
    return tuple(_Clauses(universe, device).all())


def _with_numbers(condition: Expr) -> Expr:
    """The condition with numbers where floats are known; z3 has no arithmetic of floats."""
    nodes = (node for node in made_from_floats(condition) if not node.names)
    known = {node: constant(evaluate(node, {}), node.type) for node in nodes}
    return rewrite(condition, lambda node: known.get(node, node)) if known else condition


@define
class _Clauses:
    universe: Universe
    device: Device
    _sizes: dict[str, dict[str, Expr]] = field(init=False)
    _readers: dict[str, frozenset[str]] = field(init=False)
    _kept: dict[_Key, tuple[Asked, ...]] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        every = {"": self.universe.pipeline.usual_values(), **self.universe.further}
        types = {scalar.name: scalar.type for scalar in self.universe.pipeline.scalars}
        self._sizes = {
            size: {n: constant(value, types.get(n, Int32)) for n, value in values.items()}
            for size, values in every.items()
        }
        self._readers = readers(self.universe.pipeline)

    def all(self) -> Iterator[Clause]:
        pipeline = self.universe.pipeline
        faults = tuple(ask_pipeline(pipeline, self.device))
        yield from self._clauses(faults, ())
        if not any(map(is_violated, faults)):
            yield from self._descend([f.name for f in reversed(pipeline.functions)], ())

    def _descend(self, functions: list[str], case: StructuralChoice) -> Iterator[Clause]:
        """The clauses of the remaining Funcs, consumers first, if ``case`` is chosen."""
        ask_clock()
        if not functions:
            structure = self._structure(case)
            if self.universe.is_joint:
                records = Records(self.universe.pipeline, structure, self.device)
                names = [function.name for function in self.universe.pipeline.functions]
                asked = [item for name in names for item in ask_calls(records, name)]
                yield from self._clauses(asked, case)
                if any(map(is_violated, asked)):
                    return
            bounds = bounds_of(self.universe.pipeline, structure)
            yield from self._clauses(ask_nest(bounds, self.device), case)
            if not isinstance(bounds, Asked):
                for rule in self.universe.rules:
                    yield from self._restricted(rule, self._about(rule, case), structure)
            return
        func, *others = functions
        for chosen in self._options(func):
            extended = (*case, *chosen)
            relevant = self._relevant(func, extended)
            structure = self._structure(extended)
            matching = ask_matching(self.universe.pipeline, structure)
            large = tuple(item for item in matching if item.rule is inline_size)
            if large:  # too large to build, whatever is chosen for the other Funcs
                yield from self._clauses(large, extended)
                continue
            records = Records(self.universe.pipeline, structure, self.device)
            yield from self._new(("own", func, chosen), ask_own, records)
            yield from self._closed(func, chosen, structure)
            asked = list(self._kept["own", func, chosen])
            if not self.universe.is_joint:
                yield from self._new(("calls", func, relevant), ask_calls, records)
                asked += self._kept["calls", func, relevant]
            if any(is_violated(item) for item in asked):
                continue
            for rule in self.universe.rules if not self.universe.is_joint else ():
                if func in rule.funcs and rule.funcs.isdisjoint(others):
                    about = self._about(rule, extended)
                    with suppress(UnboundedError):  # asked again with the other Funcs
                        yield from self._restricted(rule, about, self._structure(about))
                        asked += self._kept[rule.id, "", about]
            if not any(is_violated(item) for item in asked):
                yield from self._descend(others, extended)

    def _about(self, rule: SpaceRule, case: StructuralChoice) -> StructuralChoice:
        """The part of a case that decides a rule of the universe."""
        if not rule.funcs or self.universe.is_joint:
            return case
        names = rule.funcs.union(*(self._readers.get(func, frozenset()) for func in rule.funcs))
        about = {d.name: d.func for d in self.universe.structural}
        return tuple((decision, option) for decision, option in case if about[decision] in names)

    def _restricted(
        self, rule: SpaceRule, case: StructuralChoice, structure: Schedule
    ) -> Iterator[Clause]:
        """The clauses of a rule of the universe; none if it was asked about the case before."""
        key = (rule.id, "", case)
        if key not in self._kept:
            name = self.universe.pipeline.name
            self._kept[key] = tuple(Asked(rule, check) for check in rule.check(structure, name))
            # Features are those at the estimates.
            yield from self._at({"": self._sizes[""]}, self._kept[key], case)

    def _new(self, key: _Key, ask: _Ask, records: Records) -> Iterator[Clause]:
        """The clauses of the checks that ``ask`` returns; none if it was asked before."""
        _, func, case = key
        if key not in self._kept:
            self._kept[key] = tuple(ask(records, func))
            yield from self._clauses(self._kept[key], case)

    def _options(self, func: str) -> Iterator[StructuralChoice]:
        decisions = [d for d in self.universe.structural if d.func == func]
        for names in itertools.product(*(d.options for d in decisions)):
            yield tuple((d.name, str(n)) for d, n in zip(decisions, names, strict=True))

    def _structure(self, case: StructuralChoice) -> Schedule:
        """The structure of a case. Open decisions take their first options; but a Func is at root
        where it may be, because inlined Funcs multiply those that they read.
        """
        options = {d.name: d.options for d in self.universe.structural}
        first = {name: ROOT if ROOT in menu else menu[0] for name, menu in options.items()}
        schedule = self.universe.structure({**first, **dict(case)})
        numeric = {d.name for d in self.universe.numeric}
        for item in ask_matching(self.universe.pipeline, schedule):
            is_open = item.rule is open_parameter and item.check.loop in numeric
            if not is_open and item.rule is not inline_size:
                raise ValueError(
                    f"A structure of the universe does not fit its pipeline: {item.rule.id}."
                )
        return schedule

    def _relevant(self, func: str, case: StructuralChoice) -> StructuralChoice:
        """The part of a case about a Func and its consumers."""
        about = {d.name: d.func for d in self.universe.structural}
        names = {func, *self._readers[func]}
        return tuple((decision, option) for decision, option in case if about[decision] in names)

    def _clauses(self, asked: Iterable[Asked], case: StructuralChoice) -> Iterator[Clause]:
        return self._at(self._sizes, asked, case)

    def _at(
        self, every: Mapping[str, dict[str, Expr]], asked: Iterable[Asked], case: StructuralChoice
    ) -> Iterator[Clause]:
        """The clauses of checks at some sizes."""
        numeric = {d.name for d in self.universe.numeric}
        for item in asked:
            found: dict[Expr, str] = {}
            for size, values in every.items():
                found.setdefault(_with_numbers(substitute(item.check.holds, values)), size)
            for holds, size in found.items():
                decided = isinstance(holds, Const) and bool(holds.value)
                if not decided and numeric.issuperset(holds.names):
                    yield Clause(item.rule.id, item.check.func, case, holds, size)

    def _closed(self, func: str, case: StructuralChoice, schedule: Schedule) -> Iterator[Clause]:
        """Clauses that fix the numbers which a Func's schedule does not mention, once for each
        case.
        """
        is_open = parameters(Schedule((schedule.of(func),)))
        key = (CLOSED, func, case)
        for decision in self.universe.numeric if key not in self._kept else ():
            if decision.func == func and decision.name not in is_open:
                first = constant(int(decision.options[0]), Int32)
                holds = compare("eq", Variable(Int32, decision.name), first)
                yield Clause(CLOSED, func, case, holds)
        self._kept[key] = ()


def readers(pipeline: Pipeline) -> dict[str, frozenset[str]]:
    """For each Func its consumers, direct and indirect."""
    found: dict[str, frozenset[str]] = {}
    for function in reversed(pipeline.functions):
        direct = pipeline.consumers(function.name)
        found[function.name] = frozenset(direct).union(*(found[d] for d in direct))
    return found
