"""How the fastest schedule became faster, result by result."""

from __future__ import annotations

from attrs import frozen

from spaces.tuning.plots.study_record import StudyRecord, in_order_of_results
from spaces.tuning.trial import Trial, rank_of


@frozen
class ProgressPoint:
    """A result.

    Attributes:
        number: the trial.
        source: who proposed it.
        results: how many results there were, with this one.
        seconds: the seconds of tuning until then; None if the store does not know.
        milliseconds: the time of a run, None if it failed.
        best: the time of the schedule that was the fastest then, in ms, None before the first time.
    """

    number: int
    source: str
    results: int
    seconds: float | None
    milliseconds: float | None
    best: float | None


def study_progress(record: StudyRecord) -> tuple[ProgressPoint, ...]:
    """All results, in the order in which they came.

    The fastest schedule is chosen as everywhere, by the upper end of its interval. ``best`` never
    rises, and ends at the time of the fastest trial. Where a later choice turned out to be slower
    than an earlier one seemed, the earlier one counts as no faster than the later.
    """
    ordered = in_order_of_results(record, record.trials)
    bests = _best_times(record, ordered)
    return tuple(
        ProgressPoint(
            trial.number,
            trial.proposal.source,
            results,
            record.told.get(trial.number),
            record.milliseconds(trial) if rank_of(trial) is not None else None,
            best,
        )
        for results, (trial, best) in enumerate(zip(ordered, bests, strict=True), 1)
    )


def _best_times(record: StudyRecord, ordered: list[Trial]) -> list[float | None]:
    chosen: list[Trial | None] = []
    best: tuple[tuple[float, float, int], Trial] | None = None
    for trial in ordered:
        rank = rank_of(trial)
        if rank is not None and (best is None or rank < best[0]):
            best = rank, trial
        chosen.append(None if best is None else best[1])
    found: list[float | None] = []
    least = 0.0
    for one in reversed(chosen):
        if one is not None:
            least = max(least, record.milliseconds(one))
        found.append(None if one is None else least)
    return found[::-1]
