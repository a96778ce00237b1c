"""The code that is generated for a legal schedule, for its page."""

from __future__ import annotations

from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.constraints.devices.device import CpuDevice
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.pages.code_view import Code


def generated_code(checked: CheckedSchedule) -> tuple[Code, ...]:
    """LLVM IR and assembly for a CPU, CUDA C for a GPU."""
    if isinstance(checked.device, CpuDevice):
        compiled = compile_cpu(checked)
        return (
            Code("LLVM IR, optimised", compiled.llvm_ir(), "spaces compile ... -o out"),
            Code("Assembly", compiled.assembly(), "spaces compile ... -o out"),
        )
    return (Code("CUDA C", compile_gpu(checked).source, "spaces compile ... -o out"),)
