"""Trials that no other one beats in all objectives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spaces.backend.measuring.metrics import CODE, MEMORY
from spaces.cost.measurer import TIME
from spaces.tuning.stored_trials import StoredTrials
from spaces.tuning.trial import Trial

OBJECTIVES = (TIME, MEMORY, CODE)
"""The objectives that every trial on a CPU has."""


def pareto_trials(
    store: StoredTrials, study: int, objectives: Sequence[str] = OBJECTIVES
) -> list[Trial]:
    """The trials of a study that are not beaten: no other one is at least as good in all objectives
    and better in one. They are sorted by the first objective, then by the next ones.

    Times are compared by the median of their ratios; where intervals overlap, either may be faster.
    Trials without a value for each objective are left out.

    Args:
        store: the store.
        study: the number of the study.
        objectives: names of objectives: ``time``, the ratio to the reference; ``memory_bytes``,
            ``code_bytes``, and those of the user's metrics. The lower the better.

    Raises:
        ValueError: no objective is given, or no trial with times has a value for one of them.
        StoreError: there is no such study.
    """
    store.device_of(study)
    if not objectives:
        raise ValueError("Give at least one objective, such as time.")
    noted = [(number, {**metrics, TIME: ratio}) for number, ratio, metrics in store.noted(study)]
    for name in objectives:
        if noted and not any(name in values for _, values in noted):
            known = sorted({one for _, values in noted for one in values})
            raise ValueError(
                f"No trial has a value for {name!r}; objectives are {', '.join(known)}."
            )
    whole = [
        (number, [values[name] for name in objectives])
        for number, values in noted
        if all(name in values for name in objectives)
    ]
    rows = np.array([row for _, row in whole], dtype=np.float64).reshape(len(whole), -1)
    found = (store.trial(study, whole[place][0]) for place in _find_unbeaten(rows))
    return [one for one in found if one is not None]


def _find_unbeaten(rows: NDArray[np.float64]) -> list[int]:
    """The places of the rows that no other row beats, in lexicographic order; of equal rows all
    stay.
    """
    kept: list[int] = []
    for place in np.lexsort(rows.T[::-1]).tolist():  # what beats a row comes before it
        row, before = rows[place], rows[kept]
        if not ((before <= row).all(axis=1) & (before < row).any(axis=1)).any():
            kept.append(place)
    return kept
