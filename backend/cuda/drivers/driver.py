"""The calls of the CUDA driver that an executor needs, the same for every binding.

Addresses of device memory are ints, grids and blocks are sizes along x, y and z. Every call but
those about devices needs a current context. Work of one stream is done in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.arrays.stream import Stream
from backend.cuda.dim3 import Dim3

PreparedLaunch: TypeAlias = Callable[[Sequence[int]], None]
"""Launches a kernel with these addresses for its pointers, in order; may return before it ends."""


class DriverError(Exception):
    """The driver refuses a call; the message is what it says."""


class Driver(Protocol):
    """The CUDA driver, initialized. All calls raise DriverError where the driver refuses them.

    Attributes:
        binding: the name of the package that calls it.
    """

    binding: str

    def count(self) -> int:
        """The number of devices."""

    def device_name(self, number: int) -> str:
        """The name of a device, such as ``NVIDIA H100 80GB HBM3``."""

    def capability(self, number: int) -> tuple[int, int]:
        """The compute capability of a device, as (9, 0)."""

    def context(self, number: int) -> AbstractContextManager[None]:
        """Makes the primary context of a device current while it is entered; it may be entered
        again.
        """

    def allocate(self, nbytes: int) -> int:
        """The address of fresh memory of so many bytes, at least 1."""

    def free(self, address: int) -> None:
        """Gives memory back."""

    def device_of(self, address: int) -> int | None:
        """The number of the device whose memory this is; None if the binding can't tell.

        Raises:
            DriverError: it is no memory of a device.
        """

    def upload(self, address: int, host: NDArray[Any], stream: Stream) -> None:
        """Copies a C-contiguous array of at least one byte to the device."""

    def download(self, host: NDArray[Any], address: int, stream: Stream) -> None:
        """Waits for the stream, then fills a C-contiguous array of at least one byte."""

    def copy(self, to: int, source: int, nbytes: int, stream: Stream) -> None:
        """Copies at least one byte within the memory of the device."""

    def load(self, cubin: bytes) -> Any:
        """A module, from the text of the compiler. It stays loaded until :meth:`unload`."""

    def unload(self, module: Any) -> None:
        """Ends a module that no launch uses."""

    def function(self, module: Any, name: str, dynamic_shared_bytes: int) -> Any:
        """A kernel of a module, with leave to take so much dynamic shared memory."""

    def launch(
        self,
        function: Any,
        grid: Dim3,
        block: Dim3,
        dynamic_shared_bytes: int,
        arguments: Sequence[np.generic | None],
        stream: Stream,
    ) -> PreparedLaunch:
        """A launch of a kernel, to be made as often as wanted. ``arguments`` has the value of each
        parameter, None for a pointer.
        """

    def order(self, before: Stream, after: Stream) -> None:
        """Lets what is asked of the stream ``after`` from now on wait for what was asked of
        ``before``.
        """

    def wait(self, stream: Stream | None = None) -> None:
        """Waits for the work of a stream, or of all; raises what went wrong in it."""

    def seconds(self, work: Callable[[], None]) -> float:
        """The seconds on the device between an event before the first and one after the last of
        what ``work`` launches.
        """
