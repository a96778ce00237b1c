"""Measuring on this machine: times of good candidates, and what becomes of bad ones."""

from __future__ import annotations

import time

import numpy as np
import pytest
from attrs import evolve

from spaces import (
    LocalMeasurer,
    Measurer,
    MeasuringError,
    MeasuringLimits,
    RunOutcome,
    Schedule,
    device,
    schedule,
)
from spaces.backend.measuring import local
from spaces.backend.measuring.process import Worker
from spaces.backend.measuring.rounds import EVERY_ROUND
from spaces.backend.measuring.task import BuildRequest, CheckRequest, ForgetRequest, TimeRequest
from spaces.model.deadline import Deadline, OutOfTime
from tests.backend.measuring import saboteurs
from tests.enumerate.pipelines import blur, copied

FEW = MeasuringLimits(rounds=3, run_seconds=1.0, compile_seconds=5.0, memory_bytes=1 << 30)
COPIED = copied(960)


def split(factor: int) -> Schedule:
    return schedule(COPIED).func("f").split("x", "x", "xi", factor).schedule


@pytest.mark.parametrize("workers", [1, 2, pytest.param(3, marks=pytest.mark.thorough)])
def test_each_candidate_has_its_own_fate(workers: int) -> None:
    """A bad candidate costs no other one its times, in its worker or in another."""
    good = [split(factor) for factor in (16, 32)]
    bad = {
        saboteurs.CRASHES: (RunOutcome.CRASHED, "signal SIGSEGV"),
        saboteurs.HANGS: (RunOutcome.HUNG, "within 1 s"),
        saboteurs.WRONG: (RunOutcome.WRONG, r"1 of 960 values of f differ .* at \[3\]"),
        saboteurs.GREEDY: (RunOutcome.OUT_OF_MEMORY, "allocate"),
        saboteurs.REFUSES: (RunOutcome.NOT_COMPILED, "this does not compile"),
        saboteurs.ABORTS: (RunOutcome.NOT_COMPILED, "signal SIGABRT"),
        saboteurs.CRASHES_LATER: (RunOutcome.CRASHED, "exit status 3"),
        saboteurs.GREEDY_COMPILER: (RunOutcome.NOT_COMPILED, "allocate"),
        saboteurs.BABBLES: (RunOutcome.CRASHED, "no answer: .* rubbish"),
        saboteurs.TIMELESS: (RunOutcome.CRASHED, "nan s as a time"),
    }
    with LocalMeasurer(
        limits=FEW, race=EVERY_ROUND, make=saboteurs.saboteur, workers=workers
    ) as measurer:
        found = measurer.measure(COPIED, [good[0], *map(split, bad), good[1]])
    first, *others, last = found
    assert [one.schedule for one in found] == [good[0], *map(split, bad), good[1]]
    for one in (first, last):
        assert one.is_correct
        assert len(one.seconds) == len(one.reference_seconds) == 3
        assert 0 < one.ratio < 1000
    assert [one.outcome for one in others] == [outcome for outcome, _ in bad.values()]
    for one, (_, said) in zip(others, bad.values(), strict=True):
        assert pytest.approx(one.ratio) == float("inf")
        with pytest.raises(ValueError, match=said):
            raise ValueError(one.reason)


def test_the_time_limit_of_the_caller_ends_a_measurement() -> None:
    """What hangs would take a minute. Its worker ends, and the next measurement has another one."""
    long = evolve(FEW, run_seconds=60.0)
    with LocalMeasurer(limits=long, make=saboteurs.saboteur, workers=1) as measurer:
        assert measurer.measure(COPIED, [split(32)])[0].is_correct
        began = time.monotonic()
        with pytest.raises(OutOfTime), Deadline.after(0.3).kept():
            measurer.measure(COPIED, [split(saboteurs.HANGS)])
        assert time.monotonic() - began < 20
        assert measurer.measure(COPIED, [split(32)])[0].is_correct


def test_the_fastest_run_so_far_limits_the_next_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "LEAST_LIMIT", 0.2)
    monkeypatch.setattr(local.ProcessorTimes, "now", lambda *_: None)  # as if nobody else
    long = evolve(FEW, run_seconds=60.0)
    with LocalMeasurer(limits=long, make=saboteurs.saboteur, workers=1) as measurer:
        measurer.measure(COPIED, [split(32)])
        (hung,) = measurer.measure(COPIED, [split(saboteurs.HANGS)])
    assert hung.outcome is RunOutcome.HUNG
    assert float(hung.reason.split()[-2]) == pytest.approx(0.2, abs=0.15)


def test_results_are_told_as_soon_as_they_are_known() -> None:
    """What does not compile first, then the times of three rounds, then all times."""
    limits = evolve(FEW, rounds=5)
    schedules = [split(16), split(saboteurs.REFUSES), split(32)]
    with LocalMeasurer(
        limits=limits, race=EVERY_ROUND, make=saboteurs.saboteur, workers=1
    ) as measurer:
        told = list(measurer.measure_gradually(COPIED, schedules))
    assert [(place, one.outcome.value, len(one.seconds)) for place, one in told] == [
        (1, "not compiled", 0),
        (0, "correct", 3),
        (2, "correct", 3),
        (0, "correct", 5),
        (2, "correct", 5),
    ]
    assert told[1][1].seconds == told[3][1].seconds[:3]
    assert [one.schedule for _, one in told[3:]] == [schedules[0], schedules[2]]


