"""Do the tests notice a planted bug?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate
from typing import Literal

from attrs import evolve, frozen

from tests.mutants.bug import Bug
from tests.mutants.collected import Collected
from tests.mutants.covering import Covering
from tests.mutants.workshop import Run

Fate = Literal["killed", "survived", "out of time", "not run"]

BUDGET = 30.0
"""Processor time of tests, the quickest first, that may be run for one bug."""

_ANEW = 10.0
"""The same, of tests that are run again in a process that imports the code with the bug."""

NOTICED = ("killed", "out of time")
"""Fates of bugs that tests notice: what never ends goes unnoticed by nobody."""


@frozen
class Trial:
    """What became of one bug.

    Attributes:
        fate: whether a test noticed it. Out of time: its tests took several times as much
            processor time as without it. Not run: no test runs its lines.
        by: the test that noticed it, or ran when the time was up.
        seconds: processor time.
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
    taken = 0.0
    while tests:
        run = _with_bug(server, bug, tests, covering)
        taken += run.seconds
        if _fate(run) != "killed" or server.passes(run.test):
            return Trial(bug, _fate(run), run.test, taken)
        tests = [test for test in tests if test != run.test]
    return Trial(bug, "not run", "", taken)


def _with_bug(server: Collected, bug: Bug, tests: Sequence[str], covering: Covering | None) -> Run:
    seconds = covering.seconds if covering else {}
    run = server.run(tests, 10.0 + 5.0 * _expected(tests, seconds), bug)
    passed_for_good = run.end == "passed" and not server.ran_before(bug)
    if passed_for_good or run.end not in ("not planted", "passed", "broken"):
        return run
    asked = tests if bug.tests else _quickest(tests, seconds, _ANEW)
    anew = server.workshop.with_bug(bug, asked, 30.0 + 5.0 * _expected(asked, seconds))
    return evolve(anew, seconds=run.seconds + anew.seconds)


def _expected(tests: Sequence[str], seconds: Mapping[str, float]) -> float:
    return sum(seconds.get(test, 1.0) for test in tests)


def _quickest(tests: Sequence[str], seconds: Mapping[str, float], budget: float) -> list[str]:
    """The first of some tests, in the order of their time, that take no more than ``budget``; one
    whatever it takes.
    """
    taken = accumulate(seconds.get(test, 1.0) for test in tests)
    after = zip(tests, taken, strict=True)
    return [test for n, (test, time) in enumerate(after) if not n or time <= budget]


def _chosen(server: Collected, bug: Bug, covering: Covering | None) -> Sequence[str]:
    """The tests to ask, the quickest first."""
    if bug.tests:
        named = [t for t in server.tests if t.partition("::")[0].endswith(bug.tests)]
        if covering is None:
            return named
        likely = set(covering.tests(bug))
        return sorted(named, key=lambda t: (t not in likely, covering.seconds.get(t, 1.0)))
    if covering is None:
        return []
    collected = set(server.tests)
    running = [test for test in covering.tests(bug) if test in collected]
    # One test runs the lines of a fixture or a cache, and others of its file look at the result.
    # Tests whose lines are not known come first: they are new.
    files = {test.partition("::")[0] for test in running}
    if not files and server.ran_before(bug):
        return _quickest(_one_of_each_file(covering, collected), covering.seconds, _ANEW)
    seconds = covering.seconds
    beside = {test for test in collected - set(running) if test.partition("::")[0] in files}
    new = sorted(beside - seconds.keys())
    others = sorted(beside & seconds.keys(), key=lambda test: (seconds[test], test))
    return _quickest([*new, *running, *others], seconds, BUDGET)


def _one_of_each_file(covering: Covering, collected: AbstractSet[str]) -> list[str]:
    """The quickest test of each file, for what only runs when it is imported: any may notice it."""
    tests = sorted(collected & covering.seconds.keys(), key=covering.seconds.__getitem__)
    return list({test.partition("::")[0]: test for test in reversed(tests)}.values())[::-1]


def _fate(run: Run) -> Fate:
    match run.end:
        case "passed":
            return "survived"
        case "out of time":
            return "out of time"
    return "killed"
