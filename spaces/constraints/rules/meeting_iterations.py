"""Words for two iterations that touch the same element, for messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from attrs import frozen

from spaces.constraints.dependences.hazards import ordering
from spaces.constraints.dependences.iterations import Conflict, conflict
from spaces.constraints.rules.records import Records
from spaces.model.amounts import named_numbers

_Found: TypeAlias = Callable[[], Conflict | None]


@frozen
class MeetingIterations:
    """The sentence of a message about two iterations of a stage; finds them only when it is shown.

    Attributes:
        func: the Func that they update.
        found: the function that finds them.
    """

    func: str
    found: _Found

    @staticmethod
    def along(records: Records, func: str, index: int, dimension: str) -> MeetingIterations:
        """Two iterations that differ along a dimension."""
        return MeetingIterations(func, partial(conflict, records.function(func), index, dimension))

    @staticmethod
    def out_of_order(
        records: Records, func: str, index: int, loops: tuple[str, str] | None
    ) -> MeetingIterations:
        """Two iterations that run in the wrong order because the second of ``loops`` should be
        outside the first; any two that meet if ``loops`` is None.
        """
        function = records.function(func)
        traced = records.stages(func)[index][2]
        inner, outer = (traced.origins.get(n, frozenset()) for n in loops or ("", ""))
        for carrier, other in sorted(ordering(function, index).before):
            if (loops is None) or (carrier in outer and other in inner):
                return MeetingIterations(func, partial(conflict, function, index, carrier, other))
        along = [n for n in ordering(function, index).dimensions if loops is None or n in outer]
        return MeetingIterations(func, partial(conflict, function, index, *along[:1]))

    @property
    def sentence(self) -> str:
        """The sentence for a message, with fields."""
        return " {meeting}"

    @property
    def values(self) -> Mapping[str, Callable[[], str]]:
        """The texts for the fields of the sentence, and for its parts alone."""
        return {
            "meeting": self._iterations_text,
            "first": lambda: self._part(lambda met: named_numbers(met.first)),
            "second": lambda: self._part(lambda met: named_numbers(met.second)),
            "place": lambda: self._part(self._place),
        }

    def _part(self, tell: Callable[[Conflict], str]) -> str:
        met = self.found()
        return "unknown" if met is None else tell(met)

    def _place(self, met: Conflict) -> str:
        return f"{self.func}({', '.join(map(str, met.place))})"

    def _iterations_text(self) -> str:
        met = self.found()
        if met is None:
            return "Which iterations do so is unknown."
        where = f", for {named_numbers(met.sizes)}" if met.sizes else ""
        depends = ", if what they read says so" if met.depends else ""
        return (
            f"The iterations at {named_numbers(met.first)} and at {named_numbers(met.second)} both "
            f"touch {self._place(met)}{depends}{where}."
        )
