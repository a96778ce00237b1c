"""What became of all candidates, stage by stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import frozen

from spaces.markup.charts.chart import Bar, Bars, Look
from spaces.markup.charts.colors import BLUE

_CANDIDATES = Look("candidates", BLUE, "disc")


@frozen
class FunnelStage:
    """A stage of a funnel.

    Attributes:
        name: what reaches it.
        count: how many.
        lost: for each reason how many come no further.
    """

    name: str
    count: int
    lost: Mapping[str, int]


def funnel_chart(stages: Sequence[FunnelStage], title: str) -> Bars | None:
    """A bar for each stage of a funnel; None if nothing came into it."""
    if not stages or not stages[0].count:
        return None
    bars = []
    for stage in stages:
        lost = ", ".join(f"{count:,} {what}" for what, count in stage.lost.items())
        note = lost and f"then {lost}"
        bars.append(Bar(stage.name, stage.count, f"{stage.count:,}", _CANDIDATES, note))
    return Bars(title, "", tuple(bars))


def some(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts that are not zero."""
    return {what: count for what, count in counts.items() if count}
