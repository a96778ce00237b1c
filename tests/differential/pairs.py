"""How often two constructs met in a case, and in a legal one; a construct alone meets itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations_with_replacement
from typing import Any, Self

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from tests.differential.universe import universe


@define
class Pairs:
    """Counts of pairs, as symmetric matrices over :func:`~tests.differential.universe.universe`.

    Attributes:
        common: for each pair that no legal case had, the rules that every case with it broke.
    """

    drawn: NDArray[np.int64] = field(factory=lambda: _zeros())
    legal: NDArray[np.int64] = field(factory=lambda: _zeros())
    common: dict[tuple[int, int], frozenset[str]] = field(factory=dict)

    def add(self, constructs: Iterable[int], is_legal: bool, rules: Collection[str]) -> None:
        """Count a case: the numbers of its constructs, the verdict, and the rules it breaks."""
        found = sorted(constructs)
        at = np.ix_(found, found)
        self.drawn[at] += 1
        if is_legal:
            self.legal[at] += 1
            return
        broken = frozenset(rules)
        for pair in combinations_with_replacement(found, 2):
            if not self.legal[pair]:
                self.common[pair] = self.common.get(pair, broken) & broken

    def merge(self, other: Self) -> None:
        """Add the counts of another."""
        for pair, rules in other.common.items():
            self.common[pair] = self.common.get(pair, rules) & rules
        self.drawn += other.drawn
        self.legal += other.legal

    def json(self) -> dict[str, Any]:
        """As JSON's types: rows of the lower triangles; read back by :meth:`of`."""
        count = len(universe())
        used = sorted(p for p in self.common if not self.legal[p])
        rules = sorted({rule for pair in used for rule in self.common[pair]})
        number = {rule: i for i, rule in enumerate(rules)}
        return {
            "constructs": list(universe()),
            "drawn": [self.drawn[i, : i + 1].tolist() for i in range(count)],
            "legal": [self.legal[i, : i + 1].tolist() for i in range(count)],
            "rules": rules,
            "common": [
                [a, b, *sorted(number[r] for r in self.common[a, b])]
                for a, b in used
                if self.common[a, b]
            ],
        }

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """What :meth:`json` wrote, by names: constructs that are no more are left out."""
        known = {name: i for i, name in enumerate(universe())}
        where = [known.get(name, -1) for name in document["constructs"]]
        made = cls()
        for name in ("drawn", "legal"):
            matrix = getattr(made, name)
            for i, row in enumerate(document[name]):
                for j, count in enumerate(row):
                    if count and where[i] >= 0 and where[j] >= 0:
                        matrix[where[i], where[j]] = matrix[where[j], where[i]] = count
        for a, b, *rules in document["common"]:
            if where[a] >= 0 and where[b] >= 0:
                first, last = sorted((where[a], where[b]))
                made.common[first, last] = frozenset(document["rules"][r] for r in rules)
        for pair in zip(*np.nonzero(np.triu(made.drawn)), strict=True):
            place = (int(pair[0]), int(pair[1]))
            if not made.legal[place]:
                made.common.setdefault(place, frozenset())
        return made


def merged(counts: Iterable[Pairs]) -> Pairs:
    """The sum of the counts of several runs."""
    total = Pairs()
    for one in counts:
        total.merge(one)
    return total


def numbers(constructs: Iterable[str]) -> list[int]:
    """Constructs by their numbers in the universe; unknown ones are left out."""
    return [_numbers()[name] for name in constructs if name in _numbers()]


def _numbers() -> dict[str, int]:
    if not _known:
        _known.update((name, i) for i, name in enumerate(universe()))
    return _known


_known: dict[str, int] = {}


def _zeros() -> NDArray[np.int64]:
    return np.zeros((len(universe()), len(universe())), np.int64)
