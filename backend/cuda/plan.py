"""The steps of a host program, checked once and followed as often as wanted.

A plan knows the kernel, the grid and the numbers of each launch. It allocates a buffer of its own
before the first step that uses it, and frees it after the last one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias, TypeVar

import numpy as np
from attrs import field, frozen

from spaces.backend.cuda.dim3 import Dim3
from spaces.backend.cuda.errors import CudaLaunchError, CudaProgramError
from spaces.backend.cuda.kernel import (
    CTYPES,
    AllocStep,
    BufferParam,
    CudaKernel,
    CudaModule,
    FreeStep,
    HostStep,
    LaunchStep,
    ProgramStep,
    ScalarParam,
)

ScalarArgument = int | float | np.number[Any] | np.bool_

# Limits of a launch that all compute capabilities of 7.0 and above share: CUDA C++ Programming
# Guide, table "Technical Specifications per Compute Capability".
MAX_BLOCK: Dim3 = (1024, 1024, 64)
MAX_THREADS_PER_BLOCK = 1024
MAX_GRID: Dim3 = (2**31 - 1, 65535, 65535)

Handle = TypeVar("Handle")


@frozen(eq=False)
class PlannedLaunch:
    """A launch whose kernel exists and whose numbers fit it.

    Attributes:
        kernel: what is launched.
        grid: blocks along x, y, z; none of them is 0.
        buffers: the buffer of each pointer, in order, with its parameter.
        values: the value of each parameter, in order; None for a pointer.
    """

    kernel: CudaKernel
    grid: Dim3
    buffers: tuple[tuple[str, BufferParam], ...]
    values: tuple[np.generic | None, ...]

    def arguments(self, memory: Sequence[Handle]) -> list[Handle | np.generic]:
        """All arguments, with the memory of the pointers in order."""
        rest = iter(memory)
        return [next(rest) if value is None else value for value in self.values]


PlannedStep: TypeAlias = AllocStep | PlannedLaunch | HostStep | FreeStep


@frozen(eq=False)
class DevicePart:
    """Steps on the device between those of the host.

    Attributes:
        steps: the steps, in order.
        buffers: the buffers of the call that they use.
        written: those that they write.
    """

    steps: tuple[AllocStep | PlannedLaunch | FreeStep, ...]
    buffers: tuple[str, ...]
    written: tuple[str, ...]

    @property
    def launches(self) -> tuple[PlannedLaunch, ...]:
        """The launches among the steps."""
        return tuple(step for step in self.steps if isinstance(step, PlannedLaunch))


@frozen(eq=False)
class Plan:
    """What an executor does, step by step.

    Attributes:
        steps: all steps, in order.
        parts: the same, with the steps on the device that follow one another as one part.
    """

    steps: tuple[PlannedStep, ...]
    parts: tuple[HostStep | DevicePart, ...] = field(init=False)

    @parts.default
    def _found_parts(self) -> tuple[HostStep | DevicePart, ...]:
        made = {step.buffer for step in self.steps if isinstance(step, AllocStep)}
        parts: list[HostStep | DevicePart] = []
        for is_on_host, group in groupby(self.steps, lambda step: isinstance(step, HostStep)):
            together = tuple(group)
            if is_on_host:
                parts += (step for step in together if isinstance(step, HostStep))
            else:
                parts.append(_device_part(together, made))
        return tuple(parts)


def _device_part(steps: tuple[Any, ...], made: Collection[str]) -> DevicePart:
    uses = [
        (name, param.written)
        for step in steps
        if isinstance(step, PlannedLaunch)
        for name, param in step.buffers
        if name not in made
    ]
    written = dict.fromkeys(name for name, is_written in uses if is_written)
    return DevicePart(steps, tuple(dict.fromkeys(name for name, _ in uses)), tuple(written))


def plan(
    module: CudaModule, steps: Iterable[ProgramStep], scalars: Mapping[str, ScalarArgument]
) -> Plan:
    """The plan of some steps.

    Args:
        module: the text, and its kernels that the steps launch.
        steps: the steps, in order.
        scalars: numbers by name, for launch arguments that name one.

    Raises:
        CudaProgramError: a launch fits no kernel, or its numbers do not fit the parameters.
        CudaLaunchError: no device can launch that many threads or blocks.
    """
    planned = [
        _launch(module, step, scalars) if isinstance(step, LaunchStep) else step for step in steps
    ]
    done = [step for step in planned if not isinstance(step, PlannedLaunch) or 0 not in step.grid]
    return Plan(tuple(_with_short_lives(done)))


def _with_short_lives(steps: Sequence[PlannedStep]) -> Iterable[PlannedStep]:
    """The steps, in which each buffer that they allocate and free is allocated before the first
    step that uses it, and freed after the last one.
    """
    begun: dict[str, int] = {}
    uses: dict[str, list[int]] = {}
    before: dict[int, list[PlannedStep]] = {}
    after: dict[int, list[PlannedStep]] = {}
    moved: set[int] = set()
    for place, step in enumerate(steps):
        if isinstance(step, AllocStep):
            begun[step.buffer], uses[step.buffer] = place, []
        elif isinstance(step, FreeStep) and step.buffer in begun:
            begin, used = begun.pop(step.buffer), uses.pop(step.buffer) or [place]
            before.setdefault(used[0], []).append(steps[begin])
            after.setdefault(used[-1], []).append(step)
            moved |= {begin, place}
        else:
            for name in _names(step):
                if name in uses:
                    uses[name].append(place)
    for place, step in enumerate(steps):
        yield from before.get(place, ())
        if place not in moved:
            yield step
        yield from after.get(place, ())


def _names(step: PlannedStep) -> Iterable[str]:
    """The buffers that a step uses."""
    match step:
        case PlannedLaunch(buffers=buffers):
            return [name for name, _ in buffers]
        case HostStep(reads=reads, writes=writes):
            return (*reads, *writes)
    return ()


def _launch(
    module: CudaModule, step: LaunchStep, scalars: Mapping[str, ScalarArgument]
) -> PlannedLaunch:
    try:
        kernel = module.kernel(step.kernel)
    except KeyError as error:
        raise CudaProgramError(str(error.args[0])) from None
    _check_sizes(kernel, step.grid)
    if len(step.arguments) != len(kernel.params):
        raise CudaProgramError(
            f"kernel {kernel.name} takes {len(kernel.params)} arguments "
            f"({', '.join(param.name for param in kernel.params)}), "
            f"but a launch gives it {len(step.arguments)}"
        )
    values: list[np.generic | None] = []
    bound: list[tuple[str, BufferParam]] = []
    for param, argument in zip(kernel.params, step.arguments, strict=True):
        if isinstance(param, ScalarParam):
            values.append(_scalar(kernel, param, argument, scalars))
        else:
            values.append(None)
            bound.append((str(argument), param))
    _check_aliases(kernel, bound)
    return PlannedLaunch(kernel, step.grid, tuple(bound), tuple(values))


def _check_sizes(kernel: CudaKernel, grid: Dim3) -> None:
    x, y, z = kernel.block
    if x * y * z > MAX_THREADS_PER_BLOCK:
        raise CudaLaunchError(
            f"kernel {kernel.name} has blocks of {x} x {y} x {z} = {x * y * z} threads; "
            f"a block holds at most {MAX_THREADS_PER_BLOCK}"
        )
    for what, sizes, limits in (("block", kernel.block, MAX_BLOCK), ("grid", grid, MAX_GRID)):
        for axis, size, limit in zip("xyz", sizes, limits, strict=True):
            if size > limit:
                raise CudaLaunchError(
                    f"kernel {kernel.name} has a {what} of {size} along {axis}; "
                    f"at most {limit} are possible"
                )


def _check_aliases(kernel: CudaKernel, bound: list[tuple[str, BufferParam]]) -> None:
    for at, (name, param) in enumerate(bound):
        for other_name, other in bound[:at]:
            if name == other_name and (param.written or other.written):
                raise CudaProgramError(
                    f"kernel {kernel.name} is given buffer {name} for both {other.name} and "
                    f"{param.name} and writes it; __restrict__ pointers must not overlap"
                )


def _scalar(
    kernel: CudaKernel,
    param: ScalarParam,
    argument: str | int | float,
    scalars: Mapping[str, ScalarArgument],
) -> np.generic:
    value: ScalarArgument
    if isinstance(argument, str):
        if argument not in scalars:
            raise CudaProgramError(
                f"kernel {kernel.name} is given scalar {argument}, which is not passed; "
                f"there are {', '.join(scalars) or 'none'}"
            )
        value = scalars[argument]
    else:
        value = argument
    dtype = CTYPES[param.ctype]
    if dtype.kind == "f":
        converted: np.generic = dtype.type(value)
        return converted
    if dtype.kind == "b":
        lowest, highest = 0, 1
    else:
        lowest, highest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if not (lowest <= value <= highest and value == int(value)):
        raise CudaProgramError(
            f"parameter {param.name} of kernel {kernel.name} is {param.ctype}, "
            f"which does not hold {value}"
        )
    converted = dtype.type(int(value))
    return converted
