"""Modules of the stub driver as a bundle holds them."""

from __future__ import annotations

from functools import cache

from attrs import evolve

from backend.cuda.kernel import CudaModule
from backend.llvm.operators import FloatMode
from bench.gpu.making import Built
from tests.backend.cuda.stub.modules import stub_module

_library = cache(stub_module)


def stub_built(module: CudaModule, arch: str) -> Built:
    """A text as a module of the stub driver, the same for all float modes; it has no assembly."""
    return Built(_library(evolve(module, float_mode=FloatMode.STRICT)), b"")
