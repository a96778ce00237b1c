"""What ``spaces tune`` shows while it runs: a table that changes on a terminal, elsewhere a line
every few seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from time import monotonic
from types import TracebackType
from typing import Self

from attrs import define, field
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from spaces.apps.command_line.console import complain
from spaces.apps.command_line.progress import EVERY
from spaces.markup.terminal import visible
from spaces.tuning.sources import REFERENCE, START
from spaces.tuning.study import Study
from spaces.tuning.trial import Trial

TICKS = 1.0
"""How often in a second the table on a terminal counts down."""


@define
class TuningView:
    """Shows a running study, as a context manager; its :meth:`show` is a callback.

    Attributes:
        seconds: the time limit; None for none.
    """

    seconds: float | None
    _console: Console = field(factory=lambda: Console(stderr=True))
    _began: float = field(init=False, factory=lambda: monotonic())
    _told: float = field(init=False, factory=lambda: monotonic())
    _live: Live = field(init=False)
    _phase: str = field(init=False, default="")
    _study: Study | None = field(init=False, default=None)
    _shown: int = field(init=False, default=0)
    _disturbed: int = field(init=False, default=0)
    _known: tuple[tuple[str, str], ...] = field(init=False, default=())

    def __attrs_post_init__(self) -> None:
        self._live = Live(
            console=self._console,
            get_renderable=self._table,
            refresh_per_second=TICKS,
            transient=True,
        )

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def begin(self, study: Study) -> None:
        """Shows what a study has from earlier runs."""
        self._study = study
        self._refresh()

    def show(self, study: Study, trial: Trial) -> None:
        """Shows the state of a study after a trial."""
        self._study = study
        self._shown += 1
        self._disturbed += trial.result is not None and trial.result.is_disturbed
        self._refresh()

    def tell_phase(self, what: str) -> None:
        """Shows what comes next."""
        self._phase = what
        self._refresh()

    def _refresh(self) -> None:
        if self._console.is_terminal:
            self._known = tuple(self._lines())
            self._live.refresh()
            return
        now = monotonic()
        if now - self._told >= EVERY:
            self._told = now
            parts = "; ".join(f"{what}: {said}" for what, said in [*self._lines(), *self._left()])
            complain(f"{now - self._began:.0f} s: {parts}")

    def _table(self) -> Table:
        """The table, whose time left changes. Another thread calls this, which asks no study."""
        made = Table(show_header=False)
        for what, said in [*self._known, *self._left()]:
            made.add_row(Text(visible(what)), Text(visible(said)))
        return made

    def _left(self) -> Iterator[tuple[str, str]]:
        if self.seconds is not None:
            yield "time left", f"{max(0.0, self.seconds - (monotonic() - self._began)):.0f} s"

    def _lines(self) -> Iterator[tuple[str, str]]:
        if self._phase:
            yield "now", self._phase
        if self._study is not None and self._study.told:
            yield from _lines_of(self._study)
        if self._disturbed:
            yield "disturbed", f"{self._disturbed} of {self._shown}: other programs were running"


def _lines_of(study: Study) -> Iterator[tuple[str, str]]:
    yield "trials", f"{study.told} ({outcomes(study)})"
    best = study.best
    if best is not None:
        yield "fastest", f"trial {best.number} ({best.proposal.source}), {shown_ratio(best)}"
    for trial in study.of_source(REFERENCE, START):
        if trial.result is not None:
            yield trial.proposal.source, shown_ratio(trial)


def outcomes(study: Study) -> str:
    """How many trials ended in which way."""
    return ", ".join(f"{count} {what}" for what, count in study.outcomes.items()) or "none"


def shown_ratio(trial: Trial) -> str:
    """The time of a trial in milliseconds and as a ratio, with its interval."""
    result = trial.result
    if result is None or math.isinf(result.ratio):
        return "no time"
    if trial.proposal.source == REFERENCE:
        return f"{result.median_seconds * 1e3:.3g} ms"
    return str(result)
