"""Several workers that build at the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaces import MeasuringLimits, Schedule, device, schedule
from spaces.backend.measuring.inputs import random_inputs
from spaces.backend.measuring.session import REFERENCE, MeasuringSession, built_in_turns
from spaces.backend.measuring.task import MeasuringTask
from tests.backend.measuring import saboteurs
from tests.enumerate.pipelines import copied

COPIED = copied(960)


def split(factor: int) -> Schedule:
    return schedule(COPIED).func("f").split("x", "x", "xi", factor).schedule


def sessions(count: int) -> list[MeasuringSession]:
    sizes = {one.buffer: one.ranges for one in COPIED.estimates}
    task = MeasuringTask(
        COPIED, device("cpu"), random_inputs(COPIED), None, sizes, saboteurs.saboteur, None, None
    )
    limits = MeasuringLimits(compile_seconds=60.0)
    simple = Schedule.default(COPIED)
    return [
        MeasuringSession(task, simple, simple if number == 0 else None, limits)
        for number in range(count)
    ]


def test_workers_compile_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two compilers goes on when the other has begun."""
    monkeypatch.setenv(saboteurs.MEETING, str(tmp_path))
    both = sessions(2)
    try:
        met = built_in_turns(both, [split(saboteurs.MEETS)] * 2)
    finally:
        for session in both:
            session.close()
    assert [one.is_correct for one in met] == [True, True]


def test_schedules_keep_their_order() -> None:
    three = sessions(3)
    factors = [2 << n for n in range(1, 5)]
    try:
        found = built_in_turns(three, [split(4 * factor) for factor in factors])
        times = [three[n % 3].run(n).seconds for n in range(4)]
    finally:
        for session in three:
            session.close()
    assert [one.schedule for one in found] == [split(4 * factor) for factor in factors]
    assert all(one.is_correct for one in found)
    assert min(times) > 0


def test_only_the_first_worker_has_the_reference() -> None:
    both = sessions(2)
    try:
        built_in_turns(both, [split(16)] * 2)
        assert [session.ready for session in both] == [{REFERENCE, 0}, {1}]
        assert both[0].preparations == both[1].preparations == []
        for session in both:
            session.forget()
        assert [session.ready for session in both] == [{REFERENCE}, set()]
    finally:
        for session in both:
            session.close()
    assert [len(session.preparations) for session in both] == [1, 1]


def test_workers_without_work_do_not_start() -> None:
    both = sessions(2)
    try:
        assert built_in_turns(both, []) == []
        assert [len(session.preparations) for session in both] == [1, 1]
        assert built_in_turns(both, [split(16)])[0].is_correct
        assert [len(session.preparations) for session in both] == [0, 1]
    finally:
        for session in both:
            session.close()
