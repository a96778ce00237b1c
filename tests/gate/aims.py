"""What the next cases are to contain: the pairs of constructs that few legal cases had."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from attrs import frozen

from tests.gate.pairs import Pairs
from tests.gate.universe import is_of_pipelines, universe

WANTED = 20
"""Legal cases that each pair is to have."""

GIVEN_UP = 150
"""Cases with a pair after which, if all broke the same rule, it is aimed at no more."""

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
        """What the pipeline of a group of cases is to contain."""
        pairs, mixed = self._of_group(seed, turn)
        return _names([*(c for pair in pairs for c in pair), *(a for a, _ in mixed)])

    def of_case(self, seed: int, turn: int, number: int) -> frozenset[str]:
        """What the schedule of a case is to contain."""
        rng = random.Random(f"{seed} aims of case {number}")
        _, mixed = self._of_group(seed, turn)
        wanted = [b for _, b in mixed if rng.random() < 0.7]
        if self.schedules and rng.random() < 0.6:
            wanted += rng.choice(self.schedules)
        return _names(wanted)

    def _of_group(self, seed: int, turn: int) -> tuple[list[Pair], list[Pair]]:
        rng = random.Random(f"{seed} aims of {turn}")
        few, some = min(2, len(self.pipelines)), min(2, len(self.mixed))
        return rng.sample(self.pipelines, few), rng.sample(self.mixed, some)

    def json(self) -> list[Any]:
        """As JSON's types; read back by :meth:`of`."""
        return [[list(p) for p in part] for part in (self.pipelines, self.mixed, self.schedules)]

    @classmethod
    def of(cls, document: Sequence[Any]) -> Self:
        """What :meth:`json` wrote."""
        return cls(*(tuple((a, b) for a, b in part) for part in document))


def rarest(rng: random.Random, pairs: Pairs, count: int) -> Aims:
    """Pairs that few legal cases had: those of the fewest first, in an order that is drawn."""
    of_pipelines = np.array([is_of_pipelines(name) for name in universe()])
    rows, columns = np.triu_indices(len(universe()))
    legal, drawn = pairs.legal[rows, columns], pairs.drawn[rows, columns]
    hopeless = (legal == 0) & (drawn >= GIVEN_UP)
    open_ = np.nonzero((legal < WANTED) & ~hopeless)[0]
    order = sorted(open_.tolist(), key=lambda i: (int(legal[i]), int(drawn[i]) // 20, rng.random()))
    kinds = of_pipelines[rows].astype(int) + of_pipelines[columns]
    found: list[tuple[Pair, ...]] = []
    for kind in (2, 1, 0):
        chosen = [i for i in order if kinds[i] == kind][:count]
        found.append(tuple((int(rows[i]), int(columns[i])) for i in chosen))
    return Aims(*found)


def _names(numbers: Sequence[int]) -> frozenset[str]:
    return frozenset(universe()[number] for number in numbers)
