"""The text of a schedule, and how it differs from those that were there before."""

from __future__ import annotations

from collections.abc import Mapping

from spaces.markup.element import Markup, joined, tag
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule
from spaces.pages.verdict_view import difference

_COMPARED = 4
"""How many differences are shown."""


def compared_text(
    pipeline: Pipeline, title: str, schedule: Schedule, before: Mapping[str, Schedule]
) -> Markup:
    """The text of a schedule, and behind a button for each other one the difference to it.

    Args:
        pipeline: the pipeline of all of them.
        title: what stands above the text.
        schedule: the schedule.
        before: other schedules; the key of each is the text of its button.
    """
    text = format_schedule(schedule, pipeline)
    shown = text or "(no directives: the default schedule)"
    parts = [tag("h3", title), tag("pre", shown, class_="directives")]
    for name, other in list(before.items())[:_COMPARED]:
        changes = difference(format_schedule(other, pipeline).splitlines(), text.splitlines())
        parts.append(tag("details", tag("summary", name), changes))
    return joined(parts)
