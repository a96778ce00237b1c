"""Runs the host program of a GPU pipeline on real arrays; its kernels run thread by thread."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen
from numpy.typing import NDArray

from spaces import GpuPipeline, Int32
from spaces.backend.cuda.emulator import HostMemory
from spaces.backend.cuda.kernel import CTYPES, CudaModule
from spaces.backend.cuda.plan import PlannedLaunch
from spaces.backend.cuda.printer import PrintedKernel
from spaces.backend.cuda.program import CudaExecutor, Session
from spaces.backend.ir.host import GpuProgram, Launch
from spaces.model.expressions.expr import constant
from tests.differential.gpu_machine import GpuMachine, Machine, Worker
from tests.differential.shadow import ShadowMemory, Trouble


@define
class DeviceArray:
    """Device memory of one buffer: what kernels do with each element, without looking for races."""

    name: str
    elements: NDArray[Any]

    def _at(self, index: int) -> int:
        if not 0 <= index < len(self.elements):
            raise Trouble("outside", f"{self.name}[{index}] of {len(self.elements)} elements")
        return index

    def load(self, index: int, worker: Worker) -> Any:
        """An element."""
        return self.elements[self._at(index)].item()

    def store(self, index: int, value: Any, worker: Worker) -> None:
        """Store an element."""
        self.elements[self._at(index)] = value

    def change(
        self, index: int, operator: str, change: Callable[[Any], Any], worker: Worker
    ) -> None:
        """Let an element become what ``change`` makes of it."""
        self.store(index, change(self.load(index, worker)), worker)


@frozen
class Interpreter(CudaExecutor):
    """Executes the kernels of one compiled pipeline in Python, over flat device memory.

    The parts that the host computes are machine code, as in any other run, and have the arrays of
    the call.
    """

    compiled: GpuPipeline

    def session(
        self,
        module: CudaModule,
        buffers: Mapping[str, NDArray[Any]],
        unset: Collection[str] = (),
    ) -> AbstractContextManager[Session[NDArray[np.uint8]]]:
        printed = self.compiled._printed.kernels.values()
        return Session(_Device({one.record.name: one for one in printed}), module, buffers, unset)


@define
class _Device(HostMemory):
    """``machine`` counts the steps of all launches."""

    kernels: Mapping[str, PrintedKernel]
    machine: Machine = field(init=False, factory=lambda: Machine(ShadowMemory(negative=False)))

    def launch(
        self, module: CudaModule, launch: PlannedLaunch, memory: Sequence[NDArray[np.uint8]]
    ) -> None:
        kernel, arguments = launch.kernel, launch.arguments(memory)
        printed = self.kernels[kernel.name]
        memories, numbers = arguments[: len(printed.buffers)], arguments[len(printed.buffers) :]
        buffers = {
            name: DeviceArray(name, _viewed(memory, CTYPES[parameter.ctype]))
            for name, memory, parameter in zip(
                printed.buffers, memories, kernel.params, strict=False
            )
        }
        values = {v.name: n.item() for v, n in zip(printed.scalars, numbers, strict=True)}
        sizes = tuple(constant(size, Int32) for size in launch.grid)
        x, y, z = sizes
        launched = evolve(printed.function, grid=(x, y, z))
        program = GpuProgram(kernel.name, (), (), (), (launched,), Launch(launched))
        GpuMachine(program).start(values, self.machine, buffers)


def _viewed(memory: NDArray[np.uint8] | np.generic, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Memory as elements of a type; what is left at its end belongs to no element."""
    assert isinstance(memory, np.ndarray)
    return memory[: memory.size // dtype.itemsize * dtype.itemsize].view(dtype)
