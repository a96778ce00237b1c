"""What ranked schedules decide, as parts of a page: of a study or of a search."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.markup.charts.chart import Parallel
from spaces.markup.charts.svg import chart_svg
from spaces.markup.element import Child, Markup, joined, table, tag
from spaces.markup.quantities import shown_share
from spaces.pages.page import Section
from spaces.plots.decisions import (
    DecisionTable,
    RankingWords,
    ScheduleDecision,
    SharedByBest,
    shared_by_best,
)

_SHARED = 12
"""How many decisions are named that the best schedules share, and in which they differ."""

_SAME = 2
"""How many decisions that go together are named."""


def figure(drawn: Markup, caption: Child) -> Markup:
    """A picture with a sentence below."""
    return tag("figure", drawn, tag("figcaption", caption))


def decision_sections(decided: DecisionTable, drawn: Parallel | None) -> Iterator[Section]:
    """The parts about decisions: the picture of those in which schedules differ, and what the best
    schedules share.
    """
    if drawn is not None:
        yield Section("decisions", "Decisions", _parallel(chart_svg(drawn), decided))
    shared = shared_by_best(decided)
    if shared.best > 1 and (drawn is not None or shared.shared):
        title = f"What the best {shared.best} share"
        yield Section("shared", title, _shared(shared, decided.ranking))


def _parallel(drawn: Markup, decided: DecisionTable) -> Markup:
    first, ranking = decided.columns[0], decided.ranking
    told = (
        f"A line is {ranking.rows}. On each axis numbers rise, and of other values the one of the "
        f"{ranking.best} schedule is at the bottom. "
    )
    if first.share > 0:
        told += (
            "The axes are the decisions that explain most of the differences between "
            f"{ranking.quantities}, from the left: {first.decision} explains "
            f"{shown_share(first.share)} by itself. "
        )
    else:
        told += "The axes are decisions in which they differ. "
    told += "y.0 and y.1 are the outer and the inner loop of y."
    if decided.left_out:
        told += f" {decided.left_out:,} {ranking.worse} ones are left out."
    return figure(tag("div", drawn, class_="scroll", tabindex=0), told)


def _shared(made: SharedByBest, ranking: RankingWords) -> Markup:
    few = f"{made.best} of {made.best}"
    rows = [
        (_with_same(one.decision, one.same), str(one.value), few,
         f"{one.others} of {one.of_others}" if one.of_others else "none there")
        for one in made.shared[:_SHARED]
    ]  # fmt: skip
    columns = ("decision", "value", "the best", ranking.others)
    nothing = f"They share nothing that the {ranking.others} do not share, too."
    parts = [tag("div", table(columns, rows), class_="scroll") if rows else tag("p", nothing)]
    if made.differing:
        told = [
            tag("li", f"{one.decision}: ", ", ".join(map(str, dict.fromkeys(one.values))))
            for one in made.differing[:_SHARED]
        ]
        parts += [tag("h3", "Where they differ"), tag("ul", told)]
    left = len(made.shared) + len(made.differing) - len(rows) - min(len(made.differing), _SHARED)
    if left > 0:
        parts.append(tag("p", f"... and {left} more decisions.", class_="quiet"))
    return joined(parts)


def _with_same(decision: ScheduleDecision, same: tuple[ScheduleDecision, ...]) -> Markup:
    """A decision, and those that go with it."""
    if not same:
        return joined(str(decision))
    told = ", ".join(map(str, same[:_SAME]))
    more = f" and {len(same) - _SAME} more" if len(same) > _SAME else ""
    return joined(str(decision), " ", tag("small", f"with {told}{more}"))
