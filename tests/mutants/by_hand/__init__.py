"""Bugs that no small change of an operator makes: what somebody who wrote this believed wrongly."""

from __future__ import annotations

from tests.mutants.by_hand import (
    costs,
    device_memory,
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
    *costs.COSTS,
    *kernels.KERNELS,
    *numbers.NUMBERS,
    *orders.ORDERS,
    *proofs.PROOFS,
)
