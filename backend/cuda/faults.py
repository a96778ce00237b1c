"""What to say when a GPU fails: a kernel fails while the host does something else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define, field

from spaces.backend.arrays.streams import Stream
from spaces.backend.cuda.drivers.driver import DriverError
from spaces.backend.cuda.errors import CudaLaunchError

_MOST = 64
"""How many different calls are remembered."""


@define
class LaunchedKernels:
    """The kernels that a device was asked to run, and that it may not have ended."""

    _counts: dict[int, dict[tuple[str, ...], int]] = field(init=False, factory=dict)
    """How often kernels were launched one after the other in each stream, by its number."""

    def add(self, names: tuple[str, ...], stream: Stream) -> None:
        """Notes launches of these kernels."""
        counts = self._counts.setdefault(stream.handle, {})
        counts[names] = counts.get(names, 0) + 1
        if len(counts) > _MOST:
            del counts[next(iter(counts))]

    def clear(self, stream: Stream) -> None:
        """All of a stream have ended."""
        self._counts.pop(stream.handle, None)

    @contextmanager
    def told(self, what: str) -> Iterator[None]:
        """Says what the GPU was asked for when the driver refuses, and which kernels may have
        failed before.
        """
        try:
            yield
        except DriverError as error:
            raise self.failed(what, error) from error

    def failed(self, what: str, error: DriverError) -> CudaLaunchError:
        """The error of a GPU that was asked for something."""
        return CudaLaunchError(f"the GPU failed while {what}: {error}{self._candidates()}")

    def _candidates(self) -> str:
        counts = Counter[str]()
        for calls in self._counts.values():
            for each, count in calls.items():
                for name in each:
                    counts[name] += count
        names = [n if count == 1 else f"{n} ({count} times)" for n, count in counts.items()]
        if not names:
            return ""
        if len(names) == 1:
            return f"; since it last waited it launched kernel {names[0]}"
        return (
            f"; since it last waited it launched kernels {', '.join(names)}; "
            "GpuExecutor(synchronous=True) tells which of them failed"
        )
