"""The charts of a search by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from spaces.enumerate.search.improvements import improvements_chart, structures_chart
from spaces.markup.charts.chart import Bar, Bars, Chart, Look, Parallel, Plane
from spaces.markup.charts.colors import BLUE, GREEN, ORANGE
from spaces.markup.quantities import shown_count
from spaces.plots.decisions import DecisionTable
from spaces.plots.decisions_chart import decisions_chart
from spaces.plots.funnel import funnel_chart
from spaces.plots.plot import NothingToPlotError, Plot
from spaces.plots.searches.search_decisions import search_decisions
from spaces.plots.searches.search_funnel import search_funnel
from spaces.plots.searches.search_record import SearchRecord

_CHEAPEST = Look("the cheapest", GREEN, "square")
_FOUND = Look("found", BLUE, "square")
_BY_HAND = Look("by hand", ORANGE, "square")

_BESIDE = 3
"""How many schedules by hand have a line."""

_BARS = 10
"""How many of the schedules that were found have a bar; all by hand have one."""


class SearchPlotKind(StrEnum):
    """The plots of a search."""

    TIME = "time"
    """The cheapest schedule against the time of searching."""
    STRUCTURES = "structures"
    """The cheapest schedule against the number of structures with a cost."""
    FUNNEL = "funnel"
    """How many structures the search looked at, priced and returned."""
    STANDING = "standing"
    """The schedules that were found beside those by hand."""
    DECISIONS = "decisions"
    """The decisions of schedules as parallel coordinates."""


def cost_by_time(record: SearchRecord) -> Plane | None:
    """The least cost against the time of searching."""
    done = record.done
    return improvements_chart(done.improvements, done.seconds, _costs_by_hand(record))


def cost_by_structures(record: SearchRecord) -> Plane | None:
    """The least cost against the number of structures with a cost."""
    done = record.done
    return structures_chart(done.improvements, done.structures, _costs_by_hand(record))


def _costs_by_hand(record: SearchRecord) -> dict[str, float]:
    """The names of the cheapest schedules by hand in a legend, with their costs."""
    priced = sorted((one for one in record.by_hand if one.is_priced), key=lambda one: one.cost)
    return {f"by hand: {one.name}, {shown_count(one.cost)}": one.cost for one in priced[:_BESIDE]}


def funnel_of_search(record: SearchRecord) -> Bars | None:
    """What became of the structures that the search looked at."""
    title = "How many structures were looked at, priced and returned"
    return funnel_chart(search_funnel(record.done), title)


def standing_of_search(record: SearchRecord) -> Bars | None:
    """The cheapest schedules that were found, and those by hand; None without a price."""
    found = [one for one in record.found if one.is_priced][:_BARS]
    shown = [one for one in record.ranked if one in found or (one.is_by_hand and one.is_priced)]
    if not shown:
        return None
    least = shown[0].cost
    bars = []
    for place, one in enumerate(shown):
        look = _BY_HAND if one.is_by_hand else _FOUND
        name = f"by hand: {one.name}" if one.is_by_hand else one.name
        text = shown_count(one.cost) + (f", {one.cost / least:.2f} ×" if place else "")
        bars.append(Bar(name, one.cost, text, look if place else _CHEAPEST))
    title = "The schedules of the search beside those by hand"
    return Bars(title, f"cost by {record.model}, in its own unit", tuple(bars))


def decisions_of_search(table: DecisionTable) -> Parallel | None:
    """The decisions of the schedules of a search."""
    return decisions_chart(table, "The decisions of the schedules of the search")


_CHARTS: Mapping[SearchPlotKind, Callable[[SearchRecord], Chart | None]] = {
    SearchPlotKind.TIME: cost_by_time,
    SearchPlotKind.STRUCTURES: cost_by_structures,
    SearchPlotKind.FUNNEL: funnel_of_search,
    SearchPlotKind.STANDING: standing_of_search,
    SearchPlotKind.DECISIONS: lambda record: decisions_of_search(search_decisions(record)),
}

_LACKS = {
    SearchPlotKind.TIME: "it found no two costs to compare",
    SearchPlotKind.STRUCTURES: "it found no two costs to compare",
    SearchPlotKind.FUNNEL: "it found nothing",
    SearchPlotKind.STANDING: "none of its schedules has a cost above zero",
    SearchPlotKind.DECISIONS: "its schedules do not differ, or are fewer than two",
}
"""What a search lacks that has no numbers for a plot."""


def search_plot(record: SearchRecord, kind: SearchPlotKind | str = SearchPlotKind.TIME) -> Plot:
    """A plot of a search.

    Raises:
        ValueError: no plot has this name.
        NothingToPlotError: the search has no numbers for this plot.

    >>> search_plot(search_record(best(search(space)), space), "decisions").write("decisions.png")
    """
    try:
        chosen = SearchPlotKind(kind)
    except ValueError:
        names = ", ".join(SearchPlotKind)
        raise ValueError(f"There is no plot {kind!r} of a search; there are {names}.") from None
    chart = _CHARTS[chosen](record)
    if chart is None:
        raise NothingToPlotError(
            f"The search of {record.space.pipeline.name} has no numbers for the plot "
            f"{str(chosen)!r}: {_LACKS[chosen]}."
        )
    return Plot(chart)
