"""Which kernel of a compiled pipeline is which kernel of its features."""

from __future__ import annotations

from collections.abc import Mapping

from spaces.backend.cuda.nvrtc import KernelResources
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.features.features import Features


def resources_by_stage(
    compiled: GpuPipeline, counted: Mapping[str, KernelResources], features: Features
) -> dict[tuple[str, int], KernelResources]:
    """The resources of each kernel, by the Func and the number of the stage that name it in the
    features. Kernels of a program and of its features come in the same order. If there are more of
    one than of the other, they cannot be matched, and there are none.

    Args:
        compiled: the pipeline under a schedule.
        counted: the resources of its kernels by name, as the compiler counts them.
        features: those of the same schedule.
    """
    found = [counted[one.name] for one in compiled.kernels if one.name in counted]
    named = [(one.func, one.stage) for one in features.kernels]
    return dict(zip(named, found, strict=True)) if len(found) == len(named) else {}
