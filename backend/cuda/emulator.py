"""An executor on the CPU: the CUDA text itself, built by g++ over a shim, called in this process.

The threads of a block run one at a time, each until its next barrier, in an order that the caller
chooses. If the result of a text has the same bits in every order, these orders show no race; see
`sanitizers` for a proof per run. Shared memory is NaN (0xFF) before each block, and so is the
memory of each `AllocStep`: this shows a value that is read before it is written.

A mistake in a text (an index out of bounds) can crash this process. `SanitizedEmulator` runs the
text in another process.
"""

from __future__ import annotations

import ctypes
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import attrs
import numpy as np
from numpy.typing import NDArray

from spaces.backend.access import AccessError, AccessKind, Outside
from spaces.backend.arrays.given import AnyArray
from spaces.backend.cuda.errors import CudaUnavailable, DivergentBarrierError
from spaces.backend.cuda.host_build import build, library_text
from spaces.backend.cuda.kernel import AllocStep, CudaModule, FreeStep
from spaces.backend.cuda.plan import DevicePart, Plan, PlannedLaunch
from spaces.backend.cuda.program import CudaExecutor, RunPart, Session

ThreadOrder = Literal["forward", "reverse", "shuffled"]
"""The order of the threads of a block and of the blocks of a grid: by index, backwards, or drawn
from a seed. Each barrier draws a new order of threads.
"""

ORDERS: tuple[ThreadOrder, ...] = get_args(ThreadOrder)
"""All orders; the position of an order here is its number in shim.h."""

_MESSAGE_BYTES = 512

_FLAGS = ("-O1", "-fPIC", "-shared")
"""How g++ builds a text. Most texts run once, on few pixels, and ``-O2`` takes twice as long for a
long one.
"""

_OUTSIDE = 2
"""The value that ``shim_run`` returns after an access outside of memory."""


def access_error(message: str) -> AccessError:
    """The error of hardened text, from the shim's report of the access."""
    buffer, index, element, nbytes = message.rsplit(maxsplit=3)
    at = int(index) * int(element)
    outside = Outside(buffer, AccessKind.TOUCH, at, int(element), 0, int(nbytes), int(element), ())
    return AccessError(outside)


def known_order(_: object, attribute: attrs.Attribute[ThreadOrder], value: ThreadOrder) -> None:
    """An attrs validator: ValueError unless `value` is one of `ORDERS`."""
    if value not in ORDERS:
        raise ValueError(f"{attribute.name} is {value!r}; it is one of {', '.join(ORDERS)}")


valid_seed = attrs.validators.and_(attrs.validators.ge(0), attrs.validators.lt(2**64))
"""An attrs validator: ValueError unless the seed fits 64 bits."""


@attrs.frozen(slots=True)
class Emulator(CudaExecutor):
    """Runs CUDA host programs on the CPU.

    Each text is built once in a process (about 0.2 s) and stays loaded. One launch of a text runs
    at a time.

    Attributes:
        order: the order of threads and blocks.
        seed: seed of the shuffled order; the same seed gives the same order.

    Runs also raise:

    - DivergentBarrierError: only some threads of a block reached a barrier.
    - AccessError: hardened text was about to touch memory outside of the obtained memory.
    """

    order: ThreadOrder = attrs.field(default="forward", validator=known_order)
    seed: int = attrs.field(default=0, validator=valid_seed)

    def session(
        self, module: CudaModule, buffers: Mapping[str, AnyArray], unset: Collection[str] = ()
    ) -> Session[NDArray[np.uint8]]:
        return Session(_InProcess(self.order, self.seed), module, buffers, unset)


class HostMemory:
    """Device memory on the CPU: arrays of bytes; fresh ones are filled with 0xFF."""

    def launch(
        self, module: CudaModule, launch: PlannedLaunch, memory: Sequence[NDArray[np.uint8]]
    ) -> None:
        """Runs a kernel with the memory of its pointers, in order."""
        raise NotImplementedError

    @contextmanager
    def running(self, module: CudaModule, planned: Plan) -> Iterator[RunPart[NDArray[np.uint8]]]:
        made: dict[str, NDArray[np.uint8]] = {}

        def run(part: DevicePart, memory: Mapping[str, NDArray[np.uint8]]) -> None:
            for step in part.steps:
                match step:
                    case AllocStep():
                        nbytes = -(-step.nbytes // module.granule) * module.granule
                        made[step.buffer] = self.allocate(nbytes)
                    case FreeStep():
                        self.free(made.pop(step.buffer))
                    case PlannedLaunch():
                        names = (name for name, _ in step.buffers)
                        found = [made[n] if n in made else memory[n] for n in names]
                        self.launch(module, step, found)

        yield run

    def allocate(self, nbytes: int) -> NDArray[np.uint8]:
        return np.full(nbytes, 0xFF, np.uint8)

    def upload(self, memory: NDArray[np.uint8], host: NDArray[Any]) -> None:
        memory[: host.nbytes] = host.reshape(-1).view(np.uint8)

    def download(self, memory: NDArray[np.uint8], host: NDArray[Any]) -> None:
        host.reshape(-1).view(np.uint8)[:] = memory[: host.nbytes]

    def free(self, memory: NDArray[np.uint8]) -> None:
        pass

    def wait(self) -> None:
        pass

    def timed(self, work: Callable[[], None]) -> float:
        raise CudaUnavailable("an emulator on the CPU has no times of a GPU")


class _InProcess(HostMemory):
    def __init__(self, order: ThreadOrder, seed: int) -> None:
        self._order = order
        self._seed = seed

    def launch(
        self, module: CudaModule, launch: PlannedLaunch, memory: Sequence[NDArray[np.uint8]]
    ) -> None:
        library, kernel, arguments = _load(module), launch.kernel, launch.arguments(memory)
        # Each argument is the address of its value: of a buffer's address, or of a scalar.
        values = [
            np.array(each.ctypes.data if isinstance(each, np.ndarray) else each)
            for each in arguments
        ]
        places = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))
        nbytes = (ctypes.c_uint64 * len(arguments))(*(each.nbytes for each in arguments))
        message = ctypes.create_string_buffer(_MESSAGE_BYTES)
        with library.lock:
            ended = library.run(
                module.kernels.index(kernel),
                (ctypes.c_uint * 6)(*launch.grid, *kernel.block),
                kernel.dynamic_shared_bytes,
                ORDERS.index(self._order),
                self._seed,
                places,
                nbytes,
                message,
                _MESSAGE_BYTES,
            )
        if ended == _OUTSIDE:
            raise access_error(message.value.decode())
        if ended:
            raise DivergentBarrierError(message.value.decode())


class _Library:
    """A built text. Its launches share one set of stacks, so a lock guards them."""

    def __init__(self, path: Path) -> None:
        self.lock = threading.Lock()
        self.run = ctypes.CDLL(str(path)).shim_run
        self.run.argtypes = [
            ctypes.c_int,
            ctypes.POINTER(ctypes.c_uint),
            ctypes.c_uint,
            ctypes.c_int,
            ctypes.c_uint64,
            ctypes.POINTER(ctypes.c_void_p),
            ctypes.POINTER(ctypes.c_uint64),
            ctypes.c_char_p,
            ctypes.c_size_t,
        ]
        self.run.restype = ctypes.c_int


@lru_cache(maxsize=256)
def _load(module: CudaModule) -> _Library:
    with tempfile.TemporaryDirectory() as folder:  # the loaded library outlives its file
        return _Library(build(library_text(module), Path(folder), _FLAGS))
