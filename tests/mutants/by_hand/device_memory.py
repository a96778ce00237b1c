"""Bugs in the memory of a GPU: streams, scratch memory, arrays of callers, kept kernels."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

DEVICE_MEMORY = (
    Mutant(
        "memory-of-another-stream",
        "MemoryPool.take",
        "self._unused[a] == piece",
        "self._unused[a].size == piece.size",
        "Memory that kernels of one stream still use goes to another stream.",
        ("test_memory_pool.py", "test_cuda_bindings.py"),
    ),
    Mutant(
        "scratch-of-all-in-one-place",
        "Scratch.of",
        "_gap(sorted(taken), life.nbytes)",
        "_gap([], life.nbytes)",
        "All buffers of a plan begin at the beginning of its memory.",
        ("test_scratch_of_plans.py", "test_cuda_bindings.py"),
    ),
    Mutant(
        "torn-kernels-are-loaded",
        "kernel_cache:_read",
        "cubin if hashlib.sha256(cubin).digest() == digest else None",
        "cubin",
        "A file of a kernel that was cut or changed is loaded.",
        ("test_kernel_cache.py",),
    ),
)
