"""The registers and spills of kernels, as NVIDIA's compiler counts them for a page."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from spaces.backend.cuda.compiled_apart import resources_within
from spaces.backend.cuda.errors import CudaCompileError, CudaUnavailable
from spaces.backend.cuda.nvrtc import KernelResources
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.backend.kernel_names import resources_by_stage
from spaces.features.features import Features
from spaces.model.extras import how_to_install

COMPILING = 20.0
"""The most seconds that the compiler may take for a page."""


@frozen(eq=False)
class CountedKernels:
    """What the compiler counts for the kernels of a schedule.

    Attributes:
        compiled: the pipeline under the schedule.
        kernels: the resources of each kernel by its name in the code.
        missing: why there are none, as a sentence; empty if there are.
    """

    compiled: GpuPipeline
    kernels: Mapping[str, KernelResources] = field(factory=dict)
    missing: str = ""

    def by_stage(self, features: Features) -> Mapping[tuple[str, int], KernelResources]:
        """The resources of each kernel by the Func and stage that name it in the features; empty
        if the two have other kernels.
        """
        return resources_by_stage(self.compiled, self.kernels, features)


def count_kernels(compiled: GpuPipeline, seconds: float = COMPILING) -> CountedKernels:
    """What the compiler counts, or why it counts nothing.

    Args:
        compiled: a pipeline under a schedule for a GPU.
        seconds: the most time that the compiler may take.
    """
    if not compiled.kernels:
        return CountedKernels(compiled)
    try:
        source, arch, mode = compiled.source, compiled.arch, compiled.float_mode
        counted = resources_within(source, arch, seconds, float_mode=mode)
        return CountedKernels(compiled, counted)
    except CudaUnavailable:
        why = f"NVIDIA's compiler is not here ({how_to_install('cuda-check')})."
    except (CudaCompileError, TimeoutError) as error:
        lines = str(error).strip().splitlines()
        why = lines[0] if lines else "the compiler refuses the code."
    return CountedKernels(compiled, missing=why)
