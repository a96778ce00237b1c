"""What compiled pipelines show of themselves: the conditions on sizes, and the schedule."""

from __future__ import annotations

from spaces.constraints.legality.preconditions import Precondition
from spaces.markup.card import Card, Listing, brief, card, few
from spaces.markup.shows_card import ShowsCard
from spaces.model.schedules.schedule import Schedule
from spaces.model.showing import few_lines

_SHOWN = 6
"""How many conditions on sizes a card shows."""


class CompiledCard(ShowsCard):
    """The card and the text of a compiled pipeline. The text of ``repr`` is their first line."""

    __slots__ = ()

    schedule: Schedule
    preconditions: tuple[Precondition, ...]

    def _card(self) -> Card:
        needed = ((brief(f"needs {one.condition}"),) for one in self.preconditions)
        few_needed = few(needed, _SHOWN, "conditions on sizes")
        return card(repr(self)[1:-1], "", few_needed, Listing(str(self.schedule)))

    def __str__(self) -> str:
        needed = [f"needs {one.condition}" for one in self.preconditions]
        return few_lines([repr(self), *needed, *str(self.schedule).splitlines()])
