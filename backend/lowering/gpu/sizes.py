"""The sizes inside kernels: constants, the same ones that the rules judge."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from attrs import frozen

from spaces.backend.ir.statements import Allocate, For
from spaces.backend.lowering.gpu.errors import GpuLoweringError
from spaces.constraints.sizes.kernels import kernels
from spaces.model.expressions.expr import Const, Expr
from spaces.model.expressions.types import Int32
from spaces.model.nest.loopnest import LoopNest


@frozen
class KernelSizes:
    """Upper bounds of the sizes of storage and of thread loops inside kernels.

    Attributes:
        extents: the extent of each dimension of each array of a Func stored in a kernel.
        iterations: the iterations of each thread loop, by the name of its variable.
    """

    extents: Mapping[str, tuple[Expr, ...]]
    iterations: Mapping[str, Expr]

    @staticmethod
    def of(nest: LoopNest) -> KernelSizes:
        """The sizes in the kernels of a loop nest."""
        found = kernels(nest.bounds)
        return KernelSizes(
            extents={
                buffer: tuple(nest.simplify(extent) for extent in storage.extents)
                for kernel in found
                for storage in (*kernel.shared, *kernel.private)
                for buffer in storage.buffers
            },
            iterations={
                loop.var.name: nest.simplify(extent)
                for kernel in found
                for threads in kernel.threads
                for loop, extent in zip(threads.loops, threads.extents, strict=True)
            },
        )

    def storage(self, node: Allocate) -> tuple[int, ...]:
        """The extents of a buffer.

        Raises:
            GpuLoweringError: one has no limit, or there are too many elements.
        """
        sizes: list[int] = []
        for dimension, extent in enumerate(self.extents.get(node.buffer, node.extents)):
            if not isinstance(extent, Const):
                raise GpuLoweringError(
                    f"{node.buffer} is stored inside a kernel, where sizes must be known before "
                    f"the launch, but its extent {dimension} is `{extent}`, which has no limit; "
                    "compute it at a loop inside a split, or store it at root."
                )
            sizes.append(max(int(extent.value), 0))
        if not Int32.holds(prod(sizes)):
            raise GpuLoweringError(
                f"{node.buffer} is stored inside a kernel with {' x '.join(map(str, sizes))} = "
                f"{prod(sizes)} elements, but kernels can index at most {Int32.max_value}."
            )
        return tuple(sizes)

    def threads(self, loop: For) -> int:
        """The iterations of a thread loop.

        Raises:
            GpuLoweringError: they have no limit.
        """
        extent = self.iterations.get(loop.var.name, loop.extent)
        if not isinstance(extent, Const):
            raise GpuLoweringError(
                f"The thread loop {loop.var.name} has `{extent}` iterations, which has no limit; "
                "split it by a number of threads."
            )
        return int(extent.value)
