"""Machine code made in a tenth of the time: LLVM changes nothing and chooses instructions simply.

What the optimiser makes of undefined behaviour is seen where it runs, which is in a share of cases;
all else that a lowering gets wrong is seen without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest import mock

import llvmlite.binding as llvm

from spaces import machine_code
from spaces.backend.cuda import emulator
from tests.precompiled import UNOPTIMISED

_optimising = machine_code._machine


@cache
def _machine() -> Any:
    _optimising()  # LLVM must know the host before
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=0,
        reloc="pic",
        codemodel="default",
    )


@contextmanager
def quick_kernels() -> Iterator[None]:
    """Compile the kernels that an emulator runs without an optimiser meanwhile."""
    with mock.patch.object(emulator, "_FLAGS", UNOPTIMISED):
        yield


@contextmanager
def quick_code() -> Iterator[None]:
    """Compile so meanwhile."""
    with (
        mock.patch.object(machine_code, "_optimise"),
        mock.patch.object(machine_code, "_machine", _machine),
    ):
        yield
