"""Legal schedules of a space by their rank: their place in its iteration."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterator

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from spaces.enumerate.search.events import Ranked
from spaces.enumerate.space.structure import Structure
from spaces.model.schedules.schedule import Schedule


@define
class Positions:
    """The ranks of legal schedules, from 0. Structures are judged in order, as far as somebody
    asks; only their numbers of legal choices are kept.

    Attributes:
        structures: lists them in the order of the iteration.
        legal: which choices of a structure are legal, in the shape of its lattice.
    """

    structures: Callable[[], Iterator[Structure]]
    legal: Callable[[Structure], NDArray[np.bool_]]
    _judged: list[Structure] = field(init=False, factory=list)
    _ends: list[int] = field(init=False, factory=lambda: [0])
    _rest: Iterator[Structure] | None = field(init=False, default=None)

    def at(self, rank: int) -> Schedule | None:
        """The schedule of a rank; None if there are not as many."""
        while self._ends[-1] <= rank:
            if not self._judge():
                return None
        number = bisect_right(self._ends, rank) - 1
        rank -= self._ends[number]
        for part in self._judged[number].parts():
            chosen = np.flatnonzero(self.legal(part))
            if rank < len(chosen):
                return part.at(int(chosen[rank]))
            rank -= len(chosen)
        raise AssertionError("a structure has other legal choices than before")

    def ranking(self, structure: Structure, index: int) -> Iterator[Ranked]:
        """The running totals of the rank of a legal choice of a structure; the last ones are exact.

        Args:
            structure: a structure of the space.
            index: the choice, by its index in the flattened lattice.
        """
        number = 0
        while number < len(self._judged) or self._judge():
            if self._judged[number] == structure:
                before = self._ends[number] + self._legal_before(structure, index)
                yield Ranked(number + 1, before)
                return
            number += 1
            yield Ranked(number, self._ends[number])
        raise AssertionError("a space lists the structures that it finds")

    def _legal_before(self, structure: Structure, index: int) -> int:
        """The number of legal choices of a structure before one of them."""
        before = 0
        for part in structure.parts():
            chosen = self.legal(part).reshape(-1)[: max(index, 0)]
            before += int(chosen.sum())
            index -= part.size
        return before

    def _judge(self) -> bool:
        """Judges one more structure. Returns False if no structure is left."""
        if self._rest is None:
            self._rest = itertools.islice(self.structures(), len(self._judged), None)
        try:
            structure = next(self._rest, None)
            if structure is None:
                return False
            legal = sum(int(self.legal(part).sum()) for part in structure.parts())
        except BaseException:
            self._rest = None  # an interrupted iteration does not go on
            raise
        self._judged.append(structure)
        self._ends.append(self._ends[-1] + legal)
        return True
