"""Conditions of timed runs: caches, inputs, and the cores that run."""

from __future__ import annotations

import fcntl
import logging
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from spaces import LocalMeasurer, MeasuringLimits, RunConditions, device
from spaces.backend.measuring import alone, cores
from spaces.backend.measuring.alone import alone_on_machine, core_lock_path, lock_path, take_core
from spaces.backend.measuring.caches import TIMES, CacheFlush
from spaces.backend.measuring.conditions import USUAL
from spaces.backend.measuring.cores import find_free_cores, measuring_cores
from spaces.backend.measuring.cpu_program import MOST_COLD, ColdCpuRun, TimedCpuRun, cpu_program
from spaces.backend.measuring.disturbance import ProcessorTimes
from spaces.backend.measuring.session import MeasuringError
from spaces.backend.measuring.task import MeasuringTask
from spaces.constraints.devices.device import CpuDevice
from spaces.constraints.devices.host_caches import DescribedCache, HostCaches
from spaces.model.directives.directives import schedule
from tests.backend.measuring.test_cpu_program import Sleeper
from tests.enumerate.pipelines import copied

COPIED = copied(960)
PLAIN = schedule(COPIED).schedule
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells about cores")
USABLE = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else [0]


@pytest.fixture
def _own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(alone, "lock_path", lock_path)


def test_conditions_have_words_that_tell_them_apart() -> None:
    several = [
        USUAL, RunConditions(cold=True), RunConditions(input_seed=0), RunConditions(input_seed=7),
        RunConditions(new_inputs=True), RunConditions(cores=(1, 0)), RunConditions(free_cores=2),
        RunConditions(cold=True, cores=(1, 0)),
    ]  # fmt: skip
    assert [one.text for one in several] == [
        "", "cold caches", "inputs 0", "inputs 7", "new inputs", "cores 0,1", "free cores: 2",
        "cold caches, cores 0,1",
    ]  # fmt: skip
    assert RunConditions(cores=[0, 1]).text == RunConditions(cores=(1, 0)).text


def test_conditions_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match="Give cores, or how many free cores"):
        RunConditions(cores=(1,), free_cores=1)
    with pytest.raises(ValueError, match="Give a seed of the inputs, or ask for new ones"):
        RunConditions(input_seed=1, new_inputs=True)
    for wrong in (1, 1), (-1,):
        with pytest.raises(ValueError, match="numbers from 0 on, each once"):
            RunConditions(cores=wrong)
    for cpu_alone in {"cold": True}, {"cores": (0,)}, {"free_cores": 1}:
        with pytest.raises(ValueError, match="are for CPUs, and sm_80 is a GPU"):
            LocalMeasurer(device=device("sm_80"), conditions=RunConditions(**cpu_alone))  # type: ignore[arg-type]


@pytest.mark.parametrize(("takes", "runs"), [(0.03, 1), (3e-3, 2), (1e-4, MOST_COLD)])
def test_caches_are_emptied_before_each_run(takes: float, runs: int, monkeypatch) -> None:
    monkeypatch.setattr("spaces.backend.measuring.cpu_program.time", Sleeper.clock())
    program = Sleeper(takes)
    order: list[int] = []
    timed = ColdCpuRun(program, lambda: order.append(program.runs))  # type: ignore[arg-type]
    assert timed.seconds() == pytest.approx(takes)
    assert order == list(range(runs))
    assert program.runs == runs


@ON_LINUX
def test_each_core_writes_more_than_the_largest_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    small = CpuDevice(
        name="cpu", model="m", cores=2, l1_bytes=512, l2_bytes=4096, l3_bytes=1024,
        cache_line_bytes=64, vector_bits=128,
    )  # fmt: skip
    described = HostCaches({1: DescribedCache(512, 1), 3: DescribedCache(8192, 2)}, 64)
    monkeypatch.setattr("spaces.backend.measuring.caches.described_caches", lambda: described)
    flush = CacheFlush.of(small)
    assert flush._buffer.nbytes == TIMES * 8192
    before = os.sched_getaffinity(0)
    written: list[set[int]] = []
    write = CacheFlush._write

    def noted(self: CacheFlush) -> None:
        written.append(os.sched_getaffinity(0))
        write(self)

    monkeypatch.setattr(CacheFlush, "_write", noted)
    flush()
    assert written == [{core} for core in USABLE]
    assert os.sched_getaffinity(0) == before
    assert (flush._buffer == len(USABLE)).all()


def a_task(conditions: RunConditions) -> MeasuringTask:
    with LocalMeasurer(conditions=conditions) as measurer:
        return measurer._of(COPIED)[0].task


def test_a_cold_program_is_what_a_worker_times() -> None:
    for conditions, kind in (USUAL, TimedCpuRun), (RunConditions(cold=True), ColdCpuRun):
        task = a_task(conditions)
        program = cpu_program(task, PLAIN)
        assert isinstance(program, kind)
        assert program.run().keys() == {"f"}
    assert program.seconds() > 0


