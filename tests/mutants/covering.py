"""Which tests run which lines, noted once and kept until it is made again."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
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
_PART = 100
"""Tests whose lines are noted before what is known is written."""

_SECONDS = 900.0
"""Time for a part."""


@frozen
class Covering:
    """The tests that run each line, as they were at a commit.

    Attributes:
        commit: whose lines they are.
        seconds: how long each test takes.
    """

    commit: str
    seconds: dict[str, float]
    _data: coverage.CoverageData = field(eq=False, repr=False)

    @staticmethod
    def kept(folder: Path = FOLDER) -> Covering | None:
        """What is known; None if nothing is."""
        if not (folder / "seconds.json").exists():
            return None
        known = json.loads((folder / "seconds.json").read_text("utf-8"))
        data = coverage.CoverageData(str(folder / "lines"))
        data.read()
        return Covering(known["commit"], known["seconds"], data)

    def tests(self, bug: Bug) -> list[str]:
        """The tests that run the lines of a bug, the quickest first.

        Where the definition is not what it was, all tests that ran any of its lines; none where it
        is new.
        """
        before = definition_at(self.commit, bug.definition)
        if before is None:
            return []
        first = before.first_line
        if meaning(before.node) == meaning(bug.definition.node):
            moved = bug.definition.first_line - first
            lines: Iterable[int] = (line - moved for line in bug.lines)
        else:
            lines = range(before.node.lineno + 1, (before.node.end_lineno or 0) + 1)
        by_line = self._of_file(before.path)
        found = {test for line in lines for test in by_line.get(line, ())}
        return sorted(found & self.seconds.keys(), key=self.seconds.__getitem__)

    def _of_file(self, path: str) -> dict[int, list[str]]:
        return _lines(self._data, path)


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

    Each part is written when it is noted; the next call goes on there. ``advance`` hears how many
    tests have been noted since.
    """
    folder.mkdir(parents=True, exist_ok=True)
    commit = servers[0].workshop.commit
    known = Covering.kept(folder)
    seconds = dict(known.seconds) if known else {}
    data = coverage.CoverageData(str(folder / "lines"))
    data.read()
    left = [test for test in tests if test not in seconds]
    advance(len(tests) - len(left))
    parts = [left[start : start + _PART] for start in range(0, len(left), _PART)]
    free: SimpleQueue[Collected] = SimpleQueue()
    for server in servers:
        free.put(server)

    def one(part: list[str]) -> tuple[Path, dict[str, float]]:
        server = free.get()
        try:
            lines = server.workshop.root / f"lines_of_{part[0].__hash__()}"
            return lines, server.note(part, _SECONDS, lines)
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
            seconds |= {test: round(time, 4) for test, time in taken.items()}
            made = {"commit": known.commit if known else commit, "seconds": seconds}
            write_text(folder / "seconds.json", json.dumps(made))
            advance(len(taken))
    found = Covering.kept(folder)
    assert found is not None
    return found
