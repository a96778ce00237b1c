"""A schedule compiled for a GPU, as a program to time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from attrs import define, field, frozen

from spaces.backend.arguments import Array
from spaces.backend.arrays.given import AnyArray
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.cuda.kernel import CudaModule
from spaces.backend.cuda.launch import GpuExecutor
from spaces.backend.cuda.plan import Plan
from spaces.backend.cuda.program import CudaExecutor, Session
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.measuring.task import MeasuringTask, NotLegalError
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.model.schedules.schedule import Schedule


@define(slots=False)
class TimingExecutor(CudaExecutor):
    """Runs host programs on a GPU twice, and times the second run between two events: then the
    inputs are on the GPU, the kernels are loaded, and all memory is allocated.

    Attributes:
        gpu: the executor of the GPU.
        seconds: the time of the last program.
    """

    gpu: CudaExecutor
    seconds: float = field(init=False, default=0.0)

    def session(
        self, module: CudaModule, buffers: Mapping[str, AnyArray], unset: Collection[str] = ()
    ) -> AbstractContextManager[Session[Any]]:
        return self.gpu.session(module, buffers, unset)

    def follow(
        self,
        module: CudaModule,
        planned: Plan,
        buffers: Mapping[str, AnyArray],
        unset: Collection[str] = (),
    ) -> None:
        with self.session(module, buffers, unset) as session:
            session.follow(planned)
            session.wait()
            self.seconds = session.timed(planned)
            session.fetch()


@frozen
class TimedGpuRun:
    """A compiled pipeline on the GPU of this machine."""

    task: MeasuringTask
    compiled: GpuPipeline
    gpu: CudaExecutor

    def run(self) -> Mapping[str, Array]:
        return self._run(self.gpu)

    def seconds(self) -> float:
        """The time of the kernels of a run, and of what the host does between them."""
        timing = TimingExecutor(self.gpu)
        self._run(timing)
        return timing.seconds

    def _run(self, executor: CudaExecutor) -> Mapping[str, Array]:
        task = self.task
        return self.compiled.run(task.inputs, task.params, task.sizes, executor=executor)


def gpu_program(task: MeasuringTask, schedule: Schedule) -> TimedGpuRun:
    """Compiles a schedule for the GPU of this machine.

    Raises:
        NotLegalError: the schedule is illegal.
        CudaUnavailable: pycuda, a driver or a GPU is missing.
    """
    verdict = verify(task.pipeline, schedule, task.device)
    if not isinstance(verdict, CheckedSchedule):
        raise NotLegalError(str(verdict))
    return TimedGpuRun(task, compile_gpu(verdict), _gpu())


@cache
def _gpu() -> CudaExecutor:
    """The GPU of this process; it keeps the kernels that it has loaded."""
    return GpuExecutor()
