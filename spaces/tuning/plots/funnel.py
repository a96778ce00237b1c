"""What became of all candidates: how many were made, proposed, measured and kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from attrs import frozen

from spaces.cost.measurer import RunOutcome
from spaces.plots.funnel import FunnelStage, some
from spaces.tuning.plots.study_record import StudyRecord
from spaces.tuning.search_counts import SearchCounts
from spaces.tuning.top_ranked import SEARCH
from spaces.tuning.trial import Trial

OPEN = "open"
"""The class of trials without a result."""

SLOWER = "slower"
"""The class of trials that are surely slower than the fastest one."""

FASTEST = "may be the fastest"
"""The class of the fastest trial, and of those whose interval begins below the end of its."""


@frozen
class Funnel:
    """The stages from all candidates to those that may be the fastest. No stage has more than the
    one before.

    Attributes:
        stages: in order.
        classes: for each class of trials how many are in it; every trial is in exactly one.
    """

    stages: tuple[FunnelStage, ...]
    classes: Mapping[str, int]


def trial_class(trial: Trial, most: float) -> str:
    """What became of a trial: :data:`OPEN`, the outcome of a failure, :data:`SLOWER` or
    :data:`FASTEST`.

    Args:
        trial: the trial.
        most: the upper end of the interval of the fastest one.
    """
    result = trial.result
    if result is None:
        return OPEN
    if not result.seconds:
        return str(result.outcome)
    return FASTEST if result.interval[0] <= most else SLOWER


def study_funnel(record: StudyRecord) -> Funnel:
    """What became of the candidates of a study.

    Candidates are the structures that the search has made, and the schedules from elsewhere: given
    ones and changes of fast ones. The search prices most of its structures, and judges the cheapest
    of these; all that is proposed is legal. Of changes the store knows only those that were
    proposed. Older stores do not know how many structures were made, nor how many were legal.
    """
    ranked = record.ranked
    most = ranked[0].result.interval[1] if ranked and ranked[0].result else 0.0
    classes = Counter(trial_class(trial, most) for trial in record.trials)
    proposed = len(record.trials)
    elsewhere = sum(one.proposal.source != SEARCH for one in record.trials)
    failed = {str(one): classes[str(one)] for one in RunOutcome if classes[str(one)]}
    timed = classes[SLOWER] + classes[FASTEST]
    stages = (
        *_stages_of_search(record.counts or SearchCounts(), proposed, elsewhere),
        FunnelStage("proposed", proposed, some({OPEN: classes[OPEN]})),
        FunnelStage("tried", proposed - classes[OPEN], failed),
        FunnelStage("measured", timed, some({SLOWER: classes[SLOWER]})),
        FunnelStage(FASTEST, classes[FASTEST], {}),
    )
    return Funnel(stages, dict(classes))


def _stages_of_search(counts: SearchCounts, proposed: int, elsewhere: int) -> list[FunnelStage]:
    """The stages before proposals, as far as they are known.

    Args:
        counts: what the search has counted.
        proposed: how many schedules were proposed.
        elsewhere: how many of these are not from the search.
    """
    named = (
        ("made", counts.made, "without a cost"),
        ("priced", counts.structures, "too dear to judge, or illegal"),
        ("legal", counts.legal, "not proposed"),
    )
    known = [(name, count, why) for name, count, why in named if count is not None]
    stages: list[FunnelStage] = []
    later = proposed
    for name, count, why in reversed(known):
        reached = max(later, count + elsewhere)
        last = "not proposed" if not stages else why
        stages.insert(0, FunnelStage(name, reached, some({last: reached - later})))
        later = reached
    return stages
