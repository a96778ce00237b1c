"""Copies between arrays of a GPU that lie in different ways, by a kernel of our own."""

from __future__ import annotations

import math
from functools import lru_cache

from spaces.backend.arrays.device_array import DeviceArray
from spaces.backend.cuda.c_text import CTYPE_OF
from spaces.backend.cuda.kernel import (
    BufferParam,
    CudaKernel,
    CudaModule,
    KernelParam,
    LaunchStep,
    ScalarParam,
)
from spaces.backend.cuda.plan import Plan, plan
from spaces.backend.cuda.program import CudaExecutor

_THREADS = 256

_STEP = """\
    place = rest % n_{axis};
    rest /= n_{axis};
    source += place * from_{axis};
    target += place * to_{axis};
"""

_BODY = """\
{head} {{
    long long rest = (long long)blockIdx.x * {threads} + threadIdx.x;
    if (rest >= count) return;
    long long source = 0, target = 0, place = 0;
{steps}    to[target] = from[source];
}}
"""


def relayout(runner: CudaExecutor, source: DeviceArray, target: DeviceArray) -> None:
    """Copies all elements of an array to one of the same shape and type, of any strides."""
    if not source.size:
        return
    ctype = CTYPE_OF[source.dtype.name]
    module = relayout_module(ctype, source.ndim)
    planned = _planned(ctype, source.shape, _steps(source), _steps(target))
    with runner.session(module, {"from": source, "to": target}) as session:
        session.follow(planned)


def _steps(array: DeviceArray) -> tuple[int, ...]:
    return tuple(stride // array.dtype.itemsize for stride in array.strides)


@lru_cache(maxsize=64)
def relayout_module(ctype: str, axes: int) -> CudaModule:
    """The text that copies arrays of that many axes."""
    names = (f"{name}_{axis}" for name in ("n", "from", "to") for axis in range(axes))
    params: tuple[KernelParam, ...] = (
        BufferParam("from", ctype, written=False),
        BufferParam("to", ctype, written=True),
        *(ScalarParam(name, "long long") for name in ("count", *names)),
    )
    kernel = CudaKernel("relayout_kernel", params, (_THREADS, 1, 1))
    steps = "".join(_STEP.format(axis=axis) for axis in reversed(range(axes)))
    text = _BODY.format(head=kernel.declaration(), threads=_THREADS, steps=steps)
    return CudaModule(text, (kernel,))


@lru_cache(maxsize=64)
def _planned(
    ctype: str, shape: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...]
) -> Plan:
    return plan(relayout_module(ctype, len(shape)), (relayout_step(shape, source, target),), {})


def relayout_step(
    shape: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...]
) -> LaunchStep:
    """The launch that copies buffer ``from`` to buffer ``to``; strides are counted in elements."""
    count = math.prod(shape)
    grid = -(-count // _THREADS), 1, 1
    return LaunchStep("relayout_kernel", grid, ("from", "to", count, *shape, *source, *target))
