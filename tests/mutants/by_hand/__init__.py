"""Bugs that no small change of an operator makes: what somebody who wrote this believed wrongly."""

from __future__ import annotations

from tests.mutants.by_hand import (
    cpu_costs,
    device_memory,
    gpu_costs,
    kernels,
    memoized,
    memory,
    numbers,
    orders,
    proofs,
    tails,
    windows,
)
from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *windows.WINDOWS,
    *tails.TAILS,
    *memory.MEMORY,
    *memoized.MEMOIZED,
    *device_memory.DEVICE_MEMORY,
    *cpu_costs.CPU_COSTS,
    *gpu_costs.GPU_COSTS,
    *kernels.KERNELS,
    *numbers.NUMBERS,
    *orders.ORDERS,
    *proofs.PROOFS,
)
