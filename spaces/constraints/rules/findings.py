"""Findings: failed checks of rules, in words and with their numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from attrs import evolve, field, frozen

from spaces.constraints.rules.rule import AdviceRule, Check, CheckValue, Rule
from spaces.model.expressions.expr import Const, Expr
from spaces.model.expressions.rewrite import variables
from spaces.model.formulas.algebra import INTEGERS, read_all
from spaces.model.schedules.conditions import format_condition

FoundValue: TypeAlias = int | str
"""A value in a finding: a number, or a text, also of a formula whose sizes are unknown."""


@frozen
class Finding:
    """One place where a schedule breaks a rule or gets advice.

    Attributes:
        rule: the rule's id.
        func: the Func whose schedule it concerns.
        stage: 0 for its pure stage, n for its update n - 1.
        loop: the loop, Var, dimension or image at fault, as written; empty if the fault has none.
        message: a sentence on what is wrong, and one on what to change.
        values: the values that the message names; a formula is a text.
    """

    rule: str
    func: str
    stage: int
    loop: str
    message: str
    values: Mapping[str, FoundValue] = field(factory=dict, hash=False)

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"

    def json(self) -> dict[str, Any]:
        """As a dictionary of JSON's types."""
        return {
            "rule": self.rule,
            "func": self.func,
            "stage": self.stage,
            "loop": self.loop,
            "message": self.message,
            "values": dict(self.values),
        }


@frozen
class Violation(Finding):
    """One rule that a schedule breaks."""


@frozen
class Advice(Finding):
    """A directive without an effect, or with an effect that is easy to overlook."""


AnyFinding = TypeVar("AnyFinding", bound=Finding)


def stated_under(finding: AnyFinding, assumptions: Sequence[Expr]) -> AnyFinding:
    """The finding, with the conditions of specializations under which it applies."""
    if not assumptions:
        return finding
    where = " and ".join(map(format_condition, assumptions))
    return evolve(finding, message=f"{finding.message} (Where {where}.)")


@frozen
class Asked:
    """A check with its rule."""

    rule: Rule | AdviceRule
    check: Check


def failing(asked: Iterable[Asked], sizes: Mapping[str, float]) -> Iterator[Asked]:
    """The checks that fail at ``sizes``; without those that depend on other sizes."""
    done: dict[Expr, int] = {}
    return (item for item in asked if fails(item.check, sizes, done))


def fails(check: Check, sizes: Mapping[str, float], done: dict[Expr, int]) -> bool:
    """Whether a check is known to fail at ``sizes``. ``done`` caches the values of terms that
    checks share.
    """
    if isinstance(check.holds, Const):
        return not check.holds.value
    known = check.holds.names <= sizes.keys()
    return known and not read_all((check.holds,), sizes, INTEGERS, done)[0]


def violation(item: Asked, sizes: Mapping[str, float]) -> Violation:
    """The violation of a check that fails at ``sizes``."""
    return Violation(*_found(item, sizes))


def advice(item: Asked, sizes: Mapping[str, float]) -> Advice:
    """The advice of a check that fails at ``sizes``."""
    return Advice(*_found(item, sizes))


def _found(
    item: Asked, sizes: Mapping[str, float]
) -> tuple[str, str, int, str, str, dict[str, FoundValue]]:
    check = item.check
    values = {n: _value(v, sizes) for n, v in check.named_values.items()}
    message = sentence(check, values) + _at(variables(check.holds), sizes)
    return item.rule.id, check.func, check.stage, check.loop, message, values


def _at(names: Collection[str], values: Mapping[str, float]) -> str:
    """The sizes and parameters on which a check depends, with their usual values."""
    sizes, scalars = (
        ", ".join(f"{n} = {values[n]}" for n in sorted(names) if ("." in n) == is_size)
        for is_size in (True, False)
    )
    parts = [f"the estimated sizes {sizes}"] * bool(sizes) + [f"the default {scalars}"] * bool(
        scalars
    )
    return f" (At {' and '.join(parts)}.)" if parts else ""


def sentence(check: Check, values: Mapping[str, FoundValue]) -> str:
    """The message and advice of a check with its values filled in."""
    return f"{check.message} {check.advice}".strip().format_map(values)


def sentence_at(check: Check, sizes: Mapping[str, float]) -> str:
    """The message and advice of a check with its values at these sizes; formulas if they depend on
    others.
    """
    return sentence(check, {n: _value(v, sizes) for n, v in check.named_values.items()})


def _value(value: CheckValue, sizes: Mapping[str, float]) -> FoundValue:
    """The number of a value; its formula as text if a size has no estimate."""
    if not isinstance(value, Expr):
        return value() if callable(value) else value
    if all(name in sizes for name in value.names):
        return int(read_all((value,), sizes, INTEGERS)[0])
    return str(value)
