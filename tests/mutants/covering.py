"""Which tests run which lines, noted once and kept until it is made again."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache, cached_property
from pathlib import Path
from queue import SimpleQueue

import coverage
from attrs import field, frozen

from spaces.apps.files import write_text
from tests.mutants.bug import Bug, meaning
from tests.mutants.collected import Collected
from tests.mutants.definitions import Definition, in_text
from tests.mutants.workshop import ROOT

FOLDER = ROOT / "build" / "mutants"
_PART = 50
"""Tests whose lines are noted before what is known is written."""

_SECONDS = 300.0
"""Processor time for a part."""


@frozen
class Covering:
    """The tests that run each line.

    Attributes:
        noted: the processor time of each test in seconds, by the commit with whose code its lines
            were noted.
    """

    noted: Mapping[str, Mapping[str, float]]
    _data: coverage.CoverageData = field(eq=False, repr=False)

    @staticmethod
    def kept(folder: Path = FOLDER) -> Covering | None:
        """What is known; None if nothing is."""
        if not (folder / "seconds.json").exists():
            return None
        noted = json.loads((folder / "seconds.json").read_text("utf-8"))
        data = coverage.CoverageData(str(folder / "lines"))
        data.read()
        return Covering(noted, data)

    @cached_property
    def seconds(self) -> dict[str, float]:
        """How long each test takes."""
        return {test: time for tests in self.noted.values() for test, time in tests.items()}

    def tests(self, bug: Bug) -> list[str]:
        """The tests that run the lines of a bug, the quickest first.

        Where the definition is not what it was, all tests that ran any of its lines; none where it
        is new.
        """
        found = {test for commit in self.noted for test in self._at(commit, bug)}
        return sorted(found, key=self.seconds.__getitem__)

    def _at(self, commit: str, bug: Bug) -> Iterator[str]:
        """Those of them whose lines are those of a commit."""
        before = definition_at(commit, bug.definition)
        if before is None:
            return
        if meaning(before.node) == meaning(bug.definition.node):
            moved = bug.definition.first_line - before.first_line
            lines: Iterable[int] = (line - moved for line in bug.lines)
        else:
            lines = range(before.node.lineno + 1, (before.node.end_lineno or 0) + 1)
        by_line = _lines(self._data, before.path)
        for line in lines:
            yield from (test for test in by_line.get(line, ()) if test in self.noted[commit])


@cache
def _lines(data: coverage.CoverageData, path: str) -> dict[int, list[str]]:
    return data.contexts_by_lineno(path)


@cache
def _definition_texts(commit: str, path: str) -> dict[str, list[Definition]]:
    shown = subprocess.run(
        ["git", "show", f"{commit}:{path}"], cwd=ROOT, capture_output=True, check=False
    )
    found = defaultdict(list)
    for one in in_text(path, shown.stdout.decode() if shown.returncode == 0 else ""):
        found[one.name].append(one)
    return found


def definition_at(commit: str, now: Definition) -> Definition | None:
    """What a definition was at a commit; None if it was not there."""
    found = _definition_texts(commit, now.path).get(now.name, [])
    same = [d for d in found if meaning(d.node) == meaning(now.node)]
    return next(iter([*same, *found]), None)


def tests_below(places: Sequence[str], tests: Iterable[str]) -> list[str]:
    """The tests below some files or folders; all tests if there is no place."""
    return [
        test
        for test in tests
        if not places or any(Path(test.partition("::")[0]).is_relative_to(p) for p in places)
    ]


def note(
    servers: Sequence[Collected],
    tests: Sequence[str],
    advance: Callable[[int], None],
    folder: Path = FOLDER,
) -> Covering:
    """Note the lines of those tests that no run before has noted, with several processes at a time.

    Each part is written when it is noted; the next call goes on there, whatever the code is then.
    ``advance`` hears how many tests have been noted since.
    """
    folder.mkdir(parents=True, exist_ok=True)
    commit = servers[0].workshop.commit
    known = Covering.kept(folder)
    noted = {name: dict(seconds) for name, seconds in known.noted.items()} if known else {}
    data = coverage.CoverageData(str(folder / "lines"))
    data.read()
    left = [test for test in tests if known is None or test not in known.seconds]
    advance(len(tests) - len(left))
    parts = [left[start : start + _PART] for start in range(0, len(left), _PART)]
    free: SimpleQueue[Collected] = SimpleQueue()
    for server in servers:
        free.put(server)

    def one(part: list[str]) -> tuple[Path, dict[str, float]]:
        server = free.get()
        try:
            return _part(server, part)
        finally:
            free.put(server)

    with ThreadPoolExecutor(len(servers)) as pool:
        for future in as_completed([pool.submit(one, part) for part in parts]):
            lines, taken = future.result()
            if lines.exists():
                part_data = coverage.CoverageData(str(lines))
                part_data.read()
                data.update(part_data)
                lines.unlink()
            noted.setdefault(commit, {}).update(
                {test: round(time, 4) for test, time in taken.items()}
            )
            write_text(folder / "seconds.json", json.dumps(noted))
            advance(len(taken))
    return Covering(noted, data)


def _part(server: Collected, tests: list[str]) -> tuple[Path, dict[str, float]]:
    """The lines of some tests, in a file, and their seconds. A test that takes too long counts as
    one that runs no line.
    """
    lines = server.workshop.root / f"lines_of_{tests[0].__hash__()}"
    taken = server.note(tests, _SECONDS, lines)
    slow: dict[str, float] = {}
    while taken and not lines.exists():
        slowest = max(taken, key=taken.__getitem__)
        slow[slowest] = taken[slowest]
        taken = server.note([test for test in tests if test not in slow], _SECONDS, lines)
    return lines, taken | slow
