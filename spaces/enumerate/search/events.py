"""The events of a running search: one stream for progress bars, logs, time limits and tests."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from attrs import field, frozen

from spaces.enumerate.search.improvements import Improvement, improvements_chart
from spaces.markup.card import (
    Card,
    CardChart,
    Cell,
    Listing,
    Paragraph,
    Share,
    Table,
    WrittenNumber,
    card,
    paragraph,
)
from spaces.markup.shows_card import ShowsCard
from spaces.model.amounts import amount
from spaces.model.schedules.schedule import Schedule
from spaces.model.showing import few_lines, outline


@frozen(repr=False)
class Found(ShowsCard):
    """A legal schedule and its cost.

    Attributes:
        cost: the cost by the cost model, in the model's own unit; lower is better. Infinity if the
            time was up before the model gave one.
        schedule: the schedule with numbers for all factors, ready to verify, print and compile.
    """

    cost: float
    schedule: Schedule

    def _card(self) -> Card:
        return card("Schedule", f"cost {self.cost:,.6g}", Listing(str(self.schedule)))

    def __str__(self) -> str:
        return f"cost {self.cost:,.6g}\n{self.schedule}"

    def __repr__(self) -> str:
        return outline(self)


@frozen
class Expanded:
    """A step of the search begins.

    Attributes:
        step: the number of the step, from 1.
        steps: the number of all steps; 0 if unknown.
        what: the subject of the step, such as a Func.
    """

    step: int
    steps: int
    what: str


@frozen
class Scored:
    """The funnel of the search so far, from the structures that it looked at to those with a cost.

    Attributes:
        structures: the number of loop structures with a cost so far.
        choices: the number of choices of tile sizes with a cost, over all these structures.
        considered: the number of structures that the search looked at, with a cost or not.
        legal: the number of structures with a legal choice, among those judged.
        pruned: the number of partial schedules that the search left out with all their
            completions, because their lower bound is too high.
    """

    structures: int
    choices: int
    considered: int = 0
    legal: int = 0
    pruned: int = 0


@frozen
class Improved:
    """A schedule is better than all before it.

    Attributes:
        best: the schedule and its cost.
    """

    best: Found


@frozen
class Certificate:
    """What a search proves about all schedules of its space. Costs are those of choices of a
    structure, at the estimates.

    Attributes:
        bound: no schedule of the space costs less.
        proven: this many of the best schedules are certainly the cheapest ones. A schedule that
            costs less than the last of them differs from one of them only in split factors.
    """

    bound: float
    proven: int


Ending: TypeAlias = Literal["finished", "no tried change is cheaper", "cut"]
"""How a search ended.

- ``finished``: nothing is left that it would try.
- ``no tried change is cheaper``: it tried changes of the best schedule until none made it cheaper.
  The same search with more time finds nothing more.
- ``cut``: a limit cut it short.
"""


@frozen(repr=False)
class Done(ShowsCard):
    """The end of a search.

    Attributes:
        best: the best schedules, best first, any two as far apart as the limits ask.
        structures: the number of structures with a cost.
        choices: the number of choices of tile sizes with a cost.
        complete: whether the search finished before its limits.
        certificate: what the search proves; None if it proves nothing.
        tried_changes: whether the search tried changes of its best schedule until none made it
            cheaper. Changes that it does not try may.
        seconds: how long the search took; two results that differ only in this and what follows
            are equal.
        considered: the number of structures that the search looked at, with a cost or not.
        improvements: the schedules that were cheaper than all before them.
        legal: the number of structures with a legal choice, among those judged.
        pruned: the number of partial schedules that the search left out with all their
            completions, because their lower bound is too high.
    """

    best: tuple[Found, ...]
    structures: int
    choices: int
    complete: bool
    certificate: Certificate | None = None
    tried_changes: bool = False
    seconds: float = field(default=0.0, eq=False)
    considered: int = field(default=0, eq=False)
    improvements: tuple[Improvement, ...] = field(default=(), eq=False)
    legal: int = field(default=0, eq=False)
    pruned: int = field(default=0, eq=False)

    @property
    def ending(self) -> Ending:
        """How the search ended."""
        if not self.complete:
            return "cut"
        return "no tried change is cheaper" if self.tried_changes else "finished"

    def __str__(self) -> str:
        scored = amount(self.structures, "structure")
        head = (
            f"{amount(len(self.best), 'schedule')} of {scored} scored in {self.seconds:.1f} s "
            f"({self.ending}); the best:"
        )
        return few_lines([head, *str(self.best[0]).splitlines()]) if self.best else head

    def _card(self) -> Card:
        scored = f"{amount(self.structures, 'structure')} scored in {self.seconds:.1f} s"
        about = f"{scored} ({self.ending})"
        if not self.best:
            return card("Search", about, paragraph("No schedule was found."))
        least = self.best[0].cost
        rows = tuple(
            (place, one.cost, *_compare_to_least(least, one.cost))
            for place, one in enumerate(self.best, 1)
        )
        told = Table(("", "cost", "of the best", ""), rows)
        chart = improvements_chart(self.improvements, self.seconds)
        drawn = None if chart is None else CardChart(chart)
        return card(
            "Search", about, self._funnel(), drawn, told, Listing(str(self.best[0].schedule))
        )

    def _funnel(self) -> Paragraph | None:
        """How many structures the search looked at, priced and kept."""
        if not self.considered:
            return None
        priced = f"{self.structures:,} priced with {amount(self.choices, 'choice')} of tile sizes"
        return paragraph(f"{self.considered:,} looked at, {priced}, {len(self.best):,} kept")

    def __repr__(self) -> str:
        return outline(self)


def _compare_to_least(least: float, cost: float) -> tuple[Cell, Cell]:
    """A cost divided by the least one, and a bar; two empty cells if there is no such ratio."""
    if not 0 < least <= cost < math.inf:
        return "", ""
    return WrittenNumber(f"{cost / least:.2f}"), Share(least / cost)


Event: TypeAlias = Expanded | Scored | Improved | Done
