"""Modules of the stub driver as a bundle holds them."""

from __future__ import annotations

from bench.gpu.making import Built
from spaces.backend.cuda.kernel import CudaModule
from tests.backend.cuda.stub.modules import stub_module


def stub_built(module: CudaModule, arch: str) -> Built:
    """A text as a module of the stub driver, which has no assembly."""
    return Built(stub_module(module), b"")
