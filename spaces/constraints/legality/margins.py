"""The rules that a legal schedule was asked, and how far it is from their limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from spaces.constraints.legality.judge import (
    ask_calls,
    ask_matching,
    ask_nest,
    ask_own,
    ask_pipeline,
    ask_specializations,
)
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.rules.findings import Asked
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import AdviceRule, Rule
from spaces.model.expressions.expr import Const, Expr, Op
from spaces.model.formulas.algebra import INTEGERS, read_all


@frozen
class Margin:
    """A check that holds.

    Attributes:
        rule: the rule.
        func: the Func whose schedule it concerns.
        loop: the loop, Var, dimension or image concerned; empty if there is none.
        stage: 0 for the pure stage, n for update n - 1.
        condition: the condition that holds, as a formula.
        numbers: the numbers that a message of the rule would name, at the estimates.
        value: the number that the rule limits, at the estimates; None if the condition compares no
            numbers, or depends on a size without an estimate.
        limit: the most that it may be, or the least.
        is_most: whether ``limit`` is the most.
    """

    rule: Rule | AdviceRule
    func: str
    stage: int
    loop: str
    condition: str
    numbers: Mapping[str, float]
    value: int | None = None
    limit: int | None = None
    is_most: bool = True

    @property
    def used(self) -> float | None:
        """The share of the limit that is used, 1 at the limit; None without numbers, or where the
        share says nothing.
        """
        if self.value is None or self.limit is None:
            return None
        part, whole = (self.value, self.limit) if self.is_most else (self.limit, self.value)
        return part / whole if 0 <= part <= whole and whole > 0 else None


def margins(checked: CheckedSchedule) -> tuple[Margin, ...]:
    """Every check that a legal schedule passed, in the order of the rules; those nearest to their
    limits come first for each rule. Of a schedule with specializations, those of its last case.
    """
    sizes = checked.pipeline.usual_values()
    found: dict[str, list[Margin]] = {}
    for asked in _asked(checked):
        found.setdefault(asked.rule.id, []).append(_margin(asked, sizes))
    return tuple(
        margin
        for of_rule in found.values()
        for margin in sorted(of_rule, key=lambda one: -(one.used or 0.0))
    )


def _asked(checked: CheckedSchedule) -> Iterator[Asked]:
    pipeline, schedule, device = checked.pipeline, checked.schedule, checked.device
    yield from ask_pipeline(pipeline, device)
    yield from ask_matching(pipeline, schedule)
    records = Records(pipeline, schedule, device)
    yield from ask_specializations(records)
    for function in pipeline.functions:
        yield from ask_own(records, function.name)
        yield from ask_calls(records, function.name)
    yield from ask_nest(checked.bounds, device)


def _margin(asked: Asked, sizes: Mapping[str, float]) -> Margin:
    check = asked.check
    numbers = {
        name: int(read_all((value,), sizes, INTEGERS)[0]) if isinstance(value, Expr) else value
        for name, value in check.values.items()
        if isinstance(value, int) or (isinstance(value, Expr) and value.names <= sizes.keys())
    }
    where = (asked.rule, check.func, check.stage, check.loop, str(check.holds), numbers)
    match check.holds:
        case Op(name="le" | "ge" | "lt" | "gt" as side, args=(left, right)):
            pair = _numbers(left, right, sizes)
            if pair is not None:
                value, limit = pair
                step = {"lt": -1, "gt": 1}.get(side, 0)  # as limits that are still allowed
                return Margin(*where, value, limit + step, side in ("le", "lt"))
    return Margin(*where)


def _numbers(left: Expr, right: Expr, sizes: Mapping[str, float]) -> tuple[int, int] | None:
    if not (left.names | right.names) <= sizes.keys() or left.type.is_float:
        return None
    match left, right:
        case Op(name="sub", args=(whole, Const() as part)), Const(value=0):
            left, right = whole, part  # a - 32 >= 0 limits a
    value, limit = read_all((left, right), sizes, INTEGERS)
    return int(value), int(limit)
