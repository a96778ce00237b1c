"""Progress of long commands outside a terminal: lines on the error stream."""

from __future__ import annotations

import json

import pytest

from spaces import Done, Expanded, Found, Improved, Schedule, Scored
from spaces.apps.command_line import progress
from spaces.apps.command_line.progress import Reporter
from spaces.apps.command_line.search import follow
from spaces.model import deadline
from tests.apps.command_line import spaces
from tests.clocks import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "monotonic", made)
    return made


def test_a_line_every_few_seconds(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with Reporter(20.0) as reporter:
        for clock.now in range(12):
            reporter.show("counting", {"considered": 300 * clock.now, "legal": 7}, step=(3, 9))
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "5 s: counting (3 of 9), 1,500 considered, 7 legal, 300 a second, 15 s left\n"
        "10 s: counting (3 of 9), 3,000 considered, 7 legal, 300 a second, 10 s left\n"
    )


def test_a_search_shows_its_phase_its_funnel_and_its_best(clock: Clock, capsys) -> None:
    def events():
        yield Expanded(1, 2, "blur_x")
        yield Improved(Found(42.0, Schedule(())))
        clock.now = 6.0
        yield Scored(8, 100, considered=12, legal=5)
        yield Done((Found(42.0, Schedule(())),), 8, 100, True)

    follow(events())
    assert capsys.readouterr().err == (
        "6 s: blur_x (1 of 2), 12 structures considered, 5 legal, 8 scored, 2 a second, best 42\n"
    )


@pytest.mark.parametrize(
    ("arguments", "phase"),
    [
        (("count", "toy_sum", "--options", "small", "--device", "sm_80"), "counting structure 1, "),
        (("prove", "blur", "--schedule", "cpu"), "proving "),
    ],
)
def test_counts_and_proofs_show_progress(monkeypatch, arguments, phase) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    _, err = spaces(*arguments)
    first, *_ = err.splitlines()
    assert phase in first
    assert "considered, " in first
    assert " s left" in first


@pytest.mark.parametrize(
    ("arguments", "phase"), [(("sample",), "sampling"), (("count", "--seconds", "2"), "estimating")]
)
def test_draws_show_progress(monkeypatch, arguments, phase) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    looks = Clock()
    looks.step = 1e-3
    monkeypatch.setattr(deadline, "monotonic", looks)
    name, *more = arguments
    _, err = spaces(name, "toy_sum", "--options", "expert", *more)
    shown = [text for text in err.splitlines() if phase in text]
    assert "schedules drawn, " in shown[-1]
    assert " legal" in shown[-1]


def test_ranks_show_progress(monkeypatch, sched) -> None:
    space = ("toy_sum", "--options", "small")
    out, _ = spaces("enumerate", *space, "--limit", "12", "--json")
    last = sched(json.loads(out)["schedules"][-1])
    monkeypatch.setattr(progress, "EVERY", 0.0)
    _, err = spaces("rank", *space, "--schedule", last)
    assert ": ranking, " in err
    assert " structures judged, 11 legal schedules before, " in err.splitlines()[-1]


def test_short_commands_show_none() -> None:
    assert spaces("count", "toy_sum", "--options", "small", "--device", "sm_80")[1] == ""
