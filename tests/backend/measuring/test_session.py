"""Several workers that build at the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

from spaces import Measurement, MeasuringLimits, Schedule, device, schedule
from spaces.backend.measuring.inputs import random_inputs
from spaces.backend.measuring.session import REFERENCE, MeasuringSession, build_in_turns
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


def built(several: list[MeasuringSession], schedules: list[Schedule]) -> list[Measurement]:
    """What became of schedules, in their order."""
    found = {place: one for place, _, one in build_in_turns(several, schedules, 10.0)}
    return [found[place] for place in range(len(schedules))]


def test_workers_compile_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two compilers goes on when the other has begun."""
    monkeypatch.setenv(saboteurs.MEETING, str(tmp_path))
    both = sessions(2)
    try:
        met = built(both, [split(saboteurs.MEETS)] * 2)
    finally:
        for session in both:
            session.close()
    assert [one.is_correct for one in met] == [True, True]


def test_schedules_keep_their_order() -> None:
    three = sessions(3)
    factors = [2 << n for n in range(1, 5)]
    try:
        made = list(build_in_turns(three, [split(4 * factor) for factor in factors], 10.0))
        times = [one.session.run(one.key, 10.0).seconds for _, one, _ in made]
    finally:
        for session in three:
            session.close()
    assert [place for place, *_ in made] == [0, 1, 2, 3]
    for _, one, found in made:
        assert found.is_correct
        assert one.schedule == found.schedule == one.session.schedules[one.key]
    assert [found.schedule for *_, found in made] == [split(4 * factor) for factor in factors]
    assert min(times) > 0


def test_only_the_first_worker_has_the_reference() -> None:
    both = sessions(2)
    try:
        built(both, [split(16), split(32)])
        assert [session.ready for session in both] == [{REFERENCE, 0}, {0}]
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
        assert built(both, []) == []
        assert [len(session.preparations) for session in both] == [1, 1]
        assert built(both, [split(16)])[0].is_correct
        assert [len(session.preparations) for session in both] == [0, 1]
    finally:
        for session in both:
            session.close()


def test_what_a_worker_still_has_is_not_built_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Schedule] = []
    begin = MeasuringSession.begin

    def noted(self: MeasuringSession, key: int, schedule: Schedule):  # type: ignore[no-untyped-def]
        asked.append(schedule)
        return begin(self, key, schedule)

    both = sessions(2)
    try:
        built(both, [split(16), split(32)])
        monkeypatch.setattr(MeasuringSession, "begin", noted)
        again = built(both, [split(64), split(32)])
        assert all(one.is_correct for one in again)
        assert asked == [split(64)]
        held = [one for session in both for one in session.schedules.values()]
        assert sorted(map(str, held)) == sorted(map(str, [split(32), split(64)]))
    finally:
        for session in both:
            session.close()
