"""Tuples in which one component keeps its least or greatest value, and all others change with
it.
"""

from __future__ import annotations

from attrs import evolve

from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.expr import Expr, Op, constant
from spaces.model.expressions.types import Bool
from spaces.model.schedules.reductions.associative import (
    Part,
    following,
    identity,
    is_now,
    now,
    reads_own,
    why_inexact,
)

_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_NEGATED = {"lt": "ge", "gt": "le", "le": "gt", "ge": "lt"}
_ORDERS = {"lt": "min", "gt": "max", "le": "min", "ge": "max"}
"""How the operand of a component compares with what there is, where it is taken."""


def best(function: Function, stage: Stage, group: tuple[int, ...]) -> Part | None:
    """What components do that keep the best; of equal ones the first or the last stays."""
    for key in group:
        # The last of equal floats may be no number.
        for name in ("lt", "gt") if function.types[key].is_float else _ORDERS:
            operands = tuple(_taken(function, stage, number, key, name) for number in group)
            found = tuple(operand for operand in operands if operand is not None)
            if len(found) == len(operands) and not reads_own(function, *found):
                part = _best_by(function, name, key, group, found)
                return evolve(part, inexact=_inexact(function, stage, key))
    return None


def _inexact(function: Function, stage: Stage, key: int) -> str:
    """Why partial results may have other bits: a minimum or maximum takes the last of equal zeros,
    and a NaN, where the comparison of partial results does not.
    """
    value = stage.values[key]
    is_selected = isinstance(value, Op) and value.name == "select"
    return "" if is_selected else why_inexact("min", function.types[key])


def _taken(function: Function, stage: Stage, number: int, key: int, name: str) -> Expr | None:
    """What a component takes where the operand of component ``key`` is less (``lt``) or greater
    (``gt``) than what there is, or equal (``le``, ``ge``), if it does so.
    """
    value = stage.values[number]
    if not isinstance(value, Op):
        return None
    if value.name == _ORDERS[name] and number == key:
        others = [a for a in value.args if not is_now(function, stage, number, a)]
        return others[0] if len(others) == 1 else None
    if value.name != "select":
        return None
    test, taken, kept = value.args
    negated = is_now(function, stage, number, taken)
    if negated:
        taken, kept = kept, taken
    if not is_now(function, stage, number, kept) or not isinstance(test, Op):
        return None
    order = _NEGATED.get(test.name, "") if negated else test.name
    first, second = test.args[0], test.args[-1]
    mirrored = _MIRRORED.get(order, "")
    for left, right, comparison in ((first, second, order), (second, first, mirrored)):
        compared = taken if number == key else _key_operand(function, stage, key)
        is_kept = is_now(function, stage, key, right)
        if comparison == name and left is compared and is_kept:
            return taken
    return None


def _key_operand(function: Function, stage: Stage, key: int) -> Expr | None:
    """What the values of component ``key`` are compared with."""
    value = stage.values[key]
    args = value.args[1:] if isinstance(value, Op) and value.name == "select" else value.children
    others = [a for a in args if not is_now(function, stage, key, a)]
    return others[0] if len(others) == 1 else None


def _best_by(
    function: Function, name: str, key: int, group: tuple[int, ...], operands: tuple[Expr, ...]
) -> Part:
    better = Op(Bool, name, (following(function, key), now(function, key)))
    worst = identity(_ORDERS[name], function.types[key])
    is_last = name in ("le", "ge")
    return Part(
        group,
        operands,
        tuple(worst if n == key else constant(0, function.types[n]) for n in group),
        tuple(
            Op(function.types[n], "select", (better, following(function, n), now(function, n)))
            for n in group
        ),
        order=f"keeps the {'last' if is_last else 'first'} of equally good ones",
        of_some=is_last,
    )
