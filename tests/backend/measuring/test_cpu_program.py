"""How often a program is run to time it once."""

from __future__ import annotations

import pytest
from attrs import define

from spaces.backend.measuring import cpu_program
from spaces.backend.measuring.cpu_program import TimedCpuRun


class Clock:
    """Stands still unless a program runs."""

    seconds = 0.0

    def perf_counter(self) -> float:
        return self.seconds


CLOCK = Clock()


@pytest.fixture(autouse=True)
def _on_this_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine changes nothing."""
    CLOCK.seconds = 0.0
    monkeypatch.setattr(cpu_program, "time", CLOCK)


@define
class Sleeper:
    """A program that takes some seconds."""

    takes: float
    runs: int = 0

    @staticmethod
    def clock() -> Clock:
        """The clock that its runs move."""
        return CLOCK

    def __call__(self) -> dict:
        self.runs += 1
        CLOCK.seconds += self.takes
        return {}


@pytest.mark.parametrize(("takes", "runs"), [(0.03, [2, 1, 1]), (0.006, [2, 2, 2])])
def test_long_runs_need_no_other_run_before(takes: float, runs: list[int], monkeypatch) -> None:
    monkeypatch.setattr(cpu_program, "LONG", 0.02)
    program = Sleeper(takes)
    timed = TimedCpuRun(program)
    for wanted in runs:
        before = program.runs
        assert timed.seconds() == pytest.approx(takes)
        assert program.runs - before == wanted


def test_short_runs_are_repeated() -> None:
    program = Sleeper(2e-3)
    timed = TimedCpuRun(program)
    timed._last = 1.0  # as if a long run came before, which needs no warm-up
    assert timed.seconds() >= 2e-3
    assert program.runs == 1 + 3


def test_programs_are_warmed_up_for_a_while() -> None:
    program = Sleeper(2e-3)
    cpu_program.warm_up(program)
    assert program.runs == 3
    slow = Sleeper(6e-3)
    cpu_program.warm_up(slow)
    assert slow.runs == 1
