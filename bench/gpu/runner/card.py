"""One GPU, with the calls that measuring needs besides those of launching."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from spaces.backend.cuda.drivers.cuda_bindings import CudaBindings
from spaces.backend.cuda.drivers.driver import DriverError
from spaces.backend.cuda.errors import CudaUnavailable

_NUMBERS = {
    "multiprocessors": "MULTIPROCESSOR_COUNT",
    "l2_bytes": "L2_CACHE_SIZE",
    "clock_khz": "CLOCK_RATE",
    "memory_clock_khz": "MEMORY_CLOCK_RATE",
    "memory_bus_bits": "GLOBAL_MEMORY_BUS_WIDTH",
}
"""What a result says of a card, by the name of the driver's attribute."""

_NON_BLOCKING = 1


class Card(CudaBindings):
    """The first GPU. Launches, fills and copies go to a stream of its own, in order.

    Raises:
        ImportError: ``cuda-bindings`` is not installed.
        CudaUnavailable: there is no driver, or no device.
    """

    number = 0

    def __init__(self) -> None:
        super().__init__()
        if self.count() == 0:
            raise CudaUnavailable("the CUDA driver finds no device")
        major, minor = self.capability(self.number)
        self.arch = f"sm_{major}{minor}"

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Makes the card's primary context current, with the stream."""
        with self.context(self.number):
            self.stream = self._ask(self._driver.cuStreamCreate, _NON_BLOCKING)
            yield

    @property
    def handles(self) -> tuple[int, int]:
        """The context and the stream, as addresses."""
        return int(self._contexts[self.number]), int(self.stream)

    def about(self) -> dict[str, Any]:
        """The card and its driver, as JSON's types."""
        device = self._device(self.number)
        kinds = self._driver.CUdevice_attribute
        numbers = {
            name: int(
                self._ask(
                    self._driver.cuDeviceGetAttribute,
                    getattr(kinds, f"CU_DEVICE_ATTRIBUTE_{attribute}"),
                    device,
                )
            )
            for name, attribute in _NUMBERS.items()
        }
        return {
            "card": self.device_name(self.number),
            "arch": self.arch,
            "driver_of_cuda": int(self._ask(self._driver.cuDriverGetVersion)),
            "memory_bytes": int(self._ask(self._driver.cuDeviceTotalMem, device)),
            **numbers,
        }

    def unused_bytes(self) -> int:
        """The bytes of memory that nobody uses."""
        status, unused, _ = self._driver.cuMemGetInfo()
        self._check(status)
        return int(unused)

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        """Sets each byte of some memory; may return before that is done."""
        self._ask(self._driver.cuMemsetD8Async, address, byte, nbytes, self.stream)

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """Copies memory of the card; may return before that is done."""
        self._ask(self._driver.cuMemcpyDtoDAsync, to, source, nbytes, self.stream)

    def times(self, works: Sequence[Callable[[], None]], before: Callable[[], None]) -> list[float]:
        """The seconds of each work between two events around it. ``before`` runs ahead of each
        first event: work that takes the card longer than a launch takes the host hides the host.
        """
        pairs = [tuple(self._ask(self._driver.cuEventCreate, 0) for _ in range(2)) for _ in works]
        try:
            for work, (begin, end) in zip(works, pairs, strict=True):
                before()
                self._ask(self._driver.cuEventRecord, begin, self.stream)
                work()
                self._ask(self._driver.cuEventRecord, end, self.stream)
            self.wait()
            return [
                float(self._ask(self._driver.cuEventElapsedTime, begin, end)) * 1e-3
                for begin, end in pairs
            ]
        finally:
            for pair in pairs:
                for event in pair:
                    self._ask(self._driver.cuEventDestroy, event)

    def graph(self, work: Callable[[], None]) -> Callable[[], None]:
        """What ``work`` launches, as one launch of a CUDA graph.

        Raises:
            DriverError: ``work`` asks for something that a graph cannot hold, or copies memory;
                that of the host may hold something else when the graph runs.
        """
        relaxed = self._driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        self._ask(self._driver.cuStreamBeginCapture, self.stream, relaxed)
        try:
            work()
        finally:
            captured = self._ask(self._driver.cuStreamEndCapture, self.stream)
        try:
            self._check_nodes(captured)
            made = self._ask(self._driver.cuGraphInstantiate, captured, 0)
        finally:
            self._ask(self._driver.cuGraphDestroy, captured)
        call, check, stream = self._driver.cuGraphLaunch, self._check, self.stream

        def launch() -> None:
            check(call(made, stream)[0])

        return launch

    def _check_nodes(self, graph: Any) -> None:
        kinds = self._driver.CUgraphNodeType
        plain = (kinds.CU_GRAPH_NODE_TYPE_KERNEL, kinds.CU_GRAPH_NODE_TYPE_MEMSET)
        status, _, count = self._driver.cuGraphGetNodes(graph)
        self._check(status)
        status, nodes, _ = self._driver.cuGraphGetNodes(graph, count)
        self._check(status)
        for node in nodes or ():
            kind = self._ask(self._driver.cuGraphNodeGetType, node)
            if kind not in plain:
                name = str(kind.name).removeprefix("CU_GRAPH_NODE_TYPE_").lower()
                raise DriverError(f"a run has a step of the kind {name}")
