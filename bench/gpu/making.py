"""How a bundle is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from attrs import field, frozen

from bench.gpu.sizes import shown_at
from spaces.backend.cuda.kernel import CudaModule
from spaces.backend.cuda.nvrtc import compile_cuda

ARCH = "sm_90"
"""The architecture of the machine code in a bundle; other cards compile the text."""

HALIDE = ("by hand", "Anderson2021", "Li2018")
"""Halide's schedules: ours by hand, and those of its autoschedulers."""


@frozen
class Built:
    """A text for one architecture."""

    cubin: bytes
    ptx: bytes


Builder: TypeAlias = Callable[[CudaModule, str], Built]


def built(module: CudaModule, arch: str) -> Built:
    """A text as NVRTC compiles it."""
    made = compile_cuda(module.source, arch, float_mode=module.float_mode)
    return Built(made.cubin, made.ptx.encode())


@frozen
class Making:
    """How a bundle is made.

    Attributes:
        folder: where.
        arch: the architecture of the machine code.
        sizes: width and height of the photograph for each app and size.
        build: compiles a text.
        schedules: a folder with files ``APP.sched``; an app without one is searched.
        halide: the schedules that Halide compiles.
    """

    folder: Path
    arch: str = ARCH
    sizes: Mapping[str, Mapping[str, tuple[int, int]]] = field(factory=dict)
    build: Builder = built
    schedules: Path | None = None
    halide: tuple[str, ...] = HALIDE

    def shown_at(self, app: str) -> Mapping[str, tuple[int, int]]:
        """Width and height of the photograph of an app at each size."""
        return self.sizes.get(app) or shown_at(app)
