"""One page about the result of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from spaces.cost.price import PricePart
from spaces.enumerate.search.done_sentences import ending_sentence, proof_sentence
from spaces.markup.charts.chart import Chart
from spaces.markup.charts.svg import chart_svg
from spaces.markup.element import Child, Markup, joined, table, tag
from spaces.markup.quantities import shown_count, shown_seconds, shown_share
from spaces.model.amounts import amount
from spaces.model.writing.text import format_schedule
from spaces.pages.compared_text import compared_text
from spaces.pages.decision_views import decision_sections, figure
from spaces.pages.page import Section, whole_page
from spaces.pages.page_header import page_header, shown_sizes
from spaces.plots.searches.search_charts import (
    cost_by_structures,
    cost_by_time,
    decisions_of_search,
    funnel_of_search,
    standing_of_search,
)
from spaces.plots.searches.search_decisions import search_decisions
from spaces.plots.searches.search_record import PricedSchedule, SearchRecord

_LISTED = 15
"""How many of the schedules are listed with their texts."""

_BESIDE = 6
"""The costs of this many schedules stand beside each other."""

_BY_HAND = 2
"""How many of these are by hand."""

_ROWS = 15
"""How many Funcs, and causes, have a row."""


def search_page(record: SearchRecord) -> str:
    """The page about the result of a search."""
    pipeline = record.space.pipeline
    about = f"search for {record.space.device.name} {shown_sizes(pipeline)}".rstrip()
    head = page_header(pipeline.name, about, _tiles(record), _warnings(record))
    return whole_page(f"{pipeline.name}: search", head, _sections(record))


def _tiles(record: SearchRecord) -> Iterator[tuple[str, str]]:
    """The most important numbers: what they are, and the numbers."""
    done = record.done
    least = record.found[0] if record.found else None
    if least is not None:
        yield f"cost of the cheapest schedule found, by {record.model}", _cost(least)
        for one in record.by_hand:
            if one.is_priced and least.is_priced:
                times = f"{one.cost / least.cost:.2f} ×"
                yield f"the cost of the cheapest: the schedule by hand, {one.name}", times
    if done.considered:
        yield "structures looked at", f"{done.considered:,}"
    yield "of them priced", f"{done.structures:,}"
    yield "choices of tile sizes priced", shown_count(done.choices)
    yield "of searching", shown_seconds(done.seconds)
    yield "device", record.space.device.name


def _cost(one: PricedSchedule) -> str:
    return shown_count(one.cost) if one.is_priced else "not priced"


def _warnings(record: SearchRecord) -> Iterator[str]:
    if not record.done.complete:
        yield ending_sentence(record.done)
    if not record.found:
        yield "No schedule was found, so most of this page is empty."
    if record.illegal:
        yield f"Left out, because the space calls them illegal: {', '.join(record.illegal)}."


def _sections(record: SearchRecord) -> Iterator[Section]:
    for id, title, make, caption in _PICTURES:
        chart = make(record)
        if chart is not None:
            shown = figure(chart_svg(chart), caption(record))
            yield Section(id, title, shown, wide=False)
    if not record.found:
        return
    yield Section("costs", "Cost by Func and cause", _costs(record))
    decided = search_decisions(record)
    yield from decision_sections(decided, decisions_of_search(decided))
    yield Section("schedules", "Schedules", _schedules(record))
    yield Section("list", "What was found", _list(record))


def _about_time(record: SearchRecord) -> str:
    ended = "" if not record.done.complete else f" {ending_sentence(record.done)}"
    return f"A triangle is a schedule that was cheaper than all before it.{ended}"


def _about_structures(record: SearchRecord) -> str:
    choices = amount(record.done.choices, "choice of tile sizes", "choices of tile sizes")
    return f"A structure is a schedule without its tile sizes; {choices} had a cost."


def _about_funnel(record: SearchRecord) -> str:
    told = "A structure has a price if one of its choices of tile sizes has one."
    pruned = record.done.pruned
    if pruned:
        told += (
            f" {amount(pruned, 'partial schedule')} and all their completions were left out, "
            "because their lower bound is too high."
        )
    return told


def _about_standing(record: SearchRecord) -> str:
    told = proof_sentence(record.done)
    if not record.by_hand:
        return f"No schedule by hand was given to compare with. {told}".rstrip()
    first = record.ranked[0]
    if first.is_by_hand:
        cheaper = f"The schedule by hand, {first.name}, is cheaper by the model than what was found"
        return f"{cheaper}: the space may not have it. {told}".rstrip()
    return f"No schedule by hand is cheaper by the model. {told}".rstrip()


_PICTURES: Sequence[
    tuple[str, str, Callable[[SearchRecord], Chart | None], Callable[[SearchRecord], str]]
] = (
    ("time", "Best against time", cost_by_time, _about_time),
    ("structures", "Best against structures", cost_by_structures, _about_structures),
    ("standing", "Beside schedules by hand", standing_of_search, _about_standing),
    ("funnel", "What became of the structures", funnel_of_search, _about_funnel),
)
"""The first pictures: the anchor, the title, the chart and the sentence below it."""


def _costs(record: SearchRecord) -> Markup:
    """What each Func costs in the cheapest schedules and those by hand, and why."""
    hand = record.by_hand[:_BY_HAND]
    shown = [one for one in (*record.found[: _BESIDE - len(hand)], *hand) if one.is_priced]
    if not any(one.parts for one in shown):
        return tag("p", f"The model {record.model} does not split its costs.")
    told = (
        f"In percent of the cost of {shown[0].name}. A Func without a number is inlined, or its "
        "cost is part of that of another one."
    )
    return joined(
        tag("p", told),
        _cost_table("Func", shown, lambda part: part.func),
        tag("h3", "By cause"),
        _cost_table("cause", shown, lambda part: part.what.replace("_", " ")),
    )


def _cost_table(
    head: str, shown: Sequence[PricedSchedule], key: Callable[[PricePart], str]
) -> Markup:
    """A row for each group of parts, the dearest first, and a column for each schedule."""
    sums: list[dict[str, float]] = []
    for one in shown:
        groups: dict[str, float] = {}
        for part in one.parts:
            groups[key(part)] = groups.get(key(part), 0.0) + part.cost
        sums.append(groups)
    dearest = {name: max(one.get(name, 0.0) for one in sums) for one in sums for name in one}
    names = sorted(dearest, key=lambda name: -dearest[name])
    whole = shown[0].cost
    rows: list[list[Child]] = [
        [name, *(shown_share(one[name] / whole) if name in one else "" for one in sums)]
        for name in names[:_ROWS]
    ]
    rows.append(["all", *(shown_share(one.cost / whole) for one in shown)])
    columns = [head, *(f"by hand: {one.name}" if one.is_by_hand else one.name for one in shown)]
    left = len(names) - _ROWS
    more = tag("p", f"... and {left} more, which cost less.", class_="quiet") if left > 0 else None
    return joined(tag("div", table(columns, rows, "shares"), class_="scroll"), more)


def _schedules(record: SearchRecord) -> Markup:
    """The cheapest schedule, and how it differs from those by hand and from the next ones."""
    first, *others = record.found
    before = {f"From the schedule by hand, {o.name}": o.schedule for o in record.by_hand}
    before |= {f"From {one.name}": one.schedule for one in others}
    named = {f"{name}, to the cheapest that was found": one for name, one in before.items()}
    title = "The cheapest that was found"
    return compared_text(record.space.pipeline, title, first.schedule, named)


def _list(record: SearchRecord) -> Markup:
    least = record.found[0]
    rows = [
        (one.name, _cost(one), _times(one, least), _text(record, one))
        for one in record.found[:_LISTED]
    ]
    shown = tag("div", table(("", "cost", "of the cheapest", "schedule"), rows), class_="scroll")
    left = len(record.found) - len(rows)
    return joined(shown, tag("p", f"... and {left:,} more.", class_="quiet") if left else None)


def _times(one: PricedSchedule, least: PricedSchedule) -> str:
    return f"{one.cost / least.cost:.3f} ×" if one.is_priced and least.is_priced else ""


def _text(record: SearchRecord, one: PricedSchedule) -> Markup:
    """The directives of a schedule behind a button."""
    text = format_schedule(one.schedule, record.space.pipeline)
    many = amount(len(text.splitlines()), "line")
    return tag("details", tag("summary", many), tag("pre", text, class_="directives"))
