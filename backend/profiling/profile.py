"""The result of a profiled run: the time, the visits and the memory of each Func."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from attrs import frozen

from spaces.cost.measurer import DISTURBING
from spaces.markup.card import Card, Share, Table, WrittenNumber, card, more, paragraph
from spaces.markup.shows_card import ShowsCard
from spaces.model.amounts import amount
from spaces.model.showing import few_lines

_SHOWN = 12
"""How many Funcs a card shows."""


@frozen
class FuncTime:
    """What one Func took in a run.

    Attributes:
        func: the Func.
        seconds: the time of all threads together, without that of Funcs with an entry of their own
            that are computed in its loops.
        visits: how often it was computed.
        threads: how many threads worked in its parallel loops, on average; 1 without such loops.
        bytes: the bytes that all its allocations took; 0 for an output.
        allocations: how often it was allocated.
        within: the Funcs whose time is a part of this, because their visits are too short to time.
    """

    func: str
    seconds: float
    visits: int
    threads: float = 1.0
    bytes: int = 0
    allocations: int = 0
    within: tuple[str, ...] = ()


@frozen(repr=False)
class Profile(ShowsCard):
    """Where the time of a compiled pipeline goes, on this machine.

    Attributes:
        pipeline: the name of the pipeline.
        threads: the threads that execute parallel loops.
        runs: the number of profiled runs; times are medians of them, and counts are of one run.
        seconds: the time of a run, as a clock on the wall measures it.
        plain_seconds: the same without counters.
        funcs: the Funcs, those that take most first.
        others: the share of the processors, from 0 to 1, that other programs took meanwhile; 0 if
            the system does not tell.
    """

    pipeline: str
    threads: int
    runs: int
    seconds: float
    plain_seconds: float
    funcs: tuple[FuncTime, ...]
    others: float = 0.0

    @property
    def is_disturbed(self) -> bool:
        """Whether other programs took more than :data:`DISTURBING` of the machine: threads waited,
        and the clock went on, in whichever Func they were.
        """
        return self.others > DISTURBING

    @cached_property
    def by_func(self) -> Mapping[str, FuncTime]:
        """What each Func took; a Func that is timed within another one has no entry."""
        return {one.func: one for one in self.funcs}

    @property
    def busy_seconds(self) -> float:
        """The time of all threads in all Funcs together."""
        return sum(one.seconds for one in self.funcs)

    @property
    def overhead(self) -> float:
        """The share of the time that the counters took; below 0 where chance decided."""
        return self.seconds / self.plain_seconds - 1 if self.plain_seconds else 0.0

    def share(self, func: str) -> float:
        """The share of a Func of the time of all threads; 0 without an entry."""
        found, whole = self.by_func.get(func), self.busy_seconds
        return found.seconds / whole if found is not None and whole else 0.0

    def _rows(self) -> list[tuple[str, str, str, int, str]]:
        return [
            (
                one.func,
                f"{self.share(one.func):.1%}",
                f"{one.seconds * 1e3:,.3f} ms",
                one.visits,
                f"with {', '.join(one.within)}" if one.within else "",
            )
            for one in self.funcs
        ]

    def __str__(self) -> str:
        rows = self._rows()
        width = max((len(row[0]) for row in rows), default=0)
        told = [f"  {f:{width}}  {s:>6}  {t:>12}  {v:>9,} {w}".rstrip() for f, s, t, v, w in rows]
        head = (
            f"{self.pipeline}: {self.seconds * 1e3:,.3f} ms a run, median of "
            f"{amount(self.runs, 'run')} on {amount(self.threads, 'thread')}"
        )
        return few_lines([head, *self.warnings(), *told], rest="Funcs")

    def warnings(self) -> list[str]:
        """Sentences that a reader needs before trusting the times; mostly none."""
        if not self.is_disturbed:
            return []
        return [
            f"Other programs took {self.others:.0%} of the processors meanwhile: the clock of a "
            "Func went on where its threads waited, so these times say little."
        ]

    def __repr__(self) -> str:
        return f"<Profile of {self.pipeline}: {self.seconds * 1e3:,.3f} ms a run>"

    def _card(self) -> Card:
        rows = tuple(
            (
                func,
                WrittenNumber(share),
                Share(self.share(func)),
                WrittenNumber(time),
                visits,
                within,
            )
            for func, share, time, visits, within in self._rows()[:_SHOWN]
        )
        about = f"{self.seconds * 1e3:,.3f} ms a run, {amount(self.threads, 'thread')}"
        columns = ("Func", "share", "", "time of all threads", "visits", "")
        left = more(len(self.funcs), _SHOWN, "Funcs")
        warned = map(paragraph, self.warnings())
        return card(f"Profile of {self.pipeline}", about, *warned, Table(columns, rows), left)
