"""The emulator under g++'s sanitizers: each launch runs in a new process, with a time limit.

``address,undefined`` finds accesses outside of global buffers and shared arrays, and undefined
operations (signed overflow, bad shifts, an index outside one dimension of a shared array).
``thread`` finds two threads of a block that touch the same place without a barrier between, if one
of them writes. It finds them in any order of the threads. It remembers only the last few accesses
of a place, so a race behind many reads may show only in another order. Blocks run one after
another, so it finds no races between blocks.
"""

from __future__ import annotations

import re
import shutil
import signal
import struct
import subprocess
import tempfile
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, get_args

import attrs
import numpy as np
from numpy.typing import NDArray

from spaces.backend.arrays.given import AnyArray
from spaces.backend.cuda.dim3 import Dim3
from spaces.backend.cuda.emulator import (
    ORDERS,
    HostMemory,
    ThreadOrder,
    access_error,
    known_order,
    valid_seed,
)
from spaces.backend.cuda.errors import (
    CudaLaunchError,
    CudaUnavailable,
    DivergentBarrierError,
    SanitizerError,
)
from spaces.backend.cuda.host_build import build, program_text
from spaces.backend.cuda.kernel import BufferParam, CudaKernel, CudaModule, KernelParam
from spaces.backend.cuda.plan import PlannedLaunch
from spaces.backend.cuda.program import CudaExecutor, Session

Sanitizers = Literal["address,undefined", "thread"]
"""The sanitizers of a build; one build cannot have both kinds."""

_FLAGS: Mapping[Sanitizers, tuple[str, ...]] = {
    "address,undefined": (
        "-O0",  # the sanitizer must see an access before an optimizer moves it to a harmless place
        "-g",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        "-fsanitize-sections=shim_shared",
    ),
    "thread": ("-O1", "-g", "-fsanitize=thread"),
}

_DIVERGED = 3  # exit codes of shim_main.h
_UNREADABLE = 4
_OUTSIDE = 5

_UNDEFINED = re.compile(r"module\.cu:(?P<line>\d+):\d+: runtime error: (?P<finding>[^\n]+)")
_SUMMARY = re.compile(r"SUMMARY: \w+: (?P<finding>[a-zA-Z][a-zA-Z -]*?)(?: [(/\w.]+[:+].*)?$", re.M)
_LINE = re.compile(r"module\.cu:(\d+)")


def _known_sanitizers(_: object, attribute: attrs.Attribute[Sanitizers], value: Sanitizers) -> None:
    if value not in _FLAGS:
        raise ValueError(f"{attribute.name} is {value!r}; it is one of {get_args(Sanitizers)}")


@attrs.frozen(slots=True)
class SanitizedEmulator(CudaExecutor):
    """Runs CUDA host programs on the CPU under sanitizers.

    Each text is built once in a process (about 0.4 s); a launch costs a process (10 to 60 ms) and 5
    to 25 times what the emulator takes.

    Attributes:
        sanitizers: the kind of sanitizers.
        order: the order of threads.
        seed: seed of the shuffled order.
        timeout_s: seconds that one launch may take.

    Runs also raise:

    - SanitizerError: a sanitizer found a mistake in a kernel.
    - DivergentBarrierError: only some threads of a block reached a barrier.
    - CudaLaunchError: a launch crashed or took longer than `timeout_s`.
    - CudaUnavailable: g++ or its sanitizers are missing.
    """

    sanitizers: Sanitizers = attrs.field(validator=_known_sanitizers)
    order: ThreadOrder = attrs.field(default="forward", validator=known_order)
    seed: int = attrs.field(default=0, validator=valid_seed)
    timeout_s: float = attrs.field(default=60.0, validator=attrs.validators.gt(0))

    def session(
        self, module: CudaModule, buffers: Mapping[str, AnyArray], unset: Collection[str] = ()
    ) -> Session[NDArray[np.uint8]]:
        return Session(_Subprocess(self), module, buffers, unset)


