"""Bugs in the passes of the GPU road, which run before and after on small programs."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("tests/backend/cuda/test_gpu_passes.py",)

GPU_PASSES = (
    Mutant(
        "kernel-loops-start-at-any-number",
        "backend/lowering/gpu/loops.py",
        'coordinate("add", statement.min, statement.var)',
        "statement.min + statement.var if statement.min.names else statement.var",
        "A loop in a kernel that begins at a number other than 0 is taken to begin at 0.",
        _TESTS,
    ),
    Mutant(
        "kernel-loops-end-early",
        "backend/lowering/gpu/loops.py",
        "return For(statement.var, _ZERO, statement.extent, kind",
        "return For(statement.var, _ZERO, statement.extent - 1, kind",
        "Loops in kernels leave out their last iteration.",
        _TESTS,
    ),
    Mutant(
        "shared-storage-one-short",
        "backend/lowering/gpu/sizes.py",
        "sizes.append(max(int(extent.value), 0))",
        "sizes.append(max(int(extent.value) - (dimension == 0), 0))",
        "Storage in kernels is an element short along its first dimension.",
        _TESTS,
    ),
    Mutant(
        "stores-not-moved",
        "backend/lowering/gpu/memory.py",
        "return evolve(statement, args=moved(statement.args))",
        "return statement",
        "Storage in kernels is read from its origin, but written where the Func's coordinates say.",
        _TESTS,
    ),
    Mutant(
        "shared-storage-of-one-thread",
        "backend/lowering/gpu/memory.py",
        "memory = Memory.GPU_SHARED\n",
        "memory = Memory.REGISTER\n",
        "What the threads of a block exchange lies in registers of each of them.",
        _TESTS,
    ),
    Mutant(
        "strides-of-the-caller-on-the-device",
        "backend/lowering/gpu/passes.py",
        "return evolve(program, buffers=tuple(buffers))",
        "return program",
        "Kernels find the pixels of an interleaved image where the caller has them.",
        _TESTS,
    ),
    Mutant(
        "unlike-guards-merged",
        "backend/lowering/gpu/kernels.py",
        "same = first.condition is second.condition",
        "same = True",
        "Neighbors under unlike guards run under that of the first.",
        _TESTS,
    ),
    Mutant(
        "last-row-of-blocks-missing",
        "backend/lowering/gpu/kernels.py",
        "grid[axis] = loop.extent\n",
        "grid[axis] = loop.extent - (axis == 1)\n",
        "A grid lacks its last row of blocks.",
        _TESTS,
    ),
)
