"""The code that is generated for a legal schedule, for its page."""

from __future__ import annotations

from spaces.backend.compile import CompiledPipeline
from spaces.backend.gpu_pipeline import GpuPipeline
from spaces.pages.code_view import GeneratedCode

_COMMAND = "spaces compile ... -o out"


def cpu_code(compiled: CompiledPipeline) -> tuple[GeneratedCode, ...]:
    """LLVM IR and assembly."""
    return (
        GeneratedCode("LLVM IR, optimised", compiled.llvm_ir(), _COMMAND),
        GeneratedCode("Assembly", compiled.assembly(), _COMMAND),
    )


def gpu_code(compiled: GpuPipeline) -> tuple[GeneratedCode, ...]:
    """CUDA C."""
    return (GeneratedCode("CUDA C", compiled.source, _COMMAND),)
