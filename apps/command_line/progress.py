"""The progress of a long command: its phase, its rate, its funnel and the time that is left.

A terminal shows them as a line that moves; elsewhere the error stream gets a line every few
seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from types import TracebackType
from typing import Self

from attrs import define, field
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from spaces.apps.command_line.console import complain

EVERY = 5.0
"""Seconds between two lines of progress outside a terminal."""


@define
class Reporter:
    """Shows the progress of one command, as a context manager.

    Attributes:
        seconds: the time limit of the command; None for no limit.
    """

    seconds: float | None = None
    _console: Console = field(factory=lambda: Console(stderr=True))
    _bars: Progress = field(init=False)
    _began: float = field(init=False, factory=lambda: monotonic())
    _told: float = field(init=False, factory=lambda: monotonic())

    def __attrs_post_init__(self) -> None:
        self._bars = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[status]}"),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._bars.add_task("", total=None, status="")

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def show(
        self,
        phase: str,
        funnel: Mapping[str, int],
        *,
        step: tuple[int, int] = (0, 0),
        best: str = "",
    ) -> None:
        """Shows the state of the command.

        Args:
            phase: the work at hand, such as the Func that is decided.
            funnel: how many items went through each stage, the widest stage first; the rate is that
                of the first stage.
            step: the number of the step and the number of all steps; zeros if unknown.
            best: the best result so far.
        """
        done, steps = step
        if self._console.is_terminal:
            status = ", ".join(self._parts(funnel, best))
            task = self._bars.task_ids[0]
            total = steps or None
            self._bars.update(task, completed=done, total=total, description=phase, status=status)
            return
        now = monotonic()
        if now - self._told >= EVERY:
            self._told = now
            where = f"{phase} ({done} of {steps})" if steps else phase
            complain(", ".join((f"{now - self._began:.0f} s: {where}", *self._parts(funnel, best))))

    @property
    def elapsed(self) -> float:
        """The seconds since the command began."""
        return monotonic() - self._began

    def _parts(self, funnel: Mapping[str, int], best: str) -> list[str]:
        elapsed = self.elapsed
        parts = [f"{number:,} {what}" for what, number in funnel.items()]
        rate = next(iter(funnel.values()), 0) / elapsed if elapsed > 0 else 0.0
        parts.append(f"{rate:,.0f} a second")
        if best:
            parts.append(best)
        if self.seconds is not None:
            parts.append(f"{max(0.0, self.seconds - elapsed):.0f} s left")
        return parts
