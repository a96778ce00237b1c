"""Messages between the process that measures and its workers, over a socket.

A request is pickled: it comes from the process that measures. An answer comes from a process that
ran code of candidates, which may write anything to its socket. So an answer is one short line of
JSON, which is read within a time limit and checked.
"""

from __future__ import annotations

import json
import pickle
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from spaces.backend.measuring.task import RunAnswer
from spaces.cost.measurer import RunOutcome

LONGEST = 1 << 16
"""The most bytes of an answer."""

MOST_SECONDS = 86_400.0
"""No run and no compilation takes longer."""

REASON = 2000
"""The most characters of a reason."""

_LOOK = 0.5
"""Seconds between two looks at whether a silent process is gone."""

_LENGTH = struct.Struct("!Q")


class NoAnswer(ValueError):
    """A worker wrote something that is no answer; ``str`` gives a sentence."""


def send_request(to: socket.socket, request: object, seconds: float) -> None:
    """Sends a request.

    Raises:
        TimeoutError: the other process does not read it in time.
        OSError: the other process is gone.
    """
    written = pickle.dumps(request, pickle.HIGHEST_PROTOCOL)
    to.settimeout(max(seconds, 1e-3))
    to.sendall(_LENGTH.pack(len(written)))
    to.sendall(written)


def receive_request(source: socket.socket) -> Any:
    """The next request.

    Raises:
        EOFError: there are no more.
    """
    (length,) = _LENGTH.unpack(_receive_exactly(source, _LENGTH.size))
    return pickle.loads(_receive_exactly(source, length))


def _receive_exactly(source: socket.socket, length: int) -> bytearray:
    read = bytearray(length)
    space = memoryview(read)
    while space:
        count = source.recv_into(space)
        if not count:
            raise EOFError
        space = space[count:]
    return read


def send_answer(to: socket.socket, answer: RunAnswer) -> None:
    """Sends an answer."""
    told = {
        "outcome": str(answer.outcome),
        "reason": answer.reason[:REASON],
        "seconds": float(answer.seconds),
        "metrics": dict(answer.metrics),
    }
    to.sendall(json.dumps(told).encode() + b"\n")


def receive_line(source: socket.socket, end: float, is_gone: Callable[[], bool]) -> bytes:
    """The bytes up to a newline, without it.

    Args:
        source: the socket.
        end: the moment of ``time.monotonic()`` up to which this function waits.
        is_gone: whether the other process ended. A process that it started may keep the socket
            open, so this function asks now and then.

    Raises:
        TimeoutError: they do not come in time.
        EOFError: the other process closed its end before, or is gone.
        NoAnswer: the line is too long, or more follows it.
    """
    read = bytearray()
    while not read.endswith(b"\n"):
        left = end - time.monotonic()
        source.settimeout(max(min(left, _LOOK), 1e-3))
        try:
            more = source.recv(LONGEST)
        except TimeoutError:
            if is_gone():
                raise EOFError from None
            if left <= 0:
                raise
            continue
        if not more:
            raise EOFError
        read += more
        if len(read) > LONGEST or b"\n" in read[:-1]:
            raise NoAnswer(f"It wrote what is no answer: {_beginning(bytes(read))}.")
    return bytes(read[:-1])


def answer_of(line: bytes, *, is_run: bool) -> RunAnswer:
    """The answer in a line. Characters of its reason that are no Unicode text are written as
    escapes.

    Args:
        line: the bytes that a worker wrote.
        is_run: whether the answer tells the time of a run, which is more than zero.

    Raises:
        NoAnswer: the line is no answer, or its time is no time.
    """
    try:
        match json.loads(line):
            case {
                "outcome": str(outcome),
                "reason": str(reason),
                "seconds": float(seconds),
                **more,
            }:
                metrics = _metrics(more.get("metrics", {}))
                reason = _as_text(reason[:REASON])
                answer = RunAnswer(RunOutcome(outcome), reason, seconds, metrics)
            case _:
                raise ValueError
    except (ValueError, RecursionError):
        raise NoAnswer(f"It wrote what is no answer: {_beginning(line)}.") from None
    least = 0.0 < seconds if is_run and answer.outcome is RunOutcome.CORRECT else 0.0 <= seconds
    if not (least and seconds <= MOST_SECONDS):
        raise NoAnswer(
            f"It gave {seconds:g} s as a time; a time is more than zero and at most a day."
        )
    return answer


def _metrics(told: object) -> tuple[tuple[str, float], ...]:
    """Raises:
    ValueError: these are no metrics.
    """
    if not isinstance(told, dict) or not all(isinstance(one, float) for one in told.values()):
        raise ValueError
    return tuple((_as_text(name), value) for name, value in told.items())


def _beginning(written: bytes) -> str:
    return repr(written[:40]) + (" ..." if len(written) > 40 else "")


def _as_text(reason: str) -> str:
    return reason.encode(errors="backslashreplace").decode()
