"""Thread pools for generated code, whose work runs in native code only (see ``workers``).

The workers are native threads which know nothing of the interpreter: they hold no lock of it, and
a Python call that runs a pipeline releases the GIL. They start when a pool's `address` is first
asked for, sleep while there is nothing to do, and are joined by `close`, or at exit.

After a fork the child has no workers, as always with threads; the next `address` starts new ones.
Until then parallel loops run on their caller alone. Forking *inside* a parallel loop is not
supported: native loop bodies cannot, only callbacks into Python could.
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

from backend.llvm.runtime.helpers import pool_code
from backend.llvm.runtime.jobs import LINE_BYTES, POOL_BYTES

_MAX_THREADS = 1024
"""More than any machine this runs on has cores; a larger number is a mistake."""


_INIT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64)
_STOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@cache
def _pthreads() -> ctypes.CDLL:
    library = ctypes.CDLL(None)
    library.pthread_create.argtypes = [ctypes.c_void_p] * 4
    library.pthread_join.argtypes = [ctypes.c_ulong, ctypes.c_void_p]
    library.pthread_key_create.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    return library


@cache
def _job_key() -> int:
    """The pthread key under which a thread finds the job it works on; one for all pools."""
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
        """The pool's address, to pass to generated code; its workers are running.

        Valid until `close` and as long as this object lives; the caller keeps it alive while a
        pipeline runs.

        Raises:
            ValueError: the pool is closed.
            OSError: the system refuses to start a thread.
        """
        if len(self._workers) != self.threads - 1 or self._closed:
            self._start()
        return self._address

    def close(self) -> None:
        """Send the workers home and wait for them. Closing twice is fine.

        Loops that still run are finished by their callers.
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
        # Without this, workers would outlive the memory they look at.
        if getattr(self, "_workers", None):
            self.close()

    def _start(self) -> None:
        with self._guard:
            if self._closed:
                raise ValueError("The thread pool is closed; make another.")
            # Signals are the interpreter's: a worker must not be the one that gets them.
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
        """In a forked child: no workers, and locks as new, whoever held them in the parent."""
        self._guard = threading.Lock()
        self._workers = []
        self._init(self._address, self.threads, _job_key())


_first_use = threading.Lock()


@cache
def _shared_pool() -> ThreadPool:
    return ThreadPool(min(len(os.sched_getaffinity(0)), _MAX_THREADS))


def default_pool() -> ThreadPool:
    """The pool that pipelines share when they are given none: a thread for each usable core.

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


# Before the interpreter is taken down, but after the last Python thread has ended.
atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_parent)
