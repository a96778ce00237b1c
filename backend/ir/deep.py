"""Recursion as deep as statements nest: each Func stored at root adds a level.

Python limits how deep the calls of a thread may nest. All threads of a process share this limit, so
the library leaves it alone. Recursion that comes near to it continues in a new thread.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


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
