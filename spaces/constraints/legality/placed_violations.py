"""Violations on a card, each below the line of the schedule that breaks the rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
                line = marked(stage_line(entry, stage), loops, "bad")
                yield Noted(line, tuple(map(_phrase, found)))
    rest = [one for found in waiting.values() for one in found]
    if rest:
        yield Bullets(tuple(map(_phrase, rest)))


def _phrase(one: Violation) -> Phrase:
    return Styled("strong", one.rule), f": {one.message}"
