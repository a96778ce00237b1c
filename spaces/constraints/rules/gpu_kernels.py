"""The kernels for rules about device limits, and their names in messages."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.devices.device import GpuDevice
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import stage_name
from spaces.constraints.rules.rule import Check, CheckValue, check
from spaces.constraints.sizes.kernels import Kernel
from spaces.model.expressions.expr import Expr

GUIDE = "CUDA C++ Programming Guide"
TABLE = f"{GUIDE}, technical specifications per compute capability"
"""The source of device limits."""


def kernels_of(view: NestView, func: str) -> Iterator[tuple[GpuDevice, Kernel]]:
    """The kernels that the Func begins, and the device."""
    gpu = view.gpu
    for kernel in view.kernels.get(func, ()):
        if gpu is not None:
            yield gpu, kernel


def launchable(view: NestView, func: str) -> Iterator[tuple[GpuDevice, Kernel]]:
    """The kernels whose blocks have a constant size."""
    for gpu, kernel in kernels_of(view, func):
        if all(view.is_constant(extent) for extent in kernel.block):
            yield gpu, kernel


def title(kernel: Kernel) -> str:
    """``blur_y (block loops x, y)``."""
    loops = ", ".join(loop.loop for loop in kernel.blocks)
    return f"{stage_name(kernel.func, kernel.stage)} (block loops {loops})"


def names(gpu: GpuDevice, kernel: Kernel) -> dict[str, str]:
    """The names of a kernel, the device and its compute capability in messages."""
    major, minor = gpu.compute_capability
    return {"kernel": title(kernel), "device": gpu.name, "capability": f"{major}.{minor}, {GUIDE}"}


def kernel_check(
    gpu: GpuDevice, kernel: Kernel, holds: Expr, message: str, advice: str, /, **values: CheckValue
) -> Check:
    """A check of a whole kernel; its message may name the values of :func:`names`, too."""
    return check(
        kernel.func,
        holds,
        message,
        advice,
        stage=kernel.stage,
        loop=kernel.blocks[0].loop,
        **names(gpu, kernel),
        **values,
    )
