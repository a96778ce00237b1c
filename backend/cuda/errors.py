"""What the pieces around CUDA text raise. Each message is a sentence that stands alone."""

from __future__ import annotations


class CudaError(Exception):
    """Anything that went wrong with CUDA text, its host program, or what runs it."""


class CudaUnavailable(CudaError):
    """A library, compiler, driver or device that is needed is not here; the message says which."""


class CudaCompileError(CudaError):
    """A compiler refused the text. `log` is what it said, in full."""

    def __init__(self, message: str, log: str) -> None:
        super().__init__(message)
        self.log = log


class CudaProgramError(CudaError):
    """A host program and the buffers and scalars it was given do not fit together."""


class CudaLaunchError(CudaError):
    """A launch that the device refused, that crashed, or that did not end in time."""


class DivergentBarrierError(CudaLaunchError):
    """Some threads of a block reached a barrier which others did not."""


class SanitizerError(CudaLaunchError):
    """A sanitizer stopped a kernel.

    Attributes:
        finding: what it calls the mistake, such as ``heap-buffer-overflow`` or ``data race``.
        line: the line of the CUDA text, counted from 1; None where the report names none.
        report: all that it printed.
    """

    def __init__(self, message: str, finding: str, line: int | None, report: str) -> None:
        super().__init__(message)
        self.finding = finding
        self.line = line
        self.report = report
