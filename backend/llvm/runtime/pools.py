"""Thread pools for generated code; their threads run only native code (see ``workers``).

The workers are native threads that know nothing of the interpreter: they never hold the GIL, and a
Python call that runs a pipeline releases it. They start at the first use of a pool's `address` and
sleep while there is no work. `close`, or the end of the process, joins them.

After a fork the child has no workers, as always with threads; the next use of `address` starts new
ones. Until then parallel loops run on their caller alone. A fork *inside* a parallel loop is not
supported: native loop bodies cannot fork, only callbacks into Python could.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
import weakref
from functools import cache
from types import TracebackType
from typing import Self

from spaces.backend.llvm.runtime.helpers import pool_code
from spaces.backend.llvm.runtime.jobs import LINE_BYTES, POOL_BYTES

_MAX_THREADS = 1024
"""More than the cores of any supported machine; a larger number is a mistake."""


_INIT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64)
_STOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@cache
def _pthreads() -> ctypes.CDLL:
    if os.name != "posix":
        raise NotImplementedError(
            "Compiled pipelines run their parallel loops on POSIX threads, so running them needs "
            "Linux or another POSIX system; enumerating and verifying schedules needs neither."
        )
    library = ctypes.CDLL(None)
    library.pthread_create.argtypes = [ctypes.c_void_p] * 4
    library.pthread_join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]
    library.pthread_key_create.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    return library


@cache
def _job_key() -> int:
    """The pthread key under which a thread finds the job it works on; all pools share it."""
    key = ctypes.c_uint64(0)
    if error := _pthreads().pthread_key_create(ctypes.byref(key), None):
        raise OSError(error, f"The thread pool got no thread-local slot: {os.strerror(error)}.")
    return key.value


def _aligned(memory: ctypes.Array[ctypes.c_char]) -> int:
    start = ctypes.addressof(memory)
    return start + -start % LINE_BYTES


_pools: weakref.WeakSet[ThreadPool] = weakref.WeakSet()


class ThreadPool:
    """A number of threads that share the iterations of parallel loops. A context manager.

    Several threads may run pipelines on one pool at once, and loops may nest.

    Attributes:
        threads: how many threads work on a loop, the calling one included; 1 has no workers.
    """

    def __init__(self, threads: int) -> None:
        """Make a pool of `threads` threads.

        Raises:
            ValueError: `threads` is not between 1 and 1024.
        """
        if type(threads) is not int or not 1 <= threads <= _MAX_THREADS:
            raise ValueError(
                f"A thread pool has between 1 and {_MAX_THREADS} threads, not {threads!r}."
            )
        self.threads = threads
        self._memory = ctypes.create_string_buffer(POOL_BYTES + LINE_BYTES)
        self._address = _aligned(self._memory)
        self._guard = threading.Lock()
        self._workers: list[int] = []
        self._closed = False
        code = pool_code()
        self._entry = code.address("spaces_worker")
        self._init = _INIT(code.address("spaces_pool_init"))
        self._stop = _STOP(code.address("spaces_pool_stop"))
        self._init(self._address, threads, _job_key())
        _pools.add(self)

    @property
    def address(self) -> int:
        """The pool's address for generated code. Its workers run.

        It is valid until `close` and as long as this object lives. The caller keeps the object
        alive while a pipeline runs.

        Raises:
            ValueError: the pool is closed.
            OSError: the system refuses to start a thread.
        """
        if len(self._workers) != self.threads - 1 or self._closed:
            self._start()
        return self._address

    def close(self) -> None:
        """Ends the workers and waits for them. Closing twice is fine.

        The callers of loops that still run finish them.
        """
        with self._guard:
            self._closed = True
            self._join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # Without this, workers would outlive the memory that they read.
        if getattr(self, "_workers", None):
            self.close()

    def _start(self) -> None:
        with self._guard:
            if self._closed:
                raise ValueError("The thread pool is closed; make another.")
            # Signals are for the interpreter: a worker must not receive them.
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            try:
                while len(self._workers) < self.threads - 1:
                    worker = ctypes.c_ulong()
                    error = _pthreads().pthread_create(
                        ctypes.byref(worker), None, self._entry, self._address
                    )
                    if error:
                        raise OSError(
                            error,
                            f"The system started {len(self._workers)} of the thread pool's "
                            f"{self.threads - 1} workers and no more: {os.strerror(error)}.",
                        )
                    self._workers.append(worker.value)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _join(self) -> None:
        workers, self._workers = self._workers, []
        if workers:
            self._stop(self._address)
        for worker in workers:
            _pthreads().pthread_join(worker, None)

    def _forget_parent(self) -> None:
        """Resets the pool in a forked child: no workers, and new locks, because a thread of the
        parent may have held the old ones.
        """
        self._guard = threading.Lock()
        self._workers = []
        self._init(self._address, self.threads, _job_key())


_first_use = threading.Lock()


@cache
def _shared_pool() -> ThreadPool:
    return ThreadPool(min(len(os.sched_getaffinity(0)), _MAX_THREADS))


def default_pool() -> ThreadPool:
    """The pool that pipelines share by default: a thread for each usable core.

    It lives as long as the process; leave it open.
    """
    with _first_use:
        return _shared_pool()


def _close_all() -> None:
    for pool in list(_pools):
        pool.close()


def _forget_parent() -> None:
    for pool in list(_pools):
        pool._forget_parent()


# This runs before the interpreter shuts down, but after the last Python thread has ended.
atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_parent)
