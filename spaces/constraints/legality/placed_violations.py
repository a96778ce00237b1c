"""Violations on a card, each below the line of the schedule that breaks the rule."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

from spaces.constraints.rules.findings import Violation
from spaces.markup.card import Bullets, CardPart, Noted, Phrase, Styled, marked
from spaces.model.schedules.schedule import Schedule, StageOf
from spaces.model.writing.shown import stage_line


def placed_violations(
    violations: Sequence[Violation], schedule: Schedule | None
) -> Iterator[CardPart]:
    """The violations by stage, in the order in which a schedule prints; those of Funcs that it does
    not have, and of the whole pipeline, stand at the end.

    Args:
        violations: of a schedule.
        schedule: the schedule; None if it is unknown.
    """
    waiting: dict[StageOf, list[Violation]] = {}
    for one in violations:
        waiting.setdefault(StageOf(one.func, one.stage), []).append(one)
    for entry in reversed(schedule.funcs) if schedule is not None else ():
        for stage in range(len(entry.stages)):
            found = waiting.pop(StageOf(entry.name, stage), [])
            if found:
                loops = {one.loop for one in found if one.loop}
                line = marked_line(stage_line(entry, stage), loops)
                yield Noted(line, tuple(map(_phrase, found)))
    rest = [one for found in waiting.values() for one in found]
    if rest:
        yield Bullets(tuple(map(_phrase, rest)))


_LEVEL = re.compile(r"(\.(?:compute_at|store_at|hoist_storage|compute_with)\([^)]*\))")
"""A directive whose loop is that of another Func."""


def marked_line(line: str, loops: Set[str]) -> Phrase:
    """A line of a schedule in which the loops at fault are marked. A level names a loop of another
    Func, which is at fault only if the stage itself has none of this name.
    """
    pieces = _LEVEL.split(line)
    own = set(re.findall(r"\w+", " ".join(pieces[::2])))
    parts = [
        marked(piece, loops - own if place % 2 else loops, "bad")
        for place, piece in enumerate(pieces)
    ]
    return tuple(one for part in parts for one in part)


def _phrase(one: Violation) -> Phrase:
    return Styled("strong", one.rule), f": {one.message}"
