"""Counts legal schedules: each structure is judged once."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

from attrs import frozen

from spaces.enumerate.space.counting.candidates import Candidates
from spaces.enumerate.space.counting.estimate import CountBounds
from spaces.enumerate.space.listing import structures
from spaces.enumerate.space.space import Space
from spaces.enumerate.space.structure import Structure
from spaces.model.amounts import amount
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.expressions.numbers import seconds_given

COUNTING = 1.0
"""The most seconds in which the length of a space is found."""


@frozen
class Counted:
    """The totals of a running count.

    Attributes:
        structures: the number of structures judged.
        considered: the number of choices judged, over all these structures.
        legal: the number of legal choices among them.
    """

    structures: int = 0
    considered: int = 0
    legal: int = 0


def count(space: Space, *, seconds: float = 60.0) -> int:
    """The number of legal schedules, as formulas say it.

    It judges each structure once, so it suits spaces of thousands of structures, not of millions:
    see ``space.candidates``, :func:`bounds` and ``space.estimate``. It proves nothing, so it also
    counts a schedule that the iteration leaves out because no proof shows that values are kept
    (rule ``storage.kept-values``).

    Raises:
        TimeoutError: the count takes longer than ``seconds``.
        ValueError: a restriction is a Python function.
    """
    last = Counted()
    for totals in counting(space, seconds=seconds):
        last = totals
    return last.legal


def counting(space: Space, *, seconds: float = math.inf) -> Iterator[Counted]:
    """The running totals of :func:`count`; the last ones are exact.

    Raises:
        TimeoutError: the count takes longer than ``seconds``.
        ValueError: a restriction is a Python function.
    """
    if space.restricted.predicates:
        raise ValueError(
            f"The Python restriction {space.restricted.predicates[0]} judges schedules one by "
            "one, so this space is not counted; estimate() says about how many schedules it "
            "has."
        )
    seconds = seconds_given("count(seconds)", seconds)
    deadline = Deadline.after(seconds)
    totals = Counted()
    listed = enumerate(structures(space), start=1)
    parts = ((number, *part) for number, one in listed for part in _count_parts(space, one))
    try:
        for number, size, legal in deadline.each(parts):
            totals = Counted(number, totals.considered + size, totals.legal + legal)
            yield totals
    except OutOfTime:
        raise TimeoutError(
            f"The count did not end in {seconds:g} s: {totals.legal:,} of {totals.considered:,} "
            f"choices of {amount(totals.structures, 'structure')} are legal so far; bounds() and "
            "estimate() say what is known of their number."
        ) from None


def _count_parts(space: Space, structure: Structure) -> Iterator[tuple[int, int]]:
    """For each part of a structure: the number of its choices, and how many of them the space has.
    The structure is one part if few of its factors depend on each other. Restrictions may relate
    all factors, so a restricted space counts in several parts.
    """
    if not space.where:
        count = space.judged.count(structure.schedule, structure.menus, space.nests)
        if count is not None:
            yield structure.size, count
            return
    for part in structure.parts():
        yield part.size, int(space.legal(part).sum())


def bounds(space: Space, *, seconds: float = 60.0) -> CountBounds:
    """Certain bounds of :func:`count`: it judges structures until the time ends, and other
    structures may be legal or not. The upper one is infinite if the space has more than patterns
    (``space.only_patterns``), or half of the time is too short for ``space.candidates``.
    """
    deadline = Deadline.after(seconds_given("bounds(seconds)", seconds))
    candidates: float = math.inf
    try:
        with Deadline.after(seconds / 2).kept():
            candidates = space.once(Candidates).total if space.only_patterns else math.inf
    except OutOfTime:
        pass
    last = Counted()
    try:
        for totals in counting(space, seconds=deadline.left):
            last = totals
    except TimeoutError:
        illegal = last.considered - last.legal
        return CountBounds(last.legal, candidates - illegal)
    return CountBounds(last.legal, last.legal)


def length(space: Space) -> int:
    """The number of legal schedules, as :func:`count` finds it in a second.

    Raises:
        TypeError: the space is too large for that, or has a Python restriction.
    """
    # Always a TypeError: list(space) asks for the length, and then goes on without.
    about = f"The length of this space of {space.pipeline.name} is not known: "
    try:
        found = count(space, seconds=COUNTING)
    except (TimeoutError, ValueError) as error:
        raise TypeError(f"{about}{error}") from None
    if found > sys.maxsize:
        raise TypeError(f"{about}Python has no lengths above {sys.maxsize}; count() has it.")
    return found
