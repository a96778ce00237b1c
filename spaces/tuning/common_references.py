"""Times of the references of several studies, so that results beside different ones compare.

A busy machine makes all times of a study longer, and leaves its ratios as they are. So studies with
the same reference compare by ratios, and studies with different ones through schedules that both
have timed. Studies that no schedule connects compare by plain seconds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from attrs import frozen


@frozen
class TimedStudy:
    """What a study says about its reference.

    Attributes:
        reference: the digest of the reference.
        seconds: its median time; None without times.
        ratios: for each schedule with times, by its digest, its time divided by that of the
            reference.
    """

    reference: str
    seconds: float | None
    ratios: Mapping[str, float]


def reference_seconds(studies: Sequence[TimedStudy]) -> dict[str, float]:
    """A time for each reference, so that references compare. Two references are connected if
    schedules were timed beside both; the ratios of these schedules then give the ratio of the two
    times. In each group of connected references, that with the most schedules has a measured time.
    It is from the study in which it took the least time, for other programs make no run faster.
    Infinity if there is no time.
    """
    timed: dict[str, int] = {}
    for study in studies:
        timed[study.reference] = timed.get(study.reference, 0) + len(study.ratios)
    ratios = _ratios_by_reference(studies)
    found: dict[str, float] = {}
    for root in sorted(timed, key=lambda one: -timed[one]):
        if root in found:
            continue
        least = (s.seconds for s in studies if s.reference == root and s.seconds is not None)
        found[root] = min(least, default=math.inf)
        reached = [root]
        for one in reached:
            for other in timed.keys() - found.keys():
                between = _ratio_between(ratios[one], ratios[other])
                if between is not None:
                    found[other] = found[one] * between
                    reached.append(other)
    return found


def _ratios_by_reference(studies: Sequence[TimedStudy]) -> dict[str, dict[str, float]]:
    """For each reference the ratio of each schedule to it, the median of all studies."""
    several: dict[str, dict[str, list[float]]] = {}
    for study in studies:
        mine = several.setdefault(study.reference, {})
        mine[study.reference] = [1.0]
        for schedule, ratio in study.ratios.items():
            if schedule != study.reference:
                mine.setdefault(schedule, []).append(ratio)
    return {
        reference: {schedule: statistics.median(found) for schedule, found in mine.items()}
        for reference, mine in several.items()
    }


def _ratio_between(mine: Mapping[str, float], others: Mapping[str, float]) -> float | None:
    """The time of another reference divided by that of one, by the schedules that were timed beside
    both; None if there is no such schedule.
    """
    common = mine.keys() & others.keys()
    return statistics.median(mine[one] / others[one] for one in common) if common else None
