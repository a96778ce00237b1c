"""Whether a plan fits the buffers of a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import define, frozen

from spaces.backend.cuda.errors import CudaProgramError
from spaces.backend.cuda.kernel import (
    CTYPES,
    AllocStep,
    BufferParam,
    CudaKernel,
    FreeStep,
    HostStep,
)
from spaces.backend.cuda.plan import Plan, PlannedLaunch


@frozen
class BufferKind:
    """A buffer of a call: the type of its elements, and whether they may be written."""

    dtype: np.dtype[Any]
    is_writable: bool


def check_buffers(planned: Plan, given: Mapping[str, BufferKind]) -> None:
    """Refuses a plan that does not fit the buffers of a call.

    Raises:
        CudaProgramError: a step uses a buffer that is not there then, is of another type, cannot be
            written or is not where the step needs it.
    """
    check = _Buffers(given, {})
    for step in planned.steps:
        match step:
            case PlannedLaunch():
                for name, param in step.buffers:
                    check.launch(step.kernel, param, name)
            case AllocStep():
                check.alloc(step)
            case HostStep():
                check.host_step(step)
            case FreeStep():
                check.free(step)


@define
class _Buffers:
    """The buffers of the call, and those that steps have made."""

    given: Mapping[str, BufferKind]
    made: dict[str, BufferKind]

    def launch(self, kernel: CudaKernel, param: BufferParam, name: str) -> None:
        kind = self.found(name, f"kernel {kernel.name} is given")
        if kind.dtype != CTYPES[param.ctype]:
            raise CudaProgramError(
                f"buffer {name} holds {kind.dtype}, but parameter {param.name} of kernel "
                f"{kernel.name} is {param.ctype} ({CTYPES[param.ctype]})"
            )
        if param.written:
            self.writable(name, f"kernel {kernel.name}")

    def alloc(self, step: AllocStep) -> None:
        if step.buffer in self.given or step.buffer in self.made:
            raise CudaProgramError(f"buffer {step.buffer} is allocated, but it exists already")
        self.made[step.buffer] = BufferKind(CTYPES[step.ctype], True)

    def host_step(self, step: HostStep) -> None:
        for name in (*step.reads, *step.writes):
            self.found(name, f"host step {step.name} uses")
            if name in self.made:
                raise CudaProgramError(
                    f"host step {step.name} uses buffer {name}, which exists only on the device; "
                    "pass an array of that name instead of allocating it"
                )
        for name in step.writes:
            self.writable(name, f"host step {step.name}")

    def free(self, step: FreeStep) -> None:
        self.found(step.buffer, "a step frees")
        if step.buffer in self.given:
            raise CudaProgramError(
                f"buffer {step.buffer} is freed, but it belongs to the caller; "
                "steps can free only what steps allocate"
            )
        del self.made[step.buffer]

    def found(self, name: str, who: str) -> BufferKind:
        kind = self.given.get(name) or self.made.get(name)
        if kind is None:
            names = ", ".join((*self.given, *self.made))
            raise CudaProgramError(
                f"{who} buffer {name}, which is neither passed nor allocated; "
                f"there are {names or 'none'}"
            )
        return kind

    def writable(self, name: str, who: str) -> None:
        if name in self.given and not self.given[name].is_writable:
            raise CudaProgramError(f"{who} writes buffer {name}, but its array is read-only")
