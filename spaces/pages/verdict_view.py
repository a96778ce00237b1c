"""An illegal schedule: each violation below the directive at fault, and repairs as differences."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from spaces.constraints.legality.placed_violations import marked_line
from spaces.constraints.repairs.repair import Repair
from spaces.constraints.rules.findings import Violation
from spaces.markup.element import Markup, joined, tag
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.schedules.schedule import Schedule, StageOf
from spaces.model.writing.text import format_schedule, written_lines

_SHOWN = 200
"""How many violations the page shows."""


def violation_view(
    pipeline: Pipeline, schedule: Schedule, violations: Sequence[Violation]
) -> Markup:
    """The directives of a schedule, one line a stage, with its violations in place. Violations of
    stages without directives, and of the whole pipeline, stand at the end.
    """
    waiting: dict[str, list[Violation]] = {}
    for one in violations[:_SHOWN]:
        waiting.setdefault(str(StageOf(one.func, one.stage)), []).append(one)
    parts = []
    for name, text in _lines(schedule, pipeline):
        found = waiting.pop(name, [])
        loops = {one.loop for one in found if one.loop}
        kind = "line wrong" if found else "line"
        parts.append(tag("div", tag("code", _marked(text, loops)), class_=kind))
        parts += map(_violation, found)
    for name, found in waiting.items():
        parts.append(tag("div", tag("code", f"{name}: without directives"), class_="line wrong"))
        parts += map(_violation, found)
    left = len(violations) - _SHOWN
    more = tag("p", f"... and {left:,} more violations") if left > 0 else None
    head = tag("p", f"{amount(len(violations), 'violation')}.")
    return joined(head, tag("div", parts, class_="lines"), more)


def _lines(schedule: Schedule, pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    for line in written_lines(schedule, pipeline):
        yield line.stage, ".".join((line.stage, *line.calls))


def _marked(text: str, loops: set[str]) -> Markup:
    """The text with the names of the loops at fault marked."""
    pieces = marked_line(text, loops)
    return joined(*(one if isinstance(one, str) else tag("mark", one.text) for one in pieces))


def _violation(one: Violation) -> Markup:
    numbers = [
        f"{name} = {value:,}" if isinstance(value, int) else None
        for name, value in one.values.items()
    ]
    told = ", ".join(text for text in numbers if text)
    small = tag("small", told) if told else None
    return tag(
        "div", tag("b", one.rule), " ", one.message, " ", small, class_="violation",
        data_func=one.func,
    )  # fmt: skip


def repair_view(pipeline: Pipeline, schedule: Schedule, repair: Repair) -> Markup:
    """A repair: its edits, and a button that opens the difference of the two texts."""
    head = str(repair).splitlines()[0]
    edits = [tag("li", tag("code", edit.text), data_func=edit.func) for edit in repair.edits]
    told = joined(tag("p", head), tag("ul", edits) if edits else None)
    if repair.schedule is None:
        return told
    before, after = (
        format_schedule(one, pipeline).splitlines() for one in (schedule, repair.schedule)
    )
    return joined(
        told,
        tag(
            "details",
            tag("summary", "Show the difference", class_="button"),
            difference(before, after),
        ),
    )


def difference(before: Sequence[str], after: Sequence[str]) -> Markup:
    """Two texts as one, with the lines that went and those that came."""
    shown = []
    kinds: Mapping[str, str] = {"-": "del", "+": "ins"}
    for line in difflib.ndiff(before, after):
        if not line.startswith("?"):
            shown.append(tag(kinds.get(line[0], "span"), line, class_="row"))
    return tag("pre", shown, class_="difference")
