"""The code that is generated for a legal schedule, for its page."""

from __future__ import annotations

from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.constraints.devices.device import CpuDevice
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.pages.code_view import GeneratedCode


def generated_code(checked: CheckedSchedule) -> tuple[GeneratedCode, ...]:
    """LLVM IR and assembly for a CPU, CUDA C for a GPU."""
    if isinstance(checked.device, CpuDevice):
        compiled = compile_cpu(checked)
        return (
            GeneratedCode("LLVM IR, optimised", compiled.llvm_ir(), "spaces compile ... -o out"),
            GeneratedCode("Assembly", compiled.assembly(), "spaces compile ... -o out"),
        )
    return (GeneratedCode("CUDA C", compile_gpu(checked).source, "spaces compile ... -o out"),)
