"""Decisions about explicit bounds of what a Func computes."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve, frozen

from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topic import EntryChoice, EntryTopic, ListedTopic, unchanged
from spaces.model.nest.canonical import bound_text
from spaces.model.schedules.schedule import Alignment, Bound, FuncSchedule

MODULI = (2, 4, 8)
"""What extents may be aligned to."""


@frozen
class BoundTopic(ListedTopic):
    """Whether a dimension of a Func has an explicit bound: its box at the estimates if it is short,
    or an alignment.
    """

    func: str
    dimension: str

    @property
    def name(self) -> str:
        return f"{self.func} bound {self.dimension}"

    def choices(self, state: ProcessState) -> Iterator[EntryChoice]:
        part = f"{self.name} 0"
        yield EntryChoice(f"no bound of {self.func}, {self.dimension}", {part: None}, unchanged)
        for record in self._records(state):
            text = bound_text(record)
            yield EntryChoice(
                f"{self.func} {self.dimension}: {text}", {part: text}, _Bounded(record)
            )

    def _records(self, state: ProcessState) -> Iterator[Bound | Alignment]:
        """The bounds that the dimension may have."""
        directives = state.choices.directives
        if "bound" in directives:
            box = state.sizes.boxes.get(self.func, {}).get(self.dimension)
            if box is not None and 0 < box[1] <= state.choices.short:
                yield Bound(self.dimension, *box)
        if "align_bounds" in directives:
            yield from (Alignment(self.dimension, modulus) for modulus in MODULI)


@frozen
class _Bounded:
    """Adds a bound to an entry."""

    record: Bound | Alignment

    def __call__(self, entry: FuncSchedule) -> FuncSchedule:
        return evolve(entry, bounds=(*entry.bounds, self.record))


def bound_topics(state: ProcessState, func: str) -> Iterator[EntryTopic]:
    """What is decided about the bounds of a Func, by the directives of the space."""
    for dimension in state.function(func).args:
        topic = BoundTopic(func, dimension)
        if sum(1 for _ in topic.choices(state)) > 1:
            yield topic


TOPICS = (bound_topics,)
