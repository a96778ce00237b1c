"""Processes that have collected the tests of a workshop and run some of them on demand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from attrs import field, frozen

from tests.mutants.bug import Bug
from tests.mutants.server import ANSWERS, REQUESTS
from tests.mutants.workshop import Run, Workshop

_ALONE = 300.0
"""Seconds in which a test ends that is run alone."""


@frozen
class Collected:
    """A process in which the tests of ``workshop`` are collected; each run is one of its forks.

    Attributes:
        workshop: the copy of the code.
        tests: the names of all tests, in their order.
    """

    workshop: Workshop
    tests: tuple[str, ...]
    _ran_before: frozenset[tuple[str, str]]
    _folder: Path
    _requests: IO[str]
    _answers: IO[str]
    _passing: dict[str, bool] = field(factory=dict)

    def run(self, tests: Sequence[str], seconds: float, bug: Bug | None = None) -> Run:
        """Run tests up to the first that fails, for at most ``seconds`` of processor time, with a
        bug in the code.

        The run ends as "not planted" where the bug is not one inside of a function.
        """
        planted = {}
        if bug is not None:
            path = str(self.workshop.root / bug.definition.imported_path)
            name = bug.definition.name
            planted = {"path": path, "name": name, "text": bug.text}
        return self._asked(tests, seconds, **planted)[0]

    def ran_before(self, bug: Bug) -> bool:
        """Whether the function with a bug ran before any test: what it gave then is kept."""
        path = str(self.workshop.root / bug.definition.imported_path)
        return (path, bug.definition.name) in self._ran_before

    def passes(self, test: str) -> bool:
        """Whether a test passes while no bug is in the code."""
        if test not in self._passing:
            self._passing[test] = self.run([test], _ALONE).end == "passed"
        return self._passing[test]

    def note(self, tests: Sequence[str], seconds: float, covered: Path) -> dict[str, float]:
        """Run tests, note in a file the lines that each of them runs, and return their seconds.

        Where ``seconds`` of processor time do not suffice, there is no file.
        """
        return self._asked(tests, seconds, covered=str(covered))[1]

    def _asked(
        self, tests: Sequence[str], seconds: float, **more: str
    ) -> tuple[Run, dict[str, float]]:
        record = self._folder / "tests_that_ran"
        request = {"tests": list(tests), "seconds": seconds, "record": str(record), **more}
        self._requests.write(json.dumps(request) + "\n")
        self._requests.flush()
        answer = _line(self._answers)
        ran = [line.split(" ", 1) for line in answer["ran"]]
        starts = [*(float(start) for start, _ in ran), answer["seconds"]]
        taken = {
            name: after - start
            for (_, name), (start, after) in zip(ran, pairwise(starts), strict=True)
        }
        end = answer["end"]
        last = ran[-1][1] if ran and end != "passed" else ""
        return Run(end, last, answer["seconds"], ""), taken


@contextmanager
def collected(workshop: Workshop, *tests: str) -> Iterator[Collected]:
    """The tests below some folders or files of a workshop, collected; options of pytest may follow.

    Raises:
        RuntimeError: they can't be.
    """
    asked, requests = os.pipe()
    answers, answered = os.pipe()
    with (
        TemporaryDirectory(prefix="collected") as folder,
        os.fdopen(requests, "w") as to,
        os.fdopen(answers) as back,
        (Path(folder) / "log").open("wb") as sink,
        subprocess.Popen(
            [
                *(sys.executable, "-m", "pytest", "-q", "--capture=no", "-p", "no:cacheprovider"),
                *("-p", "tests.mutants.unshrunk", "-p", "tests.mutants.server", *tests),
            ],
            cwd=workshop.root,
            env={**workshop.environment, REQUESTS: str(asked), ANSWERS: str(answered)},
            pass_fds=(asked, answered),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        os.close(asked)
        os.close(answered)
        try:
            first = _line(back)
            ran_before = frozenset((path, name) for path, name in first["ran before"])
            yield Collected(workshop, tuple(first["tests"]), ran_before, Path(folder), to, back)
        except EOFError:
            text = (Path(folder) / "log").read_text("utf-8", "replace")[-2000:]
            raise RuntimeError(f"pytest ended before it was told to:\n{text}") from None
        finally:
            to.close()
            process.wait()


def _line(answers: IO[str]) -> Any:
    line = answers.readline()
    if not line:
        raise EOFError
    return json.loads(line)
