"""Bugs in the passes of the GPU road, which run before and after on small programs."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_TESTS = ("test_gpu_passes.py",)
_STRIDES = ("test_gpu_host_strides.py", "test_missed.py")

GPU_PASSES = (
    Mutant(
        "shared-arrays-twice",
        "_Threads._part",
        "_without_shared_arrays(statement)",
        "statement",
        "Code in no thread loop declares the shared arrays of its kernel again.",
        ("backend/test_windows.py",),
    ),
    Mutant(
        "kernel-loops-start-at-any-number",
        "_inside",
        'coordinate("add", statement.min, statement.var)',
        "statement.min + statement.var if statement.min.names else statement.var",
        "A loop in a kernel that begins at a number other than 0 is taken to begin at 0.",
        _TESTS,
    ),
    Mutant(
        "kernel-loops-end-early",
        "_inside",
        "statement.extent",
        "statement.extent - 1",
        "Loops in kernels leave out their last iteration.",
        _TESTS,
    ),
    Mutant(
        "shared-storage-one-short",
        "KernelSizes.storage",
        "int(extent.value)",
        "int(extent.value) - (dimension == 0)",
        "Storage in kernels is an element short along its first dimension.",
        _TESTS,
    ),
    Mutant(
        "stores-not-moved",
        "_from_origin",
        "evolve(statement, args=moved(statement.args))",
        "statement",
        "Storage in kernels is read from its origin, but written where the Func's coordinates say.",
        _TESTS,
    ),
    Mutant(
        "shared-storage-of-one-thread",
        "_Placer._placed",
        "memory = MemoryType.GPU_SHARED",
        "memory = MemoryType.REGISTER",
        "What the threads of a block exchange lies in registers of each of them.",
        _TESTS,
    ),
    Mutant(
        "strides-of-the-caller-on-the-device",
        "dense",
        "evolve(program, buffers=tuple(buffers))",
        "program",
        "Kernels find the pixels of an interleaved image where the caller has them.",
        _TESTS,
    ),
    Mutant(
        "unlike-guards-merged",
        "_is_guard",
        "first.condition is second.condition",
        "True",
        "Neighbors under unlike guards run under that of the first.",
        _TESTS,
    ),
    Mutant(
        "last-row-of-blocks-missing",
        "_Outliner._launch",
        "loop.extent",
        "loop.extent - (axis == 1)",
        "A grid lacks its last row of blocks.",
        _TESTS,
    ),
    Mutant(
        "host-parts-see-any-strides",
        "_Buffer.of",
        "array if array.flags.c_contiguous else np.ascontiguousarray(array)",
        "array",
        "Host parts compute on the caller's arrays as if these had no gaps.",
        _STRIDES,
    ),
    Mutant(
        "results-stay-in-the-dense-copy",
        "Session.fetch",
        "buffer.host is not buffer.given",
        "buffer.host is buffer.given",
        "What is written to an output with gaps does not reach the caller's array.",
        _STRIDES,
    ),
    Mutant(
        "timed-steps-share-no-memory",
        "Session.timed",
        "unused.get(step.nbytes, [])",
        "[]",
        "A timed run holds the memory of all its buffers at once.",
        ("test_launch.py",),
    ),
)
