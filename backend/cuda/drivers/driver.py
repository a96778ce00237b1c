"""The calls of the CUDA driver that an executor needs, the same for every binding.

Addresses of device memory are ints, grids and blocks are sizes along x, y and z. Every call but
those about devices needs a current context. A stream is what :meth:`Driver.stream_of` gives, by
default that of the driver; work of one stream is done in the order of the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from spaces.backend.cuda.dim3 import Dim3


class KernelCall(NamedTuple):
    """A launch but for its addresses.

    Attributes:
        function: the kernel, as the driver gives it.
        grid: blocks along x, y and z.
        block: threads along x, y and z.
        dynamic_shared_bytes: shared memory besides what the text declares.
        arguments: the value of each parameter, None for a pointer.
    """

    function: Any
    grid: Dim3
    block: Dim3
    dynamic_shared_bytes: int
    arguments: Sequence[np.generic | None]


class PreparedLaunches(NamedTuple):
    """Launches that can be made again and again.

    Attributes:
        point: takes the addresses of the pointers of all launches, in order.
        makes: each makes one launch; it may return before the kernel ends.
    """

    point: Callable[[Sequence[int] | NDArray[np.uint64]], None]
    makes: tuple[Callable[[], None], ...]


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
        """The address of fresh memory of that many bytes, at least 1."""

    def free(self, address: int) -> None:
        """Gives memory back."""

    def device_of(self, address: int) -> int | None:
        """The number of the device whose memory this is; None if the binding can't tell.

        Raises:
            DriverError: it is no memory of a device.
        """

    def stream_of(self, number: int, given: object) -> Any:
        """A stream by the driver's number, 0 for the default one; ``given`` is the caller's object.

        Raises:
            DriverError: the binding works on streams of its own only.
        """

    def upload(self, address: int, host: NDArray[Any], stream: Any = None) -> None:
        """Copies a C-contiguous array of at least one byte to the device."""

    def download(self, host: NDArray[Any], address: int, stream: Any = None) -> None:
        """Waits for the stream, then fills a C-contiguous array of at least one byte."""

    def copy_on_device(self, to: int, source: int, nbytes: int, stream: Any = None) -> None:
        """Copies at least one byte within the memory of the device."""

    def load(self, cubin: bytes) -> Any:
        """A module, from the text of the compiler. It stays loaded until :meth:`unload`."""

    def unload(self, module: Any) -> None:
        """Ends a module that no launch uses."""

    def function(self, module: Any, name: str, dynamic_shared_bytes: int) -> Any:
        """A kernel of a module, with leave to take so much dynamic shared memory."""

    def prepared(self, calls: Sequence[KernelCall], stream: Any = None) -> PreparedLaunches:
        """Launches in this order, to be made as often as wanted."""

    def order(self, before: Any, after: Any) -> None:
        """Lets what is asked of the stream ``after`` from now on wait for what was asked of
        ``before``.
        """

    def wait_for_stream(self, stream: Any) -> None:
        """Waits for the work of a stream; raises what went wrong in it."""

    def wait(self) -> None:
        """Waits for all work; raises what went wrong in it."""

    def seconds(self, work: Callable[[], None]) -> float:
        """The seconds on the device between an event before the first and one after the last of
        what ``work`` launches.
        """
