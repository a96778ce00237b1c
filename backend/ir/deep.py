"""Recursion as deep as statements nest: storage at root nests a level for each Func.

Python limits how deep the calls of a thread may nest, and the limit is one for the whole process.
So it stays as it is, and recursion that comes near to it goes on in a thread of its own.
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
    """``function(*args, **kw)``; where half of the calls that may nest in this thread do so, it is
    called in a new thread, which this one waits for.
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
