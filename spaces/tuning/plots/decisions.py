"""What the measured schedules of a study decide."""

from __future__ import annotations

from spaces.plots.decisions import DecisionTable, RankedSchedule, RankingWords, decision_table
from spaces.tuning.plots.study_record import StudyRecord
from spaces.tuning.sources import START

MOST_TRIALS = 1500
"""How many of the fastest trials the table has; reading one takes about a millisecond."""

BY_TIME = RankingWords(
    quantity="time of a run",
    unit="ms",
    quantities="times",
    best="fastest",
    worse="slower",
    others="other measured trials",
    rows="a measured schedule",
)
"""Trials are ranked by their times."""


def study_decisions(record: StudyRecord) -> DecisionTable:
    """The decisions of the measured trials of a study, the fastest first."""
    rows = [
        RankedSchedule(
            f"trial {trial.number}",
            trial.schedule,
            record.milliseconds(trial),
            trial.proposal.source,
            trial.proposal.source == START,
        )
        for trial in record.ranked[:MOST_TRIALS]
    ]
    return decision_table(record.pipeline, rows, BY_TIME, len(record.ranked) - len(rows))
