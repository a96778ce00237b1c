"""The native helpers that generated code calls, compiled once for this process.

Generated modules declare::

    declare i32 @spaces_par_for(ptr pool, ptr fn, i32 min, i32 extent, ptr closure)
    declare noalias ptr @spaces_malloc(i64 bytes)
    declare void @spaces_free(ptr block)
    declare i32 @spaces_recall(ptr key, i64 words, ptr arrays, ptr sizes, i64 count)
    declare void @spaces_keep(ptr key, i64 words, ptr arrays, ptr sizes, i64 count)

and link with `runtime_symbols`. ``workers``, ``scratch`` and ``memo`` say what the functions
promise.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from spaces.backend.llvm.runtime.blocks import I32, I64, POINTER, VOID
from spaces.backend.llvm.runtime.memo import MEMO, memo_module
from spaces.backend.llvm.runtime.scratch import KEPT_BYTES, scratch_module
from spaces.backend.llvm.runtime.workers import pool_module
from spaces.machine_code import CompiledModule, compile_module, host_target, object_of

FUNCTIONS: Mapping[str, tuple[Any, ...]] = {
    "par_for": (I32, POINTER, POINTER, I32, I32, POINTER),
    "malloc": (POINTER, I64),
    "free": (VOID, POINTER),
    **MEMO,
}
"""The functions that generated code calls, by names without ``spaces_``: what each returns and
takes.
"""

KEPT_SHARE = 1 / 8
"""This process keeps at most this part of the memory of the machine as scratch memory, or
:data:`KEPT_BYTES` if that is more. A run that needs more touches all of it anew.
"""

CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")
"""Where Linux tells how much memory a container may have."""

_first_use = threading.Lock()
"""Held while compiling: two threads must not compile two copies, because one of them would soon be
unloaded.
"""


def _architecture() -> str:
    return host_target().triple.partition("-")[0]


@cache
def _compile_pool() -> CompiledModule:
    return compile_module(pool_module(_architecture()))


@cache
def _compile_scratch() -> CompiledModule:
    return _locked_at_forks(compile_module(scratch_module(kept_limit())), "scratch")


@cache
def _compile_memo() -> CompiledModule:
    return _locked_at_forks(compile_module(memo_module()), "memo")


def _locked_at_forks(code: CompiledModule, name: str) -> CompiledModule:
    """If a process forks while another thread changes a list, the child gets a locked, broken
    list.
    """
    procedure = ctypes.CFUNCTYPE(None)
    lock = procedure(code.address(f"spaces_{name}_lock"))
    unlock = procedure(code.address(f"spaces_{name}_unlock"))
    os.register_at_fork(before=lock, after_in_parent=unlock, after_in_child=unlock)
    return code


def pool_code() -> CompiledModule:
    """The thread pool's functions (see ``workers``). The first call compiles them, and they stay
    for ever.
    """
    with _first_use:
        return _compile_pool()


def scratch_code() -> CompiledModule:
    """The scratch memory's functions (see ``scratch``). The first call compiles them, and they stay
    for ever.
    """
    with _first_use:
        return _compile_scratch()


def memo_code() -> CompiledModule:
    """The functions that keep values of memoized Funcs (see ``memo``). The first call compiles
    them, and they stay for ever.
    """
    with _first_use:
        return _compile_memo()


class _Symbols(Mapping[str, int]):
    """The addresses of functions; the first use of one compiles its module."""

    _modules: ClassVar[Mapping[str, Callable[[], CompiledModule]]] = {
        "par_for": pool_code,
        **dict.fromkeys(("malloc", "free"), scratch_code),
        **dict.fromkeys(MEMO, memo_code),
    }

    def __getitem__(self, name: str) -> int:
        if name not in self:
            raise KeyError(name)
        return self._modules[name.removeprefix("spaces_")]().address(name)

    def __contains__(self, name: object) -> bool:
        return name in [*self]

    def __iter__(self) -> Iterator[str]:
        return (f"spaces_{name}" for name in FUNCTIONS)

    def __len__(self) -> int:
        return len(FUNCTIONS)


def runtime_symbols() -> Mapping[str, int]:
    """Addresses of the functions that generated code may call, by name, valid for ever."""
    return _Symbols()


def kept_limit() -> int:
    """The most bytes of freed scratch memory that the process keeps."""
    return max(KEPT_BYTES, int(KEPT_SHARE * _memory_bytes()))


def _memory_bytes() -> int:
    """The memory of the machine, or of the container in which this process runs; 0 where the
    system does not tell.
    """
    try:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
    try:
        limit = CONTAINER_LIMIT.read_text().strip()
    except OSError:
        return machine
    return min(machine, int(limit)) if limit.isdigit() else machine  # "max" is no limit


def scratch_bytes() -> int:
    """The bytes of freed scratch memory that the process keeps for the next run."""
    kept: int = ctypes.CFUNCTYPE(ctypes.c_int64)(scratch_code().address("spaces_scratch_bytes"))()
    return kept


def release_scratch() -> None:
    """Gives the kept scratch memory back to the C library. Running pipelines continue
    undisturbed.
    """
    ctypes.CFUNCTYPE(None)(scratch_code().address("spaces_scratch_release"))()


def memo_bytes() -> int:
    """The bytes of values of memoized Funcs that the process keeps."""
    return _memo_number(0)


def memo_recalls() -> tuple[int, int]:
    """How often values of memoized Funcs were found, and how often they were computed."""
    return _memo_number(1), _memo_number(2)


def _memo_number(which: int) -> int:
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    number: int = function(memo_code().address("spaces_memo_number"))(which)
    return number


def release_memo() -> None:
    """Drops all kept values of memoized Funcs. Running pipelines continue undisturbed."""
    ctypes.CFUNCTYPE(None)(memo_code().address("spaces_memo_release"))()


def runtime_object() -> bytes:
    """The helpers as a relocatable object file; link it with the object files of pipelines."""
    return object_of(pool_module(_architecture()), scratch_module(), memo_module())
