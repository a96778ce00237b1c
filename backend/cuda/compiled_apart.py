"""Registers and spills of kernels, counted by the compiler in a process of its own, which ends when
its time is over: some texts take a minute.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping

import attrs

from spaces.backend.cuda.errors import CudaCompileError, CudaUnavailable
from spaces.backend.cuda.nvrtc import KernelResources, available_archs, compile_cuda
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.python_process import module_command, module_environment


def resources_within(
    source: str, arch: str, seconds: float, *, float_mode: FloatMode = FloatMode.STRICT
) -> Mapping[str, KernelResources]:
    """The resources of each kernel of a text, by name.

    Args:
        source: CUDA C without ``#include``.
        arch: one of :func:`~spaces.backend.cuda.nvrtc.available_archs`.
        seconds: the most time that the compiler may take.
        float_mode: how far results of float arithmetic may differ.

    Raises:
        CudaUnavailable: there is no NVRTC library.
        CudaCompileError: the compiler refuses the text.
        TimeoutError: it takes longer.
    """
    available_archs()
    command = module_command(__name__, arch, float_mode.name)
    try:
        ended = subprocess.run(
            command,
            input=source,
            capture_output=True,
            text=True,
            timeout=seconds,
            env=module_environment(),
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"The CUDA compiler takes more than {seconds:.3g} seconds.") from None
    if ended.returncode != 0:
        said = ended.stderr.strip().splitlines()
        why = said[-1] if said else f"The CUDA compiler ended with status {ended.returncode}."
        raise CudaCompileError(why, log=ended.stderr)
    counted = json.loads(ended.stdout)
    return {name: KernelResources(**numbers) for name, numbers in counted.items()}


def main(arch: str, float_mode: str) -> None:
    """Compiles the text of the standard input, and prints the resources of its kernels."""
    try:
        compiled = compile_cuda(sys.stdin.read(), arch, float_mode=FloatMode[float_mode])
    except (CudaCompileError, CudaUnavailable) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        sys.exit(1)
    kernels = compiled.kernels.items()
    print(json.dumps({name: attrs.asdict(resources) for name, resources in kernels}))


if __name__ == "__main__":
    main(*sys.argv[1:])
