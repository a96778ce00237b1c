"""What a rule is: a statement about schedules, and the function that finds where it is at stake.

A rule yields :class:`Check` records. Each holds a boolean formula, which the verdict reads as
ints, a lattice of tile sizes as arrays, and the solver as terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeAlias, TypeVar

from attrs import field, frozen

from spaces.constraints.devices.device import Device
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.records import Records
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Const, Expr, constant
from spaces.model.expressions.types import Bool
from spaces.model.schedules.schedule import Schedule

CheckValue: TypeAlias = Expr | int | str | Callable[[], str]
"""What a message names: a formula, a number, text, or how to find a text that takes some work."""

VIOLATED: Const = constant(False, Bool)
"""The formula of a check that does not depend on any parameter and fails."""


@frozen
class Check:
    """One place where a rule applies.

    Attributes:
        func: the Func whose schedule is judged.
        holds: the condition for it to be legal; :data:`VIOLATED` where no number can save it.
        message: what is wrong where it does not hold, with ``{name}`` for each of ``values``.
        advice: what to change, likewise.
        stage: 0 for the pure stage, n for update n - 1.
        loop: the loop, Var or dimension at fault, as written; empty where it is none in particular.
        values: the quantities that clash, by name.
    """

    func: str
    holds: Expr
    message: str
    advice: str = ""
    stage: int = 0
    loop: str = ""
    values: Mapping[str, CheckValue] = field(factory=dict)


S = TypeVar("S")


@frozen
class _Rule(Generic[S]):
    """What all rules have.

    Attributes:
        id: the subject and a name within it.
        statement: a sentence that says what must hold.
        source: who says so.
        check: finds where it is at stake.
        units: of the numbers among the ``values`` of its checks, by name.
    """

    id: str
    statement: str
    source: str
    check: Callable[[S, str], Iterable[Check]]
    units: Mapping[str, str] = field(factory=dict, eq=False)


@frozen
class PipelineRule(_Rule[tuple[Pipeline, Device]]):
    """A rule that reads nothing of a schedule: what it refuses, it refuses under any. ``check`` is
    asked once for the whole pipeline, with the pipeline's name in place of a Func's.
    """


@frozen
class MatchRule(_Rule[tuple[Pipeline, Schedule]]):
    """A rule about which entries a schedule has; no other rule is asked where one fails. ``check``
    is asked once for the whole schedule, with the pipeline's name in place of a Func's.
    """


@frozen
class OwnRule(_Rule[Records]):
    """A rule that reads nothing of the schedule but the entry of the Func it is asked about."""


@frozen
class CallRule(_Rule[Records]):
    """A rule that reads the entry of a Func and of all Funcs that read it, directly or not."""


@frozen
class NestRule(_Rule[NestView]):
    """A rule about the loop nest; ``check`` is asked once for each computed Func."""


@frozen
class ExactRule(_Rule[Records]):
    """A rule for callers who want the results of the algorithm bit for bit (``exact=True``);
    ``check`` runs once for each Func.
    """


Rule: TypeAlias = PipelineRule | MatchRule | OwnRule | CallRule | NestRule | ExactRule


@frozen
class AdviceRule(_Rule[NestView]):
    """What a directive must do to have an effect, or to have no other than its author may expect.
    It is asked of every Func of a legal schedule; where a check fails the schedule stays legal.
    """


def pipeline_rule(
    id: str, statement: str, source: str, **units: str
) -> Callable[[Callable[[tuple[Pipeline, Device], str], Iterable[Check]]], PipelineRule]:
    """Make a function ``((pipeline, device), name) -> checks`` a :class:`PipelineRule`."""
    return lambda check: PipelineRule(id, statement, source, check, units)


def match_rule(
    id: str, statement: str, source: str, **units: str
) -> Callable[[Callable[[tuple[Pipeline, Schedule], str], Iterable[Check]]], MatchRule]:
    """Make a function ``((pipeline, schedule), name) -> checks`` a :class:`MatchRule`."""
    return lambda check: MatchRule(id, statement, source, check, units)


def own_rule(
    id: str, statement: str, source: str, **units: str
) -> Callable[[Callable[[Records, str], Iterable[Check]]], OwnRule]:
    """Make a function ``(records, func) -> checks`` an :class:`OwnRule`."""
    return lambda check: OwnRule(id, statement, source, check, units)


def call_rule(
    id: str, statement: str, source: str, **units: str
) -> Callable[[Callable[[Records, str], Iterable[Check]]], CallRule]:
    """Make a function ``(records, func) -> checks`` a :class:`CallRule`."""
    return lambda check: CallRule(id, statement, source, check, units)


def nest_rule(
    id: str, statement: str, source: str, **units: str
) -> Callable[[Callable[[NestView, str], Iterable[Check]]], NestRule]:
    """Make a function ``(nest view, func) -> checks`` a :class:`NestRule`."""
    return lambda check: NestRule(id, statement, source, check, units)


def exact_rule(
    id: str, statement: str, source: str, **units: str
) -> Callable[[Callable[[Records, str], Iterable[Check]]], ExactRule]:
    """Make a function ``(records, func) -> checks`` an :class:`ExactRule`."""
    return lambda check: ExactRule(id, statement, source, check, units)


def advice_rule(
    id: str, statement: str, source: str, **units: str
) -> Callable[[Callable[[NestView, str], Iterable[Check]]], AdviceRule]:
    """Make a function ``(nest view, func) -> checks`` an :class:`AdviceRule`."""
    return lambda check: AdviceRule(id, statement, source, check, units)
