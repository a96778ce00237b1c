"""The errors of CUDA text: compiling it, its host programs, and running it. Each message is a
complete sentence.
"""

from __future__ import annotations


class CudaError(Exception):
    """The base of all errors of CUDA text, its host program, and its executors."""


class CudaUnavailable(CudaError):
    """A necessary library, compiler, driver or device is missing; the message says which."""


class CudaCompileError(CudaError):
    """A compiler refused the text. `log` is its full output."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


class CudaProgramError(CudaError):
    """A host program does not fit the buffers and scalars that it was given."""


class CudaLaunchError(CudaError):
    """The device refused a launch, or the launch crashed or did not end in time."""


class DivergentBarrierError(CudaLaunchError):
    """Some threads of a block reached a barrier, and others did not."""


class SanitizerError(CudaLaunchError):
    """A sanitizer stopped a kernel.

    Attributes:
        finding: the sanitizer's name of the mistake, such as ``heap-buffer-overflow`` or
            ``data race``.
        line: the line of the CUDA text, counted from 1; None if the report names no line.
        report: the sanitizer's full output.
    """

    def __init__(self, message: str, finding: str, line: int | None, report: str) -> None:
        super().__init__(message)
        self.finding = finding
        self.line = line
        self.report = report
