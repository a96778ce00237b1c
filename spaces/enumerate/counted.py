"""Counts legal schedules: each structure is judged once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from spaces.enumerate.events import Counted
from spaces.enumerate.structure import Structure
from spaces.model.deadline import Deadline, OutOfTime


def counted(
    structures: Iterable[Structure],
    legal: Callable[[Structure], NDArray[np.bool_]],
    seconds: float,
) -> Iterator[Counted]:
    """The running totals of some structures; the last ones are exact.

    Args:
        structures: lists each once.
        legal: which choices of a structure are legal, in the shape of its lattice.
        seconds: the time limit.

    Raises:
        TimeoutError: the count takes longer.
    """
    deadline = Deadline.after(seconds)
    parts = ((i, p) for i, s in enumerate(structures, start=1) for p in s.parts())
    totals = Counted()
    try:
        for number, part, found in deadline.each((i, p, int(legal(p).sum())) for i, p in parts):
            totals = Counted(number, totals.considered + part.size, totals.legal + found)
            yield totals
    except OutOfTime:
        raise TimeoutError(
            f"The count did not end in {seconds:g} s: {totals.legal:,} of {totals.considered:,} "
            f"choices of {totals.structures:,} structures are legal so far; bounds() and "
            "estimate() say what is known of their number."
        ) from None
