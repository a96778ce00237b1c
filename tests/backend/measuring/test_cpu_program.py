"""How often a program is run to time it once."""

from __future__ import annotations

import time

import pytest
from attrs import define

from backend.measuring import cpu_program
from backend.measuring.cpu_program import TimedCpuRun


@define
class Sleeper:
    """A program that takes some seconds."""

    takes: float
    runs: int = 0

    def __call__(self) -> dict:
        self.runs += 1
        time.sleep(self.takes)
        return {}


@pytest.mark.parametrize(("takes", "runs"), [(0.03, [2, 1, 1]), (0.006, [2, 2, 2])])
def test_long_runs_need_no_other_run_before(takes: float, runs: list[int], monkeypatch) -> None:
    monkeypatch.setattr(cpu_program, "LONG", 0.02)
    program = Sleeper(takes)
    timed = TimedCpuRun(program)
    for wanted in runs:
        before = program.runs
        assert timed.seconds() >= takes
        assert program.runs - before == wanted


def test_short_runs_are_repeated() -> None:
    """And others come before them, until the caches are warm."""
    program = Sleeper(2e-3)
    assert TimedCpuRun(program).seconds() >= 2e-3
    assert 4 <= program.runs <= 7
