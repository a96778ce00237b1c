"""The card of each Func: its regions, storage, loops, cost by cause and what it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spaces.markup.element import Child, Markup, joined, share_bar, table, tag
from spaces.markup.quantities import shown_box, shown_bytes, shown_count, shown_share
from spaces.model.algorithm.pipeline import Function
from spaces.model.schedules.schedule import StageOf
from spaces.pages.detail import Detail
from spaces.pages.facts import FuncFact, ScheduleFacts, StageFact
from spaces.pages.nest_view import link


def func_views(
    facts: ScheduleFacts, lines: Mapping[str, str], prefix: str, detail: Detail
) -> Markup:
    """The cards of all Funcs: the computed ones, outputs first, then the inlined ones.

    Args:
        facts: the numbers of the schedule.
        lines: the directives of each Func that has any.
        prefix: the start of the ids of the cards.
        detail: how many cards, and how much is in each.
    """
    computed = [fact for fact in facts.funcs if fact.role != "inlined"]
    inlined = [fact for fact in facts.funcs if fact.role == "inlined"]
    ordered = [*reversed(computed), *reversed(inlined)]
    if len(ordered) > detail.cards:
        ordered.sort(key=lambda fact: (fact.role == "inlined", -fact.cost))
    cards = [
        _card(fact, facts, lines.get(fact.name, ""), prefix, detail)
        for fact in ordered[: detail.cards]
    ]
    return tag("div", cards, class_="cards")


def _card(fact: FuncFact, facts: ScheduleFacts, lines: str, prefix: str, detail: Detail) -> Markup:
    title = tag("h4", fact.name, " ", tag("small", f"{fact.types}({', '.join(fact.args)})"))
    rows = [tag("tr", tag("th", n, scope="row"), tag("td", v)) for n, v in _rows(fact)]
    parts: list[Child] = [title, tag("table", tag("tbody", rows), class_="facts")]
    if lines:
        parts.append(tag("pre", lines, class_="directives"))
    if detail.tables and fact.costs and facts.price is not None and facts.price.cost > 0:
        parts += [tag("h5", "Cost by cause"), _costs(fact, facts.price.cost)]
    if detail.tables:
        parts += [_stage(stage, fact, facts, prefix) for stage in fact.stages]
    if detail.definition:
        parts.append(_definition(facts.pipeline.function(fact.name), detail.definition))
    return tag(
        "article", parts, class_="card", id=f"{prefix}{facts.pipeline.places[fact.name]}",
        data_func=fact.name, tabindex="-1",
    )  # fmt: skip


def _rows(fact: FuncFact) -> Iterator[tuple[str, Child]]:
    if fact.role == "inlined":
        yield "computed", "inlined: its readers evaluate it where they read it"
        return
    yield "computed", f"at {fact.compute}" + (", an output" if fact.role == "output" else "")
    if fact.kernel and fact.kernel != fact.name:
        yield "kernel", f"of {fact.kernel}"
    if fact.store != fact.compute:
        yield "stored", f"at {fact.store}"
    if not fact.stages:
        return
    yield "needed in a visit", shown_box(fact.required)
    if fact.computed != fact.required:
        yield "computed in a visit", shown_box(fact.computed)
    if fact.window:
        yield "window", "slides: a visit keeps values of the one before"
    yield "visits", shown_count(fact.visits)
    repeated = f" ({fact.points / fact.distinct:.2f}× what is needed)" if fact.repeated else ""
    yield "evaluations", shown_count(fact.points) + repeated
    if not fact.kernel:
        yield "parallel tasks around", shown_count(fact.tasks)
        yield "vector lanes", shown_count(max(stage.lanes for stage in fact.stages))
    yield "touched in a visit", shown_bytes(fact.working_set)
    storage = fact.storage
    if storage is None or fact.role == "output":
        return
    fits = f", fits {storage.fits}" if storage.fits else ""
    yield "storage", f"{shown_bytes(storage.bytes)} in {storage.memory}{fits}"
    yield "allocations", f"{shown_count(storage.allocations)} of {shown_box(storage.extents)}"
    if storage.folded:
        yield "folded", f"along {', '.join(storage.folded)}"


def _costs(fact: FuncFact, whole: float) -> Markup:
    rows = [
        (what.replace("_", " "), shown_share(cost / whole), share_bar(cost / whole, "price"))
        for what, cost in fact.costs.items()
    ]
    return table(("cause", "of the price", ""), rows, "costs")


def _stage(stage: StageFact, fact: FuncFact, facts: ScheduleFacts, prefix: str) -> Markup:
    loops = [
        (tag("span", str(loop.kind).replace("_", " "), class_=f"kind k-{loop.kind}"),
         loop.loop, f"{shown_count(loop.trips)}×", shown_count(loop.runs))
        for loop in stage.loops
    ]  # fmt: skip
    reads = [
        joined(", " if i else "", f"{shown_count(count)} of ", link(name, name, facts, prefix))
        for i, (name, count) in enumerate(stage.reads.items())
    ]
    several = len(fact.stages) > 1
    title = tag("h5", str(StageOf(fact.name, stage.index))) if several else None
    ending = "" if stage.operations == 1 else "s"
    work = f"One evaluation takes {shown_count(stage.operations)} operation{ending}"
    about = tag("p", work, " and reads " if reads else None, reads, ".")
    named = table(("loop", "", "trips", "runs"), loops, "loops") if loops else None
    return tag("div", title, about, named)


def _definition(function: Function, longest: int) -> Markup:
    told = []
    for index, stage in enumerate(function.stages):
        left = f"{function.name}({', '.join(map(str, stage.args))})"
        values = ", ".join(map(str, stage.values))
        cut = values if len(values) <= longest else f"{values[:longest]} …"
        told.append(f"{left} = {cut}" + (f"  // update {index - 1}" if index else ""))
    return tag("details", tag("summary", "Definition"), tag("pre", "\n".join(told), class_="wrap"))
