"""What the next cases are to contain: the pairs of constructs that few legal cases had."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from attrs import frozen

from tests.differential.impossible import why_impossible
from tests.differential.pairs import Pairs
from tests.differential.universe import is_of_pipelines, universe

WANTED = 20
"""Legal cases that each pair is to have."""

GIVEN_UP = 150
"""Cases with a pair after which, if all broke the same rule, it is aimed at no more."""

_MOST = 4
"""Constructs that a group of cases aims at."""

Pair = tuple[int, int]


@frozen
class Aims:
    """Pairs of constructs, by number: of pipelines, of a pipeline and a schedule, of schedules."""

    pipelines: tuple[Pair, ...] = ()
    mixed: tuple[Pair, ...] = ()
    schedules: tuple[Pair, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.pipelines or self.mixed or self.schedules)

    def of_subject(self, seed: int, turn: int) -> frozenset[str]:
        """What the pipeline of a group of cases is to contain, and what schedules that it is to
        have a place for.
        """
        return self._of_group(seed, turn)

    def of_case(self, seed: int, turn: int, number: int) -> frozenset[str]:
        """What the schedule of a case is to contain: few constructs, as each makes it rarer that
        the case is legal.
        """
        rng = random.Random(f"{seed} aims of case {number}")
        group = sorted(c for c in self._of_group(seed, turn) if not is_of_pipelines(c))
        count = rng.choice((1, 1, 2))
        wanted = set(rng.sample(group, min(count, len(group))) if rng.random() < 0.8 else ())
        if self.schedules and rng.random() < (0.25 if wanted else 0.8):
            wanted |= _names(rng.choice(self.schedules))
        return frozenset(wanted)

    def _of_group(self, seed: int, turn: int) -> frozenset[str]:
        """Constructs that have many of the pairs among them: a pair, and what meets it most."""
        rng = random.Random(f"{seed} aims of {turn}")
        pairs = [*self.pipelines, *self.mixed, *self.schedules]
        if not pairs:
            return frozenset()
        found = set(rng.choice(pairs))
        while len(found) < _MOST:
            met: Counter[int] = Counter()
            for a, b in pairs:
                if (a in found) != (b in found):
                    met[b if a in found else a] += 1
            fitting = [c for c in sorted(met) if _fits(c, found)]
            if not fitting:
                break
            found.add(max(fitting, key=lambda c: (met[c], rng.random())))
        return _names(sorted(found))

    def json(self) -> list[Any]:
        """As JSON's types; read back by :meth:`of`."""
        return [[list(p) for p in part] for part in (self.pipelines, self.mixed, self.schedules)]

    @classmethod
    def of(cls, document: Sequence[Any]) -> Self:
        """What :meth:`json` wrote."""
        return cls(*(tuple((a, b) for a, b in part) for part in document))


def rarest(rng: random.Random, pairs: Pairs, count: int) -> Aims:
    """Pairs that few legal cases had: those that the fewest had, and some others."""
    of_pipelines = np.array([is_of_pipelines(name) for name in universe()])
    rows, columns = np.triu_indices(len(universe()))
    legal, drawn = pairs.legal[rows, columns], pairs.drawn[rows, columns]
    hopeless = (legal == 0) & (drawn >= GIVEN_UP)
    open_ = np.nonzero((legal < WANTED) & ~hopeless)[0]
    possible = [i for i in open_.tolist() if not why_impossible(*_pair(rows[i], columns[i]))]
    order = sorted(possible, key=lambda i: (int(legal[i]), int(drawn[i]) // 20, rng.random()))
    kinds = of_pipelines[rows].astype(int) + of_pipelines[columns]
    found: list[tuple[Pair, ...]] = []
    for kind in (2, 1, 0):
        alike = [i for i in order if kinds[i] == kind]
        fewest, others = alike[: count // 3], alike[count // 3 :]
        chosen = fewest + rng.sample(others, min(len(others), count - len(fewest)))
        found.append(tuple((int(rows[i]), int(columns[i])) for i in sorted(chosen)))
    return Aims(*found)


def _pair(a: int, b: int) -> tuple[str, str]:
    return universe()[a], universe()[b]


def _fits(number: int, others: Iterable[int]) -> bool:
    """Whether a construct may well stand in one case with others."""
    name = universe()[number]
    if any(why_impossible(name, universe()[other]) for other in others):
        return False
    alike = [o for o in others if is_of_pipelines(universe()[o]) == is_of_pipelines(name)]
    if not is_of_pipelines(name):
        return len(alike) < 2
    group = name.partition(": ")[0]
    same = sum(universe()[o].startswith(f"{group}: ") for o in alike)
    return same < (3 if group in ("value", "coordinate", "param type") else 2)


def _names(numbers: Sequence[int]) -> frozenset[str]:
    return frozenset(universe()[number] for number in numbers)
