"""Legal schedules of a space by their rank: their place in its iteration."""

from __future__ import annotations

import itertools
import math
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator

import numpy as np
from attrs import define, field, frozen
from numpy.typing import NDArray

from spaces.enumerate.space.counting.count import length
from spaces.enumerate.space.finding import find, way_to
from spaces.enumerate.space.listing import is_listed, promising_structures
from spaces.enumerate.space.space import Space
from spaces.enumerate.space.structure import Structure
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.expressions.numbers import seconds_given
from spaces.model.schedules.schedule import Schedule


@frozen
class Ranked:
    """The totals of a running search for the rank of a schedule.

    Attributes:
        structures: the number of structures judged.
        before: the number of legal schedules in them that come before the schedule; of the last
            totals, the rank.
    """

    structures: int
    before: int


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


def positions(space: Space) -> Positions:
    """The ranks of the schedules of a space."""
    return Positions(lambda: promising_structures(space), space.legal)


def schedule_at(space: Space, rank: int) -> Schedule:
    """The legal schedule of a rank, its place in the iteration from 0; negative ranks count from
    the end.

    Raises:
        IndexError: there are not as many legal schedules, or no proof shows that the one of this
            rank keeps its values, so that the iteration leaves it out.
        TypeError: the rank is negative and the space is too large to be counted.
    """
    place = rank + space.once(length) if rank < 0 else rank
    found = None if place < 0 else space.once(positions).at(place)
    if found is None:
        raise IndexError(
            f"The space of {space.pipeline.name} has no legal schedule of rank {rank}; ranks go "
            "from 0 to len(space) - 1, and from -1 down to -len(space)."
        )
    if not is_listed(space, found):
        raise IndexError(
            f"The space of {space.pipeline.name} leaves out the schedule of rank {rank}.\n"
            f"{space.verdict(found)}"
        )
    return found


def schedules_at(space: Space, ranks: slice) -> list[Schedule]:
    """The legal schedules of a slice of the iteration.

    Raises:
        TypeError: an end of the slice is negative and the space is too large to be counted.
    """
    start, step = ranks.start or 0, ranks.step or 1
    stop = sys.maxsize if ranks.stop is None else ranks.stop
    if min(start, stop, step) < 0:
        start, stop, step = ranks.indices(space.once(length))
    found: list[Schedule] = []
    for rank in range(start, stop, step):
        schedule = space.once(positions).at(rank)
        if schedule is None:
            break
        if is_listed(space, schedule):
            found.append(schedule)
    return found


def rank(space: Space, schedule: Schedule, *, seconds: float = math.inf) -> int:
    """The place of a legal schedule in the iteration, from 0: ``space[rank]`` is the same schedule,
    up to the names of its loops.

    It judges all structures before it once.

    Raises:
        ValueError, TimeoutError: as :func:`ranking` does.
    """
    *_, last = ranking(space, schedule, seconds=seconds)
    return last.before


def ranking(space: Space, schedule: Schedule, *, seconds: float = math.inf) -> Iterator[Ranked]:
    """The running totals of :func:`rank`; the last ones are exact.

    Raises:
        ValueError: the schedule is illegal, or the space has no such schedule.
        TimeoutError: that takes longer than ``seconds``.
    """
    deadline = Deadline.after(seconds_given("rank(seconds)", seconds))
    try:
        with deadline.kept():
            way_to(space, schedule)  # says what is missing
            found = find(space, schedule)
            if found is None:
                verdict = space.verdict(schedule)
                raise ValueError(f"Only legal schedules have a rank.\n{verdict}")
        yield from deadline.each(space.once(positions).ranking(*found))
    except OutOfTime:
        raise TimeoutError(
            f"Judging all structures before the schedule takes longer than {seconds:g} s; give "
            "rank more seconds."
        ) from None