def test_a_compiler_that_stalls_is_stopped() -> None:
    limits = MeasuringLimits(rounds=1, compile_seconds=0.5)
    with LocalMeasurer(limits=limits, make=saboteurs.saboteur) as measurer:
        (found,) = measurer.measure(COPIED, [split(saboteurs.STALLS)])
    assert found.outcome is RunOutcome.NOT_COMPILED
    assert found.reason == "It did not answer within 0.5 s."


def test_illegal_schedules_and_sizes_that_do_not_fit_are_told() -> None:
    with LocalMeasurer(limits=FEW, sizes={"f": [40]}) as measurer:
        large, fine = measurer.measure(COPIED, [split(64), split(8)])
    assert large.outcome is RunOutcome.REFUSED
    assert fine.is_correct
    pipe = blur(64, 64)
    with LocalMeasurer(limits=FEW) as measurer:
        wide = schedule(pipe).func("blur_y").vectorize("x", 128).schedule
        (illegal,) = measurer.measure(pipe, [wide])
    assert illegal.outcome is RunOutcome.ILLEGAL
    assert "bounds." in illegal.reason


@pytest.mark.usefixtures("started_workers")
def test_a_worker_serves_several_pipelines() -> None:
    measurer: Measurer = LocalMeasurer(limits=FEW, workers=1)
    assert isinstance(measurer, Measurer)
    with measurer:
        for pipe in (COPIED, blur(64, 32), COPIED):
            (found,) = measurer.measure(pipe, [Schedule.default(pipe)])
            assert found.is_correct
            assert found.compile_seconds is not None


def test_the_trusted_schedule_must_work() -> None:
    with (
        LocalMeasurer(limits=FEW, make=saboteurs.saboteur, reference=split(2)) as measurer,
        pytest.raises(MeasuringError, match=r"reference schedule of f.* fails \(crashed\)"),
    ):
        measurer.measure(COPIED, [split(16)])


@pytest.mark.parametrize("role", ["reference", "trusted"])
def test_all_must_have_the_results_of_the_trusted_schedule(role: str) -> None:
    """The reference, too; and the trusted schedule may run far longer than others."""
    slow = evolve(FEW, run_seconds=0.2)
    roles = {"reference": split(16), "trusted": split(saboteurs.SLOW)}
    with LocalMeasurer(limits=slow, make=saboteurs.saboteur, **roles) as measurer:
        assert measurer.measure(COPIED, [split(32)])[0].is_correct
    roles[role] = split(saboteurs.WRONG)
    with (
        LocalMeasurer(limits=FEW, make=saboteurs.saboteur, **roles) as measurer,
        pytest.raises(MeasuringError, match=r"reference schedule of f.* fails \(wrong\)"),
    ):
        measurer.measure(COPIED, [split(32)])


def _measure_twice(measurer: LocalMeasurer) -> None:
    """The second time the worker forgets the first schedule."""
    for factor in 16, 64:
        measurer.measure(COPIED, [split(factor)])


@pytest.mark.parametrize("request_kind", [BuildRequest, CheckRequest, TimeRequest, ForgetRequest])
def test_an_interrupted_measurement_leaves_no_answer_behind(
    request_kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Worker.ask

    def interrupted(self, request, seconds):
        wait = asked(self, request, seconds)
        if not isinstance(request, request_kind) or request.key < 0:
            return wait

        def stop():
            raise KeyboardInterrupt

        return stop

    with LocalMeasurer(limits=FEW, make=saboteurs.saboteur) as measurer:
        monkeypatch.setattr(Worker, "ask", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _measure_twice(measurer)
        monkeypatch.setattr(Worker, "ask", asked)
        wrong, right = measurer.measure(COPIED, [split(saboteurs.WRONG), split(32)])
    assert wrong.outcome is RunOutcome.WRONG
    assert right.is_correct
    assert min(right.seconds) > 0


def test_inputs_of_the_user_are_used() -> None:
    image = np.zeros(960, np.uint8)
    with LocalMeasurer(limits=FEW, inputs={"input": image}, device=device("cpu")) as measurer:
        assert measurer.measure(COPIED, [split(16)])[0].is_correct
    with (
        LocalMeasurer(limits=FEW, inputs={"input": image[:3]}) as measurer,
        pytest.raises(MeasuringError, match=r"fails \(refused\)"),
    ):
        measurer.measure(COPIED, [split(16)])


def test_systems_without_sockets_to_inherit_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spaces.backend.measuring.process.os.name", "nt")
    with pytest.raises(NotImplementedError, match="needs Linux"):
        Worker.start(None)  # type: ignore[arg-type]
