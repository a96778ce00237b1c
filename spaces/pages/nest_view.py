"""The loop nest of a schedule as a tree: loops by kind, storage with its bytes, and Funcs."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from spaces.markup.element import Markup, joined, tag
from spaces.markup.quantities import shown_box, shown_bytes, shown_count
from spaces.model.nest.loopnest import Allocate, Compute, HoistedStorage, Loop, LoopNest, Produce
from spaces.model.nest.nest_text import NestRow, nest_rows, written_at_estimates
from spaces.model.schedules.domain_order import LoopKind
from spaces.pages.detail import Detail
from spaces.pages.facts import ScheduleFacts


def nest_view(nest: LoopNest, facts: ScheduleFacts, prefix: str, detail: Detail) -> Markup:
    """The tree of a loop nest at the estimates. Each loop can be closed; each row knows its Func.

    Args:
        nest: the nest.
        facts: the numbers of its schedule.
        prefix: the start of the ids of the cards of Funcs.
        detail: how many rows, and how much of their formulas.
    """
    rows = list(nest_rows(nest.body, written=written_at_estimates(nest)))
    shown = [attrs.evolve(row, text=row.text[: detail.row]) for row in rows[: detail.rows]]
    told = _nested(shown, facts, prefix)
    left = len(rows) - len(shown)
    more = tag("p", f"... and {left:,} more rows", class_="quiet") if left > 0 else None
    return tag("div", told, more, class_="nest")


def _nested(rows: list[NestRow], facts: ScheduleFacts, prefix: str) -> Markup:
    """The rows, each inside the rows around it."""
    parts: list[str] = []
    ends: list[tuple[int, str]] = []
    for row in rows:
        while ends and ends[-1][0] >= row.depth:
            parts.append(ends.pop()[1])
        opening, closing = _row(row, facts, prefix)
        parts.append(opening)
        if closing:
            ends.append((row.depth, closing))
    parts += [closing for _, closing in reversed(ends)]
    return Markup("".join(parts))


def _row(row: NestRow, facts: ScheduleFacts, prefix: str) -> tuple[str, str]:
    """The opening of a row, and its end if other rows stand inside."""
    match row.node:
        case Loop(var=var):
            kind = tag("span", _word(var.kind), class_=f"kind k-{var.kind}")
            trips = facts.trips.get((var.func, var.stage, var.loop))
            times = None if trips is None else tag("span", f"{shown_count(trips)}×", class_="trips")
            name = link(var.func, f"{var.func}.{var.loop}", facts, prefix)
            return _opened(row, var.func, "loop", kind, " ", name, " ", times)
        case Produce(func=func):
            fact = facts.by_name.get(func)
            box = shown_box(fact.computed) if fact is not None and fact.computed else ""
            name = link(func, func, facts, prefix)
            about = tag("small", f" {box}") if box else None
            return _opened(
                row, func, "produce", tag("span", "produce ", class_="verb"), name, about
            )
        case Allocate(func=func):
            return str(_storage(row, func, facts, prefix)), ""
        case HoistedStorage(func=func):
            told = tag("span", "memory for ", class_="verb")
            name = link(func, func, facts, prefix)
            return str(tag("div", told, name, **_about(row, func, "store"))), ""
        case Compute(func=func, stage=stage):
            update = f" (update {stage - 1})" if stage else ""
            guarded = " where guards hold" if row.node.guards or row.node.predicates else ""
            name = link(func, func, facts, prefix)
            told = joined(tag("span", "compute ", class_="verb"), name, update, guarded)
            return str(tag("div", told, **_about(row, func, "compute"))), ""


def _opened(row: NestRow, func: str, kind: str, *told: Markup | str | None) -> tuple[str, str]:
    inside = tag("details", tag("summary", *told), open=True, **_about(row, func, kind))
    return inside.removesuffix("</details>"), "</details>"


def _about(row: NestRow, func: str, kind: str) -> dict[str, str | None]:
    return {"class_": kind, "data_func": func, "title": row.text or None}


def _storage(row: NestRow, func: str, facts: ScheduleFacts, prefix: str) -> Markup:
    fact = facts.by_name.get(func)
    storage = None if fact is None else fact.storage
    name = link(func, func, facts, prefix)
    parts: list[Markup | str] = [tag("span", "store ", class_="verb"), name]
    if fact is not None and storage is not None:
        parts.append(tag("small", f" {fact.types}[{', '.join(_sides(func, facts))}]"))
        parts.append(tag("span", shown_bytes(storage.bytes), class_="bytes"))
        if storage.fits:
            parts.append(tag("span", storage.fits, class_=f"fits fits-{storage.fits}"))
        elif storage.memory != "memory":
            parts.append(tag("span", storage.memory, class_="fits"))
    return tag("div", *parts, **_about(row, func, "store"))


def _sides(func: str, facts: ScheduleFacts) -> Iterator[str]:
    fact = facts.by_name[func]
    if fact.storage is not None:
        for arg, extent in zip(fact.args, fact.storage.extents, strict=True):
            yield shown_count(extent) + (" folded" if arg in fact.storage.folded else "")


def link(func: str, text: str, facts: ScheduleFacts, prefix: str) -> Markup:
    """A text that leads to the card of a Func."""
    place = facts.pipeline.places.get(func)
    if place is None:
        return tag("code", text)
    return tag("a", text, href=f"#{prefix}{place}", class_="func")


def _word(kind: LoopKind) -> str:
    return "for" if kind is LoopKind.SERIAL else str(kind).replace("_", " ")
