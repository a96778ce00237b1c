"""Compiles CUDA C text to CUBIN and PTX with NVRTC, and reads the output of ptxas for each kernel.

This needs no GPU and no driver, only the NVRTC library: from the wheel ``nvidia-cuda-nvrtc`` or
from an installed CUDA toolkit. Calls go through ctypes (API: NVRTC documentation, CUDA 13).
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
import shutil
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import attrs

from spaces.backend.cuda.errors import CudaCompileError, CudaUnavailable
from spaces.backend.llvm.operators import FloatMode
from spaces.model.extras import how_to_install

_MISSING = (
    "NVRTC, NVIDIA's compiler library, is missing; install the extra that holds it "
    f"({how_to_install('cuda-check')}) or a CUDA toolkit"
)

_RESOURCES = re.compile(
    r"Compiling entry function '(?P<name>[^']+)'.*?"
    r"Function properties for (?P=name)\s.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)
_SHARED = re.compile(r"(\d+) bytes smem")


@attrs.frozen(slots=True)
class KernelResources:
    """The resources of one kernel on the device, as ptxas counts them.

    Attributes:
        registers: registers per thread.
        shared_bytes: static shared memory of a block, without the part that the system reserves.
        spill_store_bytes: bytes that each thread stores to local memory because registers are
            missing.
        spill_load_bytes: bytes that each thread loads back.
        stack_bytes: local memory of a thread: spills, and arrays that did not fit in registers.
    """

    registers: int
    shared_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int


@attrs.frozen(slots=True)
class CompiledCuda:
    """A text compiled for one architecture.

    Attributes:
        arch: ``sm_80`` and the like.
        cubin: machine code, for the driver to load.
        ptx: the same code as NVIDIA's assembly.
        log: the compiler's output, warnings included.
        kernels: the resources of each kernel by its name.
    """

    arch: str
    cubin: bytes = attrs.field(repr=lambda cubin: f"<{len(cubin)} bytes>")
    ptx: str = attrs.field(repr=False)
    log: str = attrs.field(repr=False)
    kernels: Mapping[str, KernelResources]


_FILE = b"module.cu"
"""The name of a text in messages."""


FAST_MACRO = "FAST_FLOATS"
"""Defined where floats may be computed fast: helpers then ignore NaN."""

_FLOAT_OPTIONS: Mapping[FloatMode, tuple[str, ...]] = {
    FloatMode.STRICT: ("--fmad=false",),
    FloatMode.CONTRACT: ("--fmad=true",),
    FloatMode.FAST: ("--fmad=true", "--use_fast_math", f"--define-macro={FAST_MACRO}"),
}


def compiler_options(arch: str, float_mode: FloatMode) -> tuple[str, ...]:
    """How NVRTC compiles a text for an architecture."""
    return (f"--gpu-architecture={arch}", *_FLOAT_OPTIONS[float_mode], "--std=c++17")


def compile_cuda(
    source: str, arch: str = "sm_80", *, float_mode: FloatMode = FloatMode.STRICT
) -> CompiledCuda:
    """Compiles a text for one architecture.

    Args:
        source: CUDA C without ``#include``.
        arch: one of `available_archs`.
        float_mode: how far results of float arithmetic may differ. The default gives the bits of
            a CPU that does not contract. ``FAST`` allows the compiler's fast functions, and flushes
            numbers close to 0 to 0.

    Raises:
        CudaCompileError: the compiler refuses the text; the log says why. ptxas also refuses static
            shared memory above 48 KB.
        CudaUnavailable: there is no NVRTC library.
    """
    library = _library()
    if arch not in available_archs():
        raise CudaCompileError(
            f"this NVRTC ({nvrtc_version()}) compiles for {', '.join(available_archs())}; "
            f"{arch} is not among them",
            log="",
        )
    options = [*compiler_options(arch, float_mode), "--ptxas-options=-v"]
    program = ctypes.c_void_p()
    _check(
        "nvrtcCreateProgram",
        library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), _FILE, 0, None, None),
    )
    try:
        arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        status = library.nvrtcCompileProgram(program, len(options), arguments)
        log = _output(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        if status != 0:
            raise CudaCompileError(
                f"the CUDA text does not compile for {arch}:\n{_without_statistics(log)}", log
            )
        ptx = _output(program, "PTX").rstrip(b"\0").decode()
        return CompiledCuda(arch, _output(program, "CUBIN"), ptx, log, read_resources(log))
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def read_resources(log: str) -> dict[str, KernelResources]:
    """The resources of each kernel, from a log of ``ptxas -v``."""
    kernels = {}
    for entry in _RESOURCES.finditer(log):
        shared = _SHARED.search(entry["rest"])
        kernels[entry["name"]] = KernelResources(
            registers=int(entry["registers"]),
            shared_bytes=int(shared[1]) if shared else 0,
            spill_store_bytes=int(entry["stores"]),
            spill_load_bytes=int(entry["loads"]),
            stack_bytes=int(entry["stack"]),
        )
    return kernels


def _without_statistics(log: str) -> str:
    lines = (line for line in log.splitlines() if line.strip())
    return "\n".join(line for line in lines if not re.match(r"ptxas (info|  )", line))


@cache
def available_archs() -> tuple[str, ...]:
    """The architectures that this NVRTC supports, oldest first; CudaUnavailable without NVRTC."""
    library = _library()
    count = ctypes.c_int()
    _check("nvrtcGetNumSupportedArchs", library.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    numbers = (ctypes.c_int * count.value)()
    _check("nvrtcGetSupportedArchs", library.nvrtcGetSupportedArchs(numbers))
    return tuple(f"sm_{number}" for number in numbers)


@cache
def nvrtc_version() -> str:
    """The version of this NVRTC, as ``13.0``; CudaUnavailable without NVRTC."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def _output(program: ctypes.c_void_p, what: str) -> bytes:
    """One result of a program. ``what`` is the name that NVRTC's two functions for it share."""
    library = _library()
    size = ctypes.c_size_t()
    _check(what, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    content = ctypes.create_string_buffer(size.value)
    _check(what, getattr(library, f"nvrtcGet{what}")(program, content))
    return content.raw


def _check(function: str, status: int) -> None:
    if status != 0:
        words = ctypes.cast(_library().nvrtcGetErrorString(status), ctypes.c_char_p).value or b""
        raise CudaCompileError(f"NVRTC failed in {function}: {words.decode()}", log="")


@cache
def _library() -> ctypes.CDLL:
    """NVRTC, loaded from the first place that has it."""
    reasons = []
    for path in _candidates():
        # NVRTC looks for its builtins by soname and finds them only if they are already loaded.
        builtins = sorted(path.parent.glob("libnvrtc-builtins.so.*"))
        try:
            if builtins:
                ctypes.CDLL(str(builtins[-1]), mode=ctypes.RTLD_GLOBAL)
            library = ctypes.CDLL(str(path))
        except OSError as error:
            reasons.append(str(error))
            continue
        library.nvrtcGetErrorString.restype = ctypes.c_void_p
        return library
    raise CudaUnavailable(f"{_MISSING}; tried: {'; '.join(reasons)}" if reasons else _MISSING)


def _candidates() -> Iterator[Path]:
    """Files that may be NVRTC: files of wheels before files of toolkits, newest first."""
    wheels = importlib.util.find_spec("nvidia")
    for folder in (wheels and wheels.submodule_search_locations) or ():
        yield from _newest_first(Path(folder), "*/lib/libnvrtc.so.*")
    compiler = shutil.which("nvcc")
    roots = [Path(compiler).resolve().parent.parent] if compiler else []
    roots += sorted(Path("/usr/local").glob("cuda*"), reverse=True)
    for root in roots:
        yield from _newest_first(root, "lib*/libnvrtc.so.*")


def _newest_first(folder: Path, pattern: str) -> list[Path]:
    return sorted((path for path in folder.glob(pattern) if ".alt." not in path.name), reverse=True)
