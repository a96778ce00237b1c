"""A few random searches, and that a broken promise is seen. ``python -m tests.search_runs`` does
thousands.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from attrs import evolve

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Done, Event, Improved
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.registry import Strategy
from spaces.enumerate.search.stagewise.stagewise import Stagewise
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.directives.directives import schedule
from tests.draw_counts import some
from tests.search_runs.__main__ import main
from tests.search_runs.run import LATE, STRATEGIES, SearchRun, checked, drawn


@pytest.mark.parametrize("strategy", some(STRATEGIES))
def test_random_searches_keep_their_promises(strategy: str) -> None:
    reports = [checked(drawn(7, number, strategy)) for number in range(2)]
    assert not [report for report in reports if report.faults]
    assert any(report.structures >= 0 for report in reports)


def test_a_number_draws_a_run_again() -> None:
    assert drawn(3, 14) == drawn(3, 14) != drawn(3, 15)


@cache
def _plain() -> SearchRun:
    """A run on a CPU whose search prices some structures."""
    runs = (evolve(drawn(7, number), strategy="stagewise") for number in range(100))
    return next(run for run in runs if run.target == "cpu" and checked(run).structures > 2)


def _by(strategy: Strategy, **limits: object) -> SearchRun:
    """The same by a strategy that breaks a promise."""
    limits = {"structures": 5, **limits}
    return evolve(_plain(), strategy=strategy, limits=Limits(**limits))  # type: ignore[arg-type]


class Forgetful:
    """Gives another stream each time."""

    calls = 0

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        type(self).calls += 1
        yield from Stagewise()(space, model, evolve(limits, structures=self.calls))


def _illegal(space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
    """Returns a schedule with blocks of a GPU."""
    *_, done = Stagewise()(space, model, limits)
    assert isinstance(done, Done)
    output = space.pipeline.outputs[0]
    (first, *_) = space.pipeline.function(output).args
    broken = schedule(space.pipeline).func(output).gpu_blocks(first).schedule
    yield evolve(done, best=(evolve(done.best[0], schedule=broken),))


def _late(space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
    time.sleep((limits.seconds or 0) + LATE + 0.1)
    yield from Stagewise()(space, model, limits)


def _torn(space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
    raise KeyError("lost")
    yield


def _endless(space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
    yield from list(Stagewise()(space, model, limits))[:-1]


def _backward(space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
    events = list(Stagewise()(space, model, limits))
    yield from (event for event in events if isinstance(event, Improved))
    yield from events


def _greedy(space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
    yield from Stagewise()(space, model, evolve(limits, structures=None, top=4))


@pytest.mark.parametrize(
    ("strategy", "fault"),
    [
        (Forgetful(), "another stream"),
        (_illegal, "illegal schedule"),
        (_torn, "KeyError: 'lost'"),
        (_greedy, "It prices"),
        (_endless, "ends without Done"),
        (_backward, "An improvement is none"),
    ],
)
def test_broken_promises_are_faults(strategy: Strategy, fault: str) -> None:
    report = checked(_by(strategy, structures=1 if strategy is _greedy else 5))
    assert any(fault in one for one in report.faults)


def test_lateness_is_reported() -> None:
    report = checked(_by(_late, seconds=0.0))
    assert not report.faults
    assert report.late > LATE


def test_a_journal_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = tmp_path / "runs.jsonl"
    arguments = ["--seed", "7", "--journal", str(journal), "--strategy", "stagewise", "--runs"]
    assert main([*arguments, "1"]) == 0
    first = journal.read_text("utf-8")
    journal.write_text(first + '{"number": 1, "str', "utf-8")  # the machine went down
    assert main([*arguments, "2"]) == 0
    assert journal.read_text("utf-8").startswith(first)
    assert "2 runs" in capsys.readouterr().out.splitlines()[-2]
