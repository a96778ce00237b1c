"""Do the tests notice a planted bug?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from time import monotonic
from typing import Literal

from attrs import frozen

from tests.mutants.bug import Bug
from tests.mutants.collected import Collected
from tests.mutants.covering import Covering
from tests.mutants.workshop import Run

Fate = Literal["killed", "survived", "out of time", "not run"]

BUDGET = 30.0
"""Seconds of tests, the quickest first, that may be run for one bug."""


@frozen
class Trial:
    """What became of one bug.

    Attributes:
        fate: whether a test noticed it. Out of time: its tests took several times as long as
            without it, which a loop without an end does, and a busy machine. Not run: no test runs
            its lines.
        by: the test that noticed it, or ran when the time was up.
        seconds: how long it took.
    """

    bug: Bug
    fate: Fate
    by: str
    seconds: float


def attempt(server: Collected, bug: Bug, covering: Covering | None) -> Trial:
    """Plant a bug and run tests up to the first that notices it.

    A test that fails without the bug, too, notices nothing; it is left out.
    """
    tests = _chosen(server, bug, covering)
    started = monotonic()
    while tests:
        run = _with_bug(server, bug, tests, covering)
        if _fate(run) != "killed" or server.passes(run.test):
            return Trial(bug, _fate(run), run.test, monotonic() - started)
        tests = [test for test in tests if test != run.test]
    return Trial(bug, "not run", "", monotonic() - started)


def _with_bug(server: Collected, bug: Bug, tests: Sequence[str], covering: Covering | None) -> Run:
    expected = sum(covering.seconds.get(test, 1.0) for test in tests) if covering else BUDGET
    run = server.run(tests, 10.0 + 5.0 * expected, bug)
    if run.end in ("not planted", "passed", "broken"):
        # Some code ran when it was imported, or runs in processes that tests start.
        run = server.workshop.with_bug(bug, tests, 30.0 + 5.0 * expected)
    return run


def _chosen(server: Collected, bug: Bug, covering: Covering | None) -> Sequence[str]:
    """The tests to ask, the quickest first."""
    if bug.tests:
        named = [t for t in server.tests if t.partition("::")[0].endswith(bug.tests)]
        if covering is None:
            return named
        running = set(covering.tests(bug))
        return sorted(named, key=lambda t: (t not in running, covering.seconds.get(t, 1.0)))
    if covering is None:
        return []
    tests = [test for test in covering.tests(bug) if test in set(server.tests)]
    taken = accumulate(covering.seconds[test] for test in tests)
    # The first is asked whatever it takes.
    return [
        t for n, (t, after) in enumerate(zip(tests, taken, strict=True)) if not n or after <= BUDGET
    ]


def _fate(run: Run) -> Fate:
    match run.end:
        case "passed":
            return "survived"
        case "out of time":
            return "out of time"
    return "killed"