class _Subprocess(HostMemory):
    def __init__(self, settings: SanitizedEmulator) -> None:
        self._settings = settings

    def launch(
        self, module: CudaModule, launch: PlannedLaunch, memory: Sequence[NDArray[np.uint8]]
    ) -> None:
        kernel, arguments = launch.kernel, launch.arguments(memory)
        program = _program(module, self._settings.sanitizers)
        with tempfile.TemporaryDirectory() as folder:
            job, result = Path(folder) / "job", Path(folder) / "result"
            with job.open("wb") as file:
                file.write(self._header(module, kernel, launch.grid))
                for param, argument in zip(kernel.params, arguments, strict=True):
                    content = argument.tobytes()
                    file.write(struct.pack("=QQ", len(content), _kind(param)))
                    file.write(content)
            done = self._call(kernel, [str(program.path), str(job), str(result)])
            _raise_what_went_wrong(kernel, done)
            with result.open("rb") as file:
                for param, argument in zip(kernel.params, arguments, strict=True):
                    if isinstance(argument, np.ndarray) and _kind(param) == 1:
                        argument[:] = np.frombuffer(file.read(argument.nbytes), np.uint8)

    def _header(self, module: CudaModule, kernel: CudaKernel, grid: Dim3) -> bytes:
        return struct.pack(
            "=10IQ",
            module.kernels.index(kernel),
            ORDERS.index(self._settings.order),
            *grid,
            *kernel.block,
            kernel.dynamic_shared_bytes,
            len(kernel.params),
            self._settings.seed,
        )

    def _call(self, kernel: CudaKernel, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        done = self._limited(kernel, command)
        if "unexpected memory mapping" not in done.stderr:
            return done
        # The thread sanitizer of older compilers fails with the address randomization of newer
        # kernels.
        setarch = shutil.which("setarch")
        if setarch is not None:
            done = self._limited(kernel, [setarch, "-R", *command])
        if "unexpected memory mapping" in done.stderr or "personality" in done.stderr:
            raise CudaUnavailable(
                "the thread sanitizer can't run on this system, which randomizes addresses too "
                f"far for it ({done.stderr.strip()})"
            )
        return done

    def _limited(
        self, kernel: CudaKernel, command: Sequence[str]
    ) -> subprocess.CompletedProcess[str]:
        limit_s = self._settings.timeout_s
        try:
            return subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CudaLaunchError(
                f"kernel {kernel.name} did not end within {limit_s:g} s under the "
                f"{self._settings.sanitizers} sanitizer"
            ) from None


class _BuiltProgram:
    """A built program. Its folder is removed when the last reference to the object goes."""

    def __init__(self, module: CudaModule, sanitizers: Sanitizers) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.path = build(program_text(module), Path(self._folder.name), _FLAGS[sanitizers])


@lru_cache(maxsize=64)
def _program(module: CudaModule, sanitizers: Sanitizers) -> _BuiltProgram:
    return _BuiltProgram(module, sanitizers)


def _kind(param: KernelParam) -> int:
    """The number of a parameter's kind in shim_main.h: 0 a scalar, 1 a written buffer, 2 a buffer
    that is only read.
    """
    if not isinstance(param, BufferParam):
        return 0
    return 1 if param.written else 2


def _raise_what_went_wrong(kernel: CudaKernel, done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode == 0:
        return
    if done.returncode == _DIVERGED:
        raise DivergentBarrierError(done.stdout.strip())
    if done.returncode == _OUTSIDE:
        raise access_error(done.stdout.strip())
    if done.returncode == _UNREADABLE:
        raise CudaLaunchError(f"kernel {kernel.name}: its job or its result is unreadable")
    undefined = _UNDEFINED.search(done.stderr)
    summary = _SUMMARY.search(done.stderr)
    if undefined:
        raise _finding(kernel, undefined["finding"], int(undefined["line"]), done.stderr)
    if summary:
        line = _LINE.search(done.stderr)
        raise _finding(kernel, summary["finding"], int(line[1]) if line else None, done.stderr)
    why = f"exit code {done.returncode}"
    if done.returncode < 0:
        why = signal.Signals(-done.returncode).name
    raise CudaLaunchError(f"kernel {kernel.name} crashed ({why}): {done.stderr.strip()}")


def _finding(kernel: CudaKernel, finding: str, line: int | None, report: str) -> SanitizerError:
    where = f", line {line} of the text" if line else ""
    return SanitizerError(f"kernel {kernel.name}{where}: {finding}", finding, line, report)
