"""Rules about the sizes of blocks and grids.

The limits are those of the device, from NVIDIA's table of technical specifications per compute
capability (CUDA C++ Programming Guide).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from spaces.constraints.rules.directive_text import kind_directive
from spaces.constraints.rules.gpu_kernels import TABLE, kernel_check, kernels_of, launchable, names
from spaces.constraints.rules.gpu_reasons import derivation, product, smaller_tiles, widening
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.rule import Check, Quantity, check, nest_rule, refuse

_AXES = ("x", "y", "z")


@nest_rule(
    "gpu.thread-extent",
    "A thread loop whose number of iterations has no constant limit is illegal, because a kernel "
    "is compiled for one block size.",
    "Halide launches a block that does not fit, and fails.",
)
def thread_extent(view: NestView, func: str) -> Iterator[Check]:
    """One check for each thread loop in the Func's kernels that is not bounded."""
    for _, kernel in kernels_of(view, func):
        for threads in kernel.threads:
            for loop, extent in zip(threads.loops, threads.extents, strict=True):
                if not view.is_constant(extent):
                    yield refuse(
                        threads.func,
                        "{directive} makes threads of loop {loop} of {stage_name}, which has "
                        "{extent} iterations: not bounded by a constant.",
                        "Split {loop} by a constant and map the inner loop to threads.",
                        stage=threads.stage,
                        loop=loop.loop,
                        directive=partial(
                            kind_directive, *(view.records, threads.func, threads.stage, loop.loop)
                        ),
                        extent=str(extent),
                    )


@nest_rule(
    "gpu.threads-per-block",
    "A block with more threads than the device allows is illegal, because the device refuses to "
    "launch it; the widest stage in the kernel sets the number of threads.",
    f"{TABLE}: maximum number of threads per block [S20 3.2].",
    threads=Quantity("threads of a block, along all dimensions", "threads"),
    limit=Quantity("most threads of a block on the device", "threads"),
)
def threads_per_block(view: NestView, func: str) -> Iterator[Check]:
    """One check for each kernel."""
    for gpu, kernel in launchable(view, func):
        yield kernel_check(
            gpu,
            kernel,
            kernel.threads_per_block <= gpu.max_threads_per_block,
            "The kernel of {kernel} has {product} threads a block{reason}; {device} allows "
            "{limit} (compute capability {capability}).",
            "Choose a smaller tile{legal}, or let each thread compute several values in a serial "
            "loop.",
            threads=kernel.threads_per_block,
            product=partial(product, kernel.block),
            reason=partial(widening, kernel, view.nest.simplify),
            limit=gpu.max_threads_per_block,
            legal=partial(smaller_tiles, kernel, gpu.max_threads_per_block, view.nest.simplify),
        )


@nest_rule(
    "gpu.block-dimension",
    "A block with more threads along one dimension than the device allows is illegal, because the "
    "device refuses to launch it.",
    f"{TABLE}: maximum x-, y- and z-dimension of a block.",
    threads=Quantity("threads of a block along the dimension", "threads"),
    limit=Quantity("most threads along it on the device", "threads"),
)
def block_dimension(view: NestView, func: str) -> Iterator[Check]:
    """One check for each dimension of each kernel's blocks."""
    for gpu, kernel in launchable(view, func):
        limits = (gpu.max_block_threads_x, gpu.max_block_threads_y, gpu.max_block_threads_z)
        used = max((len(t.loops) for t in kernel.threads), default=0)
        for axis, extent, limit in list(zip(_AXES, kernel.block, limits, strict=True))[:used]:
            yield kernel_check(
                gpu,
                kernel,
                extent <= limit,
                "The blocks of the kernel of {kernel} are {threads} threads long along "
                "{axis}{reason}; {device} allows {limit} (compute capability {capability}).",
                "Choose a smaller tile there, or reorder the thread loops: the innermost is x, "
                "and blocks may be {limits} threads long along x, y and z.",
                axis=axis,
                threads=extent,
                reason=partial(widening, kernel, view.nest.simplify),
                limit=limit,
                limits=", ".join(map(str, limits)),
            )


@nest_rule(
    "gpu.grid-dimension",
    "A grid with more blocks along one dimension than the device allows is illegal, because the "
    "device refuses to launch it.",
    f"{TABLE}: maximum x-, y- and z-dimension of a grid of thread blocks.",
    blocks=Quantity("blocks of the grid along the dimension", "blocks"),
    limit=Quantity("most blocks along it on the device", "blocks"),
    times=Quantity("how many times as large a tile must be along the dimension", "times"),
)
def grid_dimension(view: NestView, func: str) -> Iterator[Check]:
    """One check for each block loop."""
    for gpu, kernel in kernels_of(view, func):
        limits = (gpu.max_grid_blocks_x, gpu.max_grid_blocks_y, gpu.max_grid_blocks_z)
        for axis, loop, limit in zip(_AXES, kernel.blocks, limits, strict=False):
            blocks = view.largest(loop.extent, view.outside(kernel.func, kernel.stage, loop))
            yield check(
                func,
                blocks <= limit,
                "The block loop {loop} of the kernel of {kernel} makes {reason}{blocks} blocks "
                "along {axis} of the grid; {device} allows {limit} (compute capability "
                "{capability}).",
                "Choose a tile at least {times} times as large along {loop}, or reorder the block "
                "loops: the innermost is x, along which a grid may be longest.",
                stage=kernel.stage,
                loop=loop.loop,
                **names(gpu, kernel),
                axis=axis,
                reason=partial(derivation, blocks),
                blocks=blocks,
                limit=limit,
                times=(blocks + (limit - 1)) / limit,
            )


RULES = (thread_extent, threads_per_block, block_dimension, grid_dimension)