def test_inputs_are_fixed_by_a_seed_or_new() -> None:
    def image(conditions: RunConditions, **given: object) -> np.ndarray:
        with LocalMeasurer(conditions=conditions, **given) as measurer:  # type: ignore[arg-type]
            return measurer._of(COPIED)[0].task.inputs["input"]

    fixed = [image(RunConditions(input_seed=seed)) for seed in (0, 0, 7)]
    assert (fixed[0] == fixed[1]).all()
    assert (fixed[0] == image(USUAL)).all()
    assert (fixed[0] != fixed[2]).any()
    new = [image(RunConditions(new_inputs=True)) for _ in range(2)]
    assert (new[0] != new[1]).any()
    mine = {"input": np.zeros(960, np.uint8)}
    assert not image(RunConditions(input_seed=7), inputs=mine).any()


@ON_LINUX
@pytest.mark.usefixtures("_own_locks")
def test_measurements_on_other_cores_go_on_at_the_same_time() -> None:
    first = USABLE[0]
    with measuring_cores(RunConditions(cores=(first,)), (), 0.1) as chosen:
        assert chosen == (first,)
        with lock_path().open() as whole, core_lock_path(first).open() as core:
            fcntl.flock(whole, fcntl.LOCK_SH | fcntl.LOCK_NB)  # as one on other cores does
            for lock in whole, core:
                with pytest.raises(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with (
            pytest.raises(MeasuringError, match=rf"still measures on core {first} after 0\.1 s"),
            measuring_cores(RunConditions(cores=(first,)), (), 0.1),
        ):
            pass
        with (
            pytest.raises(MeasuringError, match="still measures on this machine after"),
            alone_on_machine(0.1),
        ):
            pass
    with alone_on_machine(0.1), ExitStack() as held:
        assert take_core(first, held)
    with (
        pytest.raises(MeasuringError, match=r"This process may not use core 4095; it may use 0"),
        measuring_cores(RunConditions(cores=(4095,)), (), 0.1),
    ):
        pass


@ON_LINUX
@pytest.mark.usefixtures("_own_locks")
def test_free_cores_are_taken_beside_a_process_that_measures(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    free = [[4, 2], [2], [2, 4, 6]]
    monkeypatch.setattr(cores, "find_free_cores", lambda before: free.pop(0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 4, 6})
    wanted = RunConditions(free_cores=2)
    with alone_on_machine(0.1), measuring_cores(wanted, (), 60.0) as chosen:
        assert chosen == (2, 4)
    with ExitStack() as held, caplog.at_level(logging.WARNING, "spaces.measuring"):
        assert take_core(4, held)  # another one measures there
        with measuring_cores(wanted, (2, 6), 60.0) as chosen:
            assert chosen == (2, 6)
            with lock_path().open() as whole, pytest.raises(BlockingIOError):
                fcntl.flock(whole, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert caplog.messages == ["2 cores are wanted and 1 free; waiting up to 60 s"]
    free.append([])
    with (
        pytest.raises(MeasuringError, match=r"Fewer than 2 cores were free for 0 s\."),
        measuring_cores(wanted, (), 0.0),
    ):
        pass
    with (
        pytest.raises(MeasuringError, match=r"4 free cores are wanted, and this process may use 3"),
        measuring_cores(RunConditions(free_cores=4), (), 0.0),
    ):
        pass


@ON_LINUX
def test_a_core_is_free_if_all_its_hardware_threads_rest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Cores 0 and 1 are one, as are 2 and 3, and 4 and 5; core 3 works. The system tells so in
    ranges and in lists.
    """
    assert cores._work_of_cores().keys() >= set(USABLE)
    for core in range(6):
        topology = tmp_path / f"sys/devices/system/cpu/cpu{core}/topology"
        topology.mkdir(parents=True)
        first, second = core & ~1, core | 1
        told = f"{first},{second}\n" if first == 4 else f"{first}-{second}\n"
        (topology / "thread_siblings_list").write_text(told)
    monkeypatch.setattr(cores, "Path", lambda path: tmp_path / path.lstrip("/"))
    monkeypatch.setattr(cores, "LOOK", 0.02)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 4, 5})
    for before, expected in ((), [0, 4]), ((5, 1), [1, 5]), ((2,), [0, 4]):
        looks = [dict.fromkeys(range(6), 50), {**dict.fromkeys(range(6), 50), 3: 500}]
        assert find_free_cores(before, lambda looks=looks: looks.pop(0)) == expected  # type: ignore[misc]


@ON_LINUX
@pytest.mark.usefixtures("_own_locks")
def test_a_worker_stays_on_its_cores() -> None:
    last = USABLE[-1]
    conditions = RunConditions(cores=(last,))
    with LocalMeasurer(
        conditions=conditions, limits=MeasuringLimits(rounds=1), workers=1
    ) as measurer:
        (found,) = measurer.measure(COPIED, [PLAIN])
        assert found.is_correct
        pid = measurer._sessions[0].pid
        threads = [int(one.name) for one in Path(f"/proc/{pid}/task").iterdir()]
        assert {frozenset(os.sched_getaffinity(one)) for one in threads} == {frozenset({last})}
        assert measurer._sessions[0].task.threads == 1


@ON_LINUX
def test_only_chosen_cores_count_as_disturbed() -> None:
    one, whole = ProcessorTimes.now([], USABLE[:1]), ProcessorTimes.now([])
    assert one is not None
    assert whole is not None
    assert one.cores == 1
    assert one.busy <= whole.busy
