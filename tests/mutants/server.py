"""A plugin for pytest that collects the tests once, and then runs some of them, again and again,
each time in a process of its own whose code has another change.

It reads requests and writes answers as lines of JSON, through the two pipes whose numbers stand in
the environment. A process that is forked from one that has imported and collected everything
starts in milliseconds.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import IO, Any

import coverage
import pytest

from tests.mutants.definitions import ROOMS
from tests.mutants.watching import own_seconds, watched

REQUESTS, ANSWERS = "MUTANTS_REQUESTS", "MUTANTS_ANSWERS"
"""Environment variables: the numbers of the pipes."""


_RAN_BEFORE: set[CodeType] = set()
"""What ran while modules were imported and tests collected."""


class NotPlantedError(Exception):
    """A change that needs modules to be imported again."""


def pytest_runtestloop(session: pytest.Session) -> bool:
    """In place of running all tests: do what is asked for until nobody asks."""
    sys.settrace(None)
    # Collecting froze what there is; functions in frozen generations are not listed.
    gc.unfreeze()
    items = {item.nodeid: item for item in session.items}
    with (
        os.fdopen(int(os.environ.pop(REQUESTS))) as requests,
        os.fdopen(int(os.environ.pop(ANSWERS)), "w") as answers,
    ):
        ran_before = [(code.co_filename, code.co_qualname) for code in _RAN_BEFORE]
        _answer(answers, {"tests": list(items), "ran before": ran_before})
        for line in requests:
            request = json.loads(line)
            chosen = [items[name] for name in request["tests"] if name in items]
            _answer(answers, _run(chosen, request))
    return True


def pytest_unconfigure() -> None:
    """Where no tests were collected, nothing else ends the tracing."""
    sys.settrace(None)


def _answer(answers: IO[str], answer: object) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _run(items: Sequence[pytest.Item], request: dict[str, Any]) -> dict[str, Any]:
    """Fork, plant, run up to the first test that fails; how it ended, and at which test."""
    record = Path(request["record"])
    record.write_text("")
    pid = os.fork()
    if pid == 0:
        _child(items, request, record)
    ended = watched(pid, request["seconds"])
    end = ended.stopped or _ENDS[ended.code]
    return {"end": end, "ran": record.read_text().splitlines(), "seconds": ended.seconds}


_ENDS: dict[int | None, str] = {0: "passed", 1: "failed", 3: "not planted", 4: "broken"}


def _child(items: Sequence[pytest.Item], request: dict[str, Any], record: Path) -> None:
    """Never returns. Exits with 0 where all tests pass, 1 where one fails, 3 where the change needs
    another way.
    """
    code = 4
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        sink = os.open(os.devnull, os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if "text" in request:
            plant(request["path"], request["name"], request["text"])
        # Whatever the tests do not make is garbage to nobody, and costs time to look through.
        gc.freeze()
        code = _first_failure(items, record, request.get("covered"))
    except NotPlantedError:
        code = 3
    finally:
        os._exit(code)


def plant(path: str, name: str, text: str) -> None:
    """Every function that is called ``name`` in the file at ``path`` gets the code that it has in
    ``text``, in this process.

    Raises:
        NotPlantedError: there is no such function, or it uses other names of those around it.
    """
    codes = _codes(compile(text, path, "exec"), name)
    # Garbage may die while it is looked through.
    found = [f for f in gc.get_objects() if type(f) is FunctionType]
    found = [f for f in found if f.__code__.co_filename == path and f.__code__.co_qualname == name]
    if len(codes) != 1 or not found:
        raise NotPlantedError
    for function in found:
        try:
            function.__code__ = codes[0]
        except ValueError:
            raise NotPlantedError from None


def _codes(code: CodeType, name: str) -> list[CodeType]:
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    return [
        found
        for one in inner
        for found in ([one] if one.co_qualname == name else _codes(one, name))
    ]


def _first_failure(items: Sequence[pytest.Item], record: Path, covered: str | None) -> int:
    """1 where a test fails, else 0. Each test stands in ``record``, with the processor time so far,
    before it runs.

    Where lines are noted, in the file ``covered``, all tests run, whatever fails.
    """
    failures: list[pytest.TestReport] = []

    class Listening:
        @staticmethod
        def pytest_runtest_logreport(report: pytest.TestReport) -> None:
            if report.failed:
                failures.append(report)

    if items:
        items[0].config.pluginmanager.register(Listening())
    with record.open("a") as lines, noted(covered) as enter:
        for item, following in zip(items, (*items[1:], None), strict=True):
            lines.write(f"{own_seconds():.4f} {item.nodeid}\n")
            lines.flush()
            enter(item.nodeid)
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if failures and covered is None:
                return 1
    return 0


@contextmanager
def noted(covered: str | None) -> Iterator[Callable[[str], object]]:
    """Note the lines that run, by the test that was entered last; nothing without a file."""
    if covered is None:
        yield lambda test: None
        return
    measured = coverage.Coverage(
        data_file=covered, source=list(ROOMS), omit=["tests/*"], config_file=False
    )
    measured.set_option("run:relative_files", True)
    measured.start()
    try:
        yield measured.switch_context
    finally:
        measured.stop()
        measured.save()


def _note_call(frame: FrameType, event: str, argument: object) -> None:
    _RAN_BEFORE.add(frame.f_code)


if REQUESTS in os.environ:
    sys.settrace(_note_call)
