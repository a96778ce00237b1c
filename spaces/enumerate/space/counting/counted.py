"""Counts legal schedules: each structure is judged once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from spaces.enumerate.search.events import Counted
from spaces.enumerate.space.structure import Structure
from spaces.model.amounts import amount
from spaces.model.deadline import Deadline, OutOfTime


def counted(
    structures: Iterable[Structure],
    judged: Callable[[Structure], Iterable[tuple[int, int]]],
    seconds: float,
) -> Iterator[Counted]:
    """The running totals of some structures; the last ones are exact.

    Args:
        structures: lists each once.
        judged: the number of choices, and of legal ones, of each part of a structure.
        seconds: the time limit.

    Raises:
        TimeoutError: the count takes longer.
    """
    deadline = Deadline.after(seconds)
    totals = Counted()
    try:
        parts = ((i, *part) for i, s in enumerate(structures, start=1) for part in judged(s))
        for number, size, legal in deadline.each(parts):
            totals = Counted(number, totals.considered + size, totals.legal + legal)
            yield totals
    except OutOfTime:
        raise TimeoutError(
            f"The count did not end in {seconds:g} s: {totals.legal:,} of {totals.considered:,} "
            f"choices of {amount(totals.structures, 'structure')} are legal so far; bounds() and "
            "estimate() say what is known of their number."
        ) from None
