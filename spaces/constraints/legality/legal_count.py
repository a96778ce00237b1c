"""Counts the legal members of a family of schedules without a look at each.

Most conditions are about the factors of one Func and of the loops around it. Choices that no
condition relates are independent, so their numbers multiply.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, TypeAlias

import numpy as np

from spaces.constraints.legality.lattice import holding
from spaces.model.deadline import ask_clock
from spaces.model.expressions.expr import Expr

Judged: TypeAlias = tuple[tuple[Expr, ...], Mapping[str, float]]
"""Conditions, and the sizes that are known there."""

MOST_RELATED = 1 << 23
"""The most choices of related factors that are counted, in a second or two."""

_AT_ONCE = 1 << 16
"""The most choices that are judged as one array."""


def legal_count(judged: Iterable[Judged], menus: Mapping[str, Sequence[int]]) -> int | None:
    """The number of choices, one from each menu, for which all conditions hold. A condition that
    has neither a menu nor a known size for one of its names does not count. None if conditions
    relate factors with more than :data:`MOST_RELATED` choices.
    """
    decided = [
        ([c for c in conditions if all(name in sizes or name in menus for name in c.names)], sizes)
        for conditions, sizes in judged
    ]
    related = [c.names & menus.keys() for conditions, _ in decided for c in conditions]
    groups = _components(menus, related)
    if any(math.prod(len(menus[name]) for name in group) > MOST_RELATED for group in groups):
        return None
    count = 1
    for names in (frozenset[str](), *groups):
        own = [
            ([c for c in conditions if _is_about(c, names, menus)], sizes)
            for conditions, sizes in decided
        ]
        count *= _count_of(own, {name: menu for name, menu in menus.items() if name in names})
        if not count:
            break
    return count


def _is_about(condition: Expr, names: frozenset[str], menus: Mapping[str, Sequence[int]]) -> bool:
    """Whether the factors of a condition are among some names; none if it has no factors."""
    about = condition.names & menus.keys()
    return about <= names and bool(about) is bool(names)


def _components(
    menus: Mapping[str, Sequence[int]], related: Iterable[Set[str]]
) -> list[frozenset[str]]:
    """The names in groups such that no condition relates two of them."""
    found = [frozenset((name,)) for name in menus]
    for names in related:
        if names:
            joined = frozenset[str]().union(*(group for group in found if group & names))
            found = [group for group in found if not group & names]
            found.append(joined)
    return found


def _count_of(
    conditions: Sequence[tuple[Sequence[Expr], Mapping[str, float]]],
    menus: Mapping[str, Sequence[int]],
) -> int:
    """The number of choices of related factors for which conditions hold; array by array, so that
    none is too large.
    """
    outer: list[str] = []
    inner: list[str] = []
    size = 1
    for name in sorted(menus, key=lambda name: len(menus[name])):
        is_axis = len(menus[name]) > 1 and size * len(menus[name]) <= _AT_ONCE
        size *= len(menus[name]) if is_axis else 1
        (inner if is_axis else outer).append(name)
    axes: Any = np.ix_(*(np.array(menus[name], np.int64) for name in inner)) if inner else ()
    columns = dict(zip(inner, axes, strict=True))
    shape = tuple(len(menus[name]) for name in inner)
    total = 0
    for numbers in itertools.product(*(menus[name] for name in outer)):
        ask_clock()
        chosen = dict(zip(outer, numbers, strict=True))
        mask = np.ones(shape, dtype=np.bool_)
        for own, sizes in conditions:
            mask &= holding(own, {**sizes, **columns, **chosen}, shape)
        total += int(mask.sum())
    return total
