"""Times on a GPU: between events where there is one, and none where there is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spaces.backend.cuda.emulator import Emulator, HostMemory
from spaces.backend.cuda.errors import CudaUnavailable
from spaces.backend.cuda.launch import gpu_available
from spaces.backend.measuring import gpu_program
from spaces.backend.measuring.gpu_program import TimingExecutor
from spaces.backend.measuring.inputs import random_inputs
from spaces.backend.measuring.local import LocalMeasurer
from spaces.backend.measuring.session import MeasuringError
from spaces.backend.measuring.task import MeasuringLimits, MeasuringTask, NotLegalError
from spaces.constraints.devices.device import device
from spaces.model.directives.directives import schedule
from spaces.model.schedules.schedule import Schedule
from tests.enumerate.pipelines import blur

AVAILABLE, REASON = gpu_available()
PIPE = blur(64, 32)
GPU = device("sm_80")


def blocks(size: int) -> Schedule:
    return schedule(PIPE).gpu_tile("x", "y", "xi", "yi", size, 4).schedule


def task() -> MeasuringTask:
    sizes = {one.buffer: one.ranges for one in PIPE.estimates}
    maker = gpu_program.gpu_program
    return MeasuringTask(PIPE, GPU, random_inputs(PIPE), None, sizes, maker, None, None)


@pytest.mark.skipif(AVAILABLE, reason="there is a GPU")
def test_without_a_gpu_nothing_is_measured() -> None:
    """Least of all an emulator."""
    with (
        LocalMeasurer(device=GPU, reference=blocks(16)) as measurer,
        pytest.raises(MeasuringError, match="Nothing is measured for sm_80 without a GPU: "),
    ):
        measurer.measure(PIPE, [blocks(32)])
    with pytest.raises(CudaUnavailable):
        gpu_program.gpu_program(task(), blocks(16))


def test_emulators_have_no_times() -> None:
    program = gpu_program.TimedGpuRun(task(), _compiled(), Emulator())
    assert program.run()["blur_y"].shape == (32, 64)
    with pytest.raises(CudaUnavailable, match="no times of a GPU"):
        program.seconds()


def test_the_second_run_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = 0

    def clocked(memory: HostMemory, work: Callable[[], None]) -> float:
        nonlocal timed
        timed += 1
        work()
        return 0.25

    monkeypatch.setattr(HostMemory, "timed", clocked)
    program = gpu_program.TimedGpuRun(task(), _compiled(), Emulator())
    assert program.seconds() == 0.25
    assert timed == 1
    timing = TimingExecutor(Emulator())
    given = task()
    found = program.compiled.run(given.inputs, sizes=given.sizes, executor=timing)
    np.testing.assert_array_equal(found["blur_y"], program.run()["blur_y"])


def test_illegal_schedules_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_program, "GpuExecutor", Emulator)
    gpu_program._gpu.cache_clear()
    with pytest.raises(NotLegalError, match="threads"):
        gpu_program.gpu_program(task(), blocks(512))
    assert gpu_program.gpu_program(task(), blocks(16)).run()["blur_y"].shape == (32, 64)
    gpu_program._gpu.cache_clear()


@pytest.mark.skipif(not AVAILABLE, reason=REASON)
def test_a_gpu_is_timed() -> None:
    limits = MeasuringLimits(rounds=3)
    with LocalMeasurer(device=GPU, reference=blocks(16), limits=limits) as measurer:
        found = measurer.measure(PIPE, [blocks(32), blocks(8)])
    assert all(one.is_correct and min(one.seconds) > 0 for one in found)


def _compiled() -> gpu_program.GpuPipeline:
    verdict = gpu_program.verify(PIPE, blocks(16), GPU)
    return gpu_program.compile_gpu(verdict)
