"""Texts as modules of the stub driver: libraries of the emulator in place of CUBINs."""

from __future__ import annotations

import tempfile
from pathlib import Path

from backend.cuda import emulator, launch
from backend.cuda.host_build import build, library_text
from backend.cuda.kernel import CudaModule


def stub_module(module: CudaModule) -> bytes:
    """What the stub driver loads for a text: the path of its library, and its kernels."""
    path = build(library_text(module), Path(tempfile.mkdtemp()), emulator._FLAGS)
    kernels = (f"{kernel.name} {len(kernel.params)}" for kernel in module.kernels)
    return "\n".join((str(path), *kernels, "\0")).encode()


def use_stub_modules() -> None:
    """From now on executors load these in place of what NVRTC compiles."""

    launch.compiled_module = lambda module, *_: stub_module(module)
