"""Runs a measurement in a process of its own: on one core, with a limit of time and of memory.

The process is a copy of this one, so modules are loaded and nothing of the measured pipeline is
cached.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

MEMORY = 4 << 30
"""Bytes of address space of a measurement."""

Found: TypeAlias = dict[str, Any]
"""What a measurement finds, as JSON's types. Instead, ``timed_out_s`` is the limit that it reached,
or ``error`` is the beginning of the message that ended it.
"""

_LONGEST = 120


def limited(call: Callable[[], Mapping[str, Any]], seconds: float) -> Found:
    """What ``call`` returns, with ``s``, its seconds of processor time if it gives none; after
    ``seconds`` it is killed.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(call, sender))
    process.start()
    sender.close()
    try:
        found: Found = receiver.recv() if receiver.poll(seconds) else {"timed_out_s": seconds}
    except EOFError:
        found = {"error": "the process ended without an answer"}
    process.kill()
    process.join()
    return found


def is_failed(found: Mapping[str, Any]) -> bool:
    """Whether a measurement has no result."""
    return "timed_out_s" in found or "error" in found


def _answer(call: Callable[[], Mapping[str, Any]], sender: Connection) -> None:
    """Sends what a call returns, or why it returns nothing."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # To look through what the parent has made would copy its memory, page by page.
    gc.freeze()
    start = time.process_time()
    try:
        found = dict(call())
    except Exception as error:
        head = str(error).partition("\n")[0][:_LONGEST]
        sender.send({"error": f"{type(error).__name__}: {head}".rstrip(": ")})
        return
    sender.send({"s": time.process_time() - start, **found})
