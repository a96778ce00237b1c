"""Recursion as deep as formulas and statements nest: each Func stored at root adds a level.

Python limits how deep the calls of a thread may nest. All threads of a process share this limit, so
the library leaves it alone. Recursion that comes near to it continues in a new thread.

Python keeps the frames of a thread's calls in chunks of 16 KB, about a hundred calls each. A call
that does not fit into the last chunk maps a new one, and its return unmaps it. Recursion that goes
back and forth across such a border takes up to three times as long. Which recursion does, depends
on how deep the caller is. A call that needs a large frame gets a chunk as large, and all calls
inside it share that chunk.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import wraps
from threading import Thread
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

_FRAME_WORDS = 1 << 16
"""Words in the frame of a function with one chunk for its calls. The chunk is then 1 MB, and half
of it is left: enough for the thousand calls that Python lets nest.
"""


def in_one_chunk(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Decorates a function so that the frames of all calls inside it are in one chunk. It takes the
    same time however deep its caller is.
    """

    def call(*args: _Given.args, **kw: _Given.kwargs) -> _Result:
        return function(*args, **kw)

    call.__code__ = call.__code__.replace(co_stacksize=_FRAME_WORDS)
    return wraps(function)(call)


_Record = TypeVar("_Record", bound=type)


def nesting(record: _Record) -> _Record:
    """Decorates a class of records that nest as deep as a pipeline has Funcs: their text, their
    comparison and their hash go on in a new thread where calls nest deep.
    """
    for name in ("__repr__", "__eq__", "__hash__"):
        setattr(record, name, _continued(record.__dict__[name]))
    return record


def _continued(method: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    def call(*args: _Given.args, **kw: _Given.kwargs) -> _Result:
        return deeper(method, *args, **kw)

    return wraps(method)(call)


def deeper(function: Callable[_Given, _Result], *args: _Given.args, **kw: _Given.kwargs) -> _Result:
    """Returns ``function(*args, **kw)``.

    Where the calls of this thread already nest half as deep as they may, a new thread calls the
    function, and this thread waits for it.
    """
    try:
        sys._getframe(sys.getrecursionlimit() // 2)
    except ValueError:  # the stack is not that deep
        return function(*args, **kw)
    outcome: Future[_Result] = Future()

    def call() -> None:
        try:
            outcome.set_result(function(*args, **kw))
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=copy_context().run, args=(call,), daemon=True).start()
    return outcome.result()
