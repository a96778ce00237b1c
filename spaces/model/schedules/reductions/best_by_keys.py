"""Tuples that keep the best of several values, where further components decide between equally good
ones: ``select(v > now | (v == now & i < at), ..., ...)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import permutations

from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.expressions.expr import Expr, Op, constant
from spaces.model.expressions.types import Bool
from spaces.model.schedules.reductions.associative import (
    KEPT,
    Part,
    following,
    identity,
    is_now,
    now,
    reads_own,
)

_MIRRORED = {"lt": "gt", "gt": "lt", "eq": "eq"}
_ORDERS = {"lt": "min", "gt": "max"}

_Keys = tuple[tuple[int, str], ...]
"""Components that are compared, the most important first, each with how what follows compares with
what there is where it is better.
"""


def best_by_keys(function: Function, stage: Stage, group: tuple[int, ...]) -> Part | None:
    """What components do that keep the best by several keys. If all components are keys, equally
    good ones are the same, so the order does not matter.
    """
    tests = dict.fromkeys(
        value.args[0]
        for value in (stage.values[n] for n in group)
        if isinstance(value, Op) and value.name == "select"
    )
    if len(tests) != 1:
        return None
    (test,) = tests
    taken = {number: _taken(function, stage, number) for number in group}
    operands = tuple(operand for operand in taken.values() if operand is not None)
    if len(operands) != len(group) or reads_own(function, *operands):
        return None
    keys = _keys(function, stage, test, taken)
    if len(keys) < 2 or not _extremes_agree(stage, group, keys):
        return None
    names = dict(keys)
    better = _better(function, keys)
    types = [function.types[number] for number in group]
    return Part(
        group,
        operands,
        tuple(
            identity(_ORDERS[names[n]], t) if n in names else constant(0, t)
            for n, t in zip(group, types, strict=True)
        ),
        tuple(
            Op(t, "select", (better, following(function, n), now(function, n)))
            for n, t in zip(group, types, strict=True)
        ),
        order="" if len(names) == len(group) else "keeps the first of equally good ones",
        inexact=KEPT if any(function.types[n].is_float for n in names) else "",
    )


def _taken(function: Function, stage: Stage, number: int) -> Expr | None:
    """What a component takes where the test holds; it keeps its value elsewhere."""
    match stage.values[number]:
        case Op(name="select", args=(_, taken, kept)) if is_now(function, stage, number, kept):
            return taken
        case Op(name="min" | "max", args=args):
            others = [a for a in args if not is_now(function, stage, number, a)]
            return others[0] if len(others) == 1 else None
    return None


def _extremes_agree(stage: Stage, group: Sequence[int], keys: _Keys) -> bool:
    """Whether components without the test take what it takes: only the first key may be one, of
    integers.
    """
    first, name = keys[0]
    return all(
        value.name == "select"
        or (number == first and value.name == _ORDERS[name] and not value.type.is_float)
        for number, value in ((n, stage.values[n]) for n in group)
        if isinstance(value, Op)
    )


def _keys(function: Function, stage: Stage, test: Expr, taken: dict[int, Expr | None]) -> _Keys:
    """The keys by which a test compares; empty if it does something else."""
    for number, name in _comparisons(function, stage, test, taken):
        if name in _ORDERS:
            return ((number, name),)
    if not isinstance(test, Op) or test.name != "or":
        return ()
    for first, second in permutations(test.args):
        if not isinstance(second, Op) or second.name != "and":
            continue
        for number, name in _comparisons(function, stage, first, taken):
            for equal, rest in permutations(second.args):
                if (number, "eq") in _comparisons(function, stage, equal, taken):
                    others = _keys(function, stage, rest, taken)
                    if name in _ORDERS and others and number not in dict(others):
                        return ((number, name), *others)
    return ()


def _comparisons(
    function: Function, stage: Stage, test: Expr, taken: dict[int, Expr | None]
) -> Iterator[tuple[int, str]]:
    """The components whose next value a test compares with the present one, and how."""
    if not isinstance(test, Op) or test.name not in _MIRRORED:
        return
    a, b = test.args
    for left, right, name in ((a, b, test.name), (b, a, _MIRRORED[test.name])):
        for number, operand in taken.items():
            if left is operand and is_now(function, stage, number, right):
                yield number, name


def _better(function: Function, keys: _Keys) -> Expr:
    """The test of the keys, of what follows and of what there is."""

    def compared(number: int, name: str) -> Expr:
        return Op(Bool, name, (following(function, number), now(function, number)))

    def after(rest: Expr, key: tuple[int, str]) -> Expr:
        number, name = key
        equal = Op(Bool, "and", (compared(number, "eq"), rest))
        return Op(Bool, "or", (compared(number, name), equal))

    *others, last = keys
    return reduce(after, reversed(others), compared(*last))
