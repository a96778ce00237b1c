"""Builds CUDA C text for the CPU: the shim, the text unchanged, and one entry for each kernel."""

from __future__ import annotations

import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

from spaces.backend.cuda.errors import CudaCompileError, CudaUnavailable
from spaces.backend.cuda.kernel import CudaKernel, CudaModule

_HEADERS = ("shim.h", "shim_math.h", "shim_main.h")

# C++14 suffices; in C++17, <math.h> brings 13,000 lines of special functions, a third of a build's
# time. The compiler contracts nothing, as in `compile_cuda`. Without control-flow protection, code
# may leave a stack in another way than by a return.
_FLAGS = ("-std=c++14", "-w", "-ffp-contract=off", "-fcf-protection=none")


def library_text(module: CudaModule) -> str:
    """C++ of a shared library with one function, ``shim_run``; see `emulator`."""
    return _text(module) + _RUN


def program_text(module: CudaModule) -> str:
    """C++ of a program that makes one launch; see shim_main.h."""
    return _text(module) + '#include "shim_main.h"\n'


def build(text: str, folder: Path, flags: tuple[str, ...]) -> Path:
    """Compiles and links C++ in `folder`; returns the file made.

    Raises:
        CudaCompileError: g++ refuses the text.
        CudaUnavailable: there is no g++, or it can't link with `flags`.
    """
    compiler = shutil.which("g++")
    if compiler is None:
        raise CudaUnavailable("there is no g++; it builds CUDA text for the CPU, please install it")
    for header in _HEADERS:
        content = (files("spaces.backend.cuda") / header).read_text(encoding="utf-8")
        (folder / header).write_text(content, encoding="utf-8")
    (folder / "kernels.cpp").write_text(text, encoding="utf-8")
    command = [compiler, *_FLAGS, *flags, "kernels.cpp", "-o", "kernels.out", "-lm"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return folder / "kernels.out"
    if "ld: cannot find" in done.stderr:
        raise CudaUnavailable(f"g++ can't link with {' '.join(flags)}: {done.stderr.strip()}")
    raise CudaCompileError(
        f"the CUDA text does not build for the CPU:\n{done.stderr.strip()}", done.stderr
    )


def _text(module: CudaModule) -> str:
    calls = "".join(_call(kernel) for kernel in module.kernels)
    entries = ", ".join(f'{{"{kernel.name}", call_{kernel.name}}}' for kernel in module.kernels)
    return (
        '#include "shim.h"\n#line 1 "module.cu"\n'
        f"{module.source}\n"
        '#line 1 "entries of the kernels"\n'
        f"namespace shim {{\n{calls}"
        f"static const Entry entries[] = {{{entries}}};\n}}\n"
    )


def _call(kernel: CudaKernel) -> str:
    """A function that unpacks a kernel's arguments, and a check that text and record agree."""
    types = [param.declared_type() for param in kernel.params]
    values = ", ".join(f"*({each}*)arguments[{at}]" for at, each in enumerate(types))
    return (
        f"static_assert(Same<decltype(&::{kernel.name}), void (*)({', '.join(types)})>::value,\n"
        f'    "the record of kernel {kernel.name} has other parameters than the text");\n'
        f"static void call_{kernel.name}(void** arguments) {{ ::{kernel.name}({values}); }}\n"
    )


_RUN = """
extern "C" __attribute__((visibility("default"))) int shim_run(
    int kernel, const unsigned* sizes, unsigned dynamic_shared_bytes, int order, uint64_t seed,
    void** arguments, const uint64_t* nbytes, char* message, size_t message_size) {
    const shim::Entry& entry = shim::entries[kernel];
    shim::Launch launch = {entry.kernel, entry.call, {sizes[0], sizes[1], sizes[2]},
                           {sizes[3], sizes[4], sizes[5]}, dynamic_shared_bytes, order, seed,
                           arguments, nbytes};
    if (shim::run_grid(launch, message, message_size)) return 0;
    return shim::outside.buffer ? 2 : 1;
}
"""
