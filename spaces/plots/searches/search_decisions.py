"""What the schedules of a search decide: those that it found, those that it improved on its way,
and those by hand.
"""

from __future__ import annotations

from spaces.markup.quantities import shown_seconds
from spaces.model.nest.canonical import same_schedule
from spaces.plots.decisions import DecisionTable, RankedSchedule, RankingWords, decision_table
from spaces.plots.searches.search_record import SearchRecord

MOST_PASSED = 60
"""How many of the schedules that were the cheapest for a while the table has, the last ones."""

BY_COST = RankingWords(
    quantity="cost",
    unit="",
    quantities="costs",
    best="cheapest",
    worse="dearer",
    others="other schedules of this page",
    rows="a schedule: found, by hand, or the cheapest for a while",
)
"""Schedules of a search are ranked by their costs."""


def search_decisions(record: SearchRecord) -> DecisionTable:
    """The decisions of the schedules of a search that have a price, the cheapest first."""
    rows = [
        RankedSchedule(one.name, one.schedule, one.cost, "", one.is_by_hand)
        for one in record.ranked
        if one.is_priced
    ]
    rows += _passed(record)
    rows.sort(key=lambda one: one.value)
    return decision_table(record.space.pipeline, rows, BY_COST)


def _passed(record: SearchRecord) -> list[RankedSchedule]:
    """The schedules that were the cheapest for a while, without those that were found."""
    pipeline = record.space.pipeline
    passed = []
    for step in record.done.improvements[-MOST_PASSED:]:
        alike = (one for one in record.found if one.cost == step.cost)
        if not any(same_schedule(pipeline, one.schedule, step.schedule) for one in alike):
            name = f"cheapest after {shown_seconds(step.seconds)}"
            passed.append(RankedSchedule(name, step.schedule, step.cost))
    return [one for one in passed if 0 < one.value < float("inf")]
