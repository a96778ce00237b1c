"""Bugs in kernels: barriers, threads, atomic updates."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ABOUT_BARRIERS = (
    "test_barriers_of_programs.py",
    "test_gpu_barriers.py",
    "test_gpu_schedules.py",
    "test_gpu_random.py",
)
"""The tests that are asked about several of these bugs."""

KERNELS = (
    Mutant(
        "overwriting-never-waits",
        "_Accesses.conflict",
        "_meet(self.written, later.read | later.written) or _meet(self.read, later.written)",
        "_meet(self.written, later.read | later.written)",
        "What is still read may be overwritten.",
        ABOUT_BARRIERS,
    ),
    Mutant(
        "loop-carried-barrier-forgotten",
        "_Inserter._rounds",
        "entry | after == entry",
        "entry | after != entry or True",
        "What one round of a loop accesses is not held against the next round.",
        ABOUT_BARRIERS,
    ),
    Mutant(
        "barrier-after-the-loop",
        "_Inserter._loop",
        "block(Barrier(), apart)",
        "block(apart, Barrier())",
        "The barrier in front of a loop stands behind it.",
        ABOUT_BARRIERS,
    ),
    Mutant(
        "blocks-transposed",
        "_Outliner._launch",
        """
        thread = _Threads(size).lower(body)
        for axis, loop in enumerate(reversed(blocks)):
            ...
        """,
        """
        thread = _Threads(size).lower(body)
        for axis, loop in enumerate(blocks):
            ...
        """,
        "The place of a block is read along the wrong axes of the grid.",
        (
            "test_barriers_of_programs.py",
            "test_gpu_schedules.py",
            "test_gpu_random.py",
            "cuda/test_program.py",
        ),
    ),
    Mutant(
        "shared-storage-of-one-thread",
        "_Placer._placed",
        "memory = MemoryType.GPU_SHARED",
        "memory = MemoryType.REGISTER",
        "What the threads of a block exchange lies in registers of each of them.",
        ("test_gpu_passes.py",),
    ),
    Mutant(
        "lanes-that-collide",
        "_Lanes._store",
        "store.update is not None",
        "store.update is not None and not self.lanes",
        "Lanes that update one element by way of a table overwrite one another.",
        ("test_atomic.py",),
    ),
    Mutant(
        "another-atomic-function",
        "_FUNCTIONS",
        '"atomicMin"',
        '"atomicMax"',
        "Kernels keep the greatest value for the least.",
        ("test_gpu_atomic.py",),
    ),
    Mutant(
        "occupancy-without-reserve",
        "block_limits",
        "shared_bytes_per_block + reserve",
        "shared_bytes_per_block",
        "The driver's part of shared memory is not counted.",
        ("test_occupancy.py",),
    ),
)
