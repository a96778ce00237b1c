"""Many cases in processes with limits: what takes too long or too much memory is a finding, and not
the end of the run.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from tests.text_fuzz.check import Case, check, draw_case, told_error
from tests.text_fuzz.seeds import certificates, documents, pipeline_of, schedules

FAMILIES = ("text", "json")
"""Texts, most of them schedules, and JSON documents."""

SECONDS = 1.0
"""Of the processor, for reading and judging one text."""

COMMAND_SECONDS = 30.0
"""For a command, which may search, prove and print."""

MEGABYTES = 200
"""That a text may add to what the process has."""

SPAN = 2000
"""Cases after which a process is replaced by a fresh one, so that caches do not grow for ever."""

WAIT_SECONDS = 300.0
"""Without a word from a process; then it hangs where Python cannot interrupt it."""

_context = multiprocessing.get_context("spawn")


class TooSlow(BaseException):
    """The time for a text is up; no ``except Exception`` may take it for an answer."""


@frozen
class Finding:
    """A text that ended in something else than a value or a sentence."""

    family: str
    number: int
    what: str


@define
class Counts:
    """What became of cases, how long the slowest took, and how many were findings once and were
    asked again.
    """

    ends: Counter[str] = field(factory=Counter)
    findings: list[Finding] = field(factory=list)
    slowest: float = 0.0
    again: int = 0
    processor_seconds: float = 0.0


@contextmanager
def _limited(case: Case) -> Iterator[None]:
    """Within the time and memory for one text."""
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    is_command = case.kind == "command"
    if not is_command:
        resource.setrlimit(resource.RLIMIT_AS, (held + (MEGABYTES << 20), before[1]))
    # Again and again: an exception in a callback of the garbage collector is lost.
    signal.setitimer(signal.ITIMER_PROF, COMMAND_SECONDS if is_command else SECONDS, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, before)


def _interrupt(*_: object) -> None:
    raise TooSlow


def outcome(case: Case) -> tuple[str, str, float]:
    """What became of a case, what is wrong with that or nothing, and the seconds it took."""
    pipeline_of(case.subject)
    before, signal_before = time.process_time(), signal.signal(signal.SIGPROF, _interrupt)
    try:
        with _limited(case):
            end, wrong = f"{case.kind}: {check(case)}", ""
    except TooSlow as error:
        end, wrong = f"{case.kind}: too slow", told_error(error)
    except Exception as error:
        end, wrong = f"{case.kind}: wrong", told_error(error)
    finally:
        signal.signal(signal.SIGPROF, signal_before)
    return end, wrong, time.process_time() - before


def warm(family: str) -> None:
    """Make what all cases share: seeds, tables of devices, what is imported late."""
    seeds = documents() if family == "json" else (*schedules(), *certificates())
    for seed in seeds[::50]:
        with suppress(Exception):
            check(Case(seed.kind, seed.name, seed.subject, seed.text))


def _work(seed: int, family: str, numbers: Sequence[int], pipe: Connection) -> None:
    """The body of a process: one word for each case."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for this
    warm(family)
    gc.freeze()
    for number in numbers:
        pipe.send((number, *outcome(draw_case(seed, number, family))))
    pipe.send(None)


@define
class _Worker:
    """A process with the cases that it checks, in order."""

    family: str
    left: list[int]
    pipe: Connection
    process: SpawnProcess
    heard: float = field(factory=time.monotonic)

    @staticmethod
    def start(seed: int, family: str, numbers: list[int]) -> _Worker:
        """A process that begins with the first of ``numbers``."""
        mine, theirs = _context.Pipe(duplex=False)
        args = (seed, family, numbers, theirs)
        process = _context.Process(target=_work, args=args, daemon=True)
        process.start()
        theirs.close()
        return _Worker(family, list(numbers), mine, process)

    def word(self) -> dict[str, Any] | None:
        """What became of the next case; None where all are done.

        Raises:
            EOFError: the process has ended.
        """
        said = self.pipe.recv()
        self.heard = time.monotonic()
        if said is None:
            self.process.join()
            return None
        number, end, wrong, seconds = said
        self.left.remove(number)
        return _entry(self.family, number, end, wrong, seconds)

    def ended(self) -> dict[str, Any]:
        """The case in which the process ended or hangs, which is a finding."""
        self.process.kill()
        self.process.join()
        wrong = f"the process ended with {self.process.exitcode}"
        return _entry(self.family, self.left.pop(0), "the process ended", wrong, 0.0)


def run(
    seed: int,
    cases: int,
    journal: Path,
    families: Sequence[str] = FAMILIES,
    processes: int = 2,
    again: bool = False,
    progress: Callable[[int, int], None] = lambda done, wrong: None,
) -> dict[str, Counts]:
    """Check the cases of each family that do not stand in ``journal``, and write them there;
    ``progress`` is told how many are done, and how many findings there are. With ``again`` what was
    a finding is checked again.
    """
    entries = _read(journal, seed)
    journal.parent.mkdir(parents=True, exist_ok=True)
    wrong = sum("wrong" in entry for entry in entries.values())
    known = {key for key, entry in entries.items() if not (again and "wrong" in entry)}
    spans = list(_spans(cases, families, known))[::-1]
    with journal.open("a") as file:
        for entry in _checked(seed, spans, processes):
            if (entry["family"], entry["number"]) in entries:
                entry["again"] = True
            entries[entry["family"], entry["number"]] = entry
            file.write(json.dumps({"seed": seed, **entry}) + "\n")
            file.flush()
            wrong += "wrong" in entry
            progress(len(entries), wrong)
    wanted = [e for (family, n), e in entries.items() if n < cases and family in families]
    return {family: _counts(wanted, family) for family in families}


def _spans(
    cases: int, families: Sequence[str], known: Container[tuple[str, int]]
) -> Iterator[tuple[str, list[int]]]:
    """What is left to do, in turns, in pieces of at most :data:`SPAN` cases."""
    for first in range(0, cases, SPAN):
        for family in families:
            numbers = range(first, min(first + SPAN, cases))
            left = [number for number in numbers if (family, number) not in known]
            if left:
                yield family, left


def _checked(
    seed: int, spans: list[tuple[str, list[int]]], processes: int
) -> Iterator[dict[str, Any]]:
    """What became of the cases of all spans, as it is found out."""
    workers: list[_Worker] = []
    while spans or workers:
        while spans and len(workers) < processes:
            workers.append(_Worker.start(seed, *spans.pop()))
        ready = wait([worker.pipe for worker in workers], timeout=1.0)
        for worker in tuple(workers):
            entry = None
            try:
                if worker.pipe in ready:
                    entry = worker.word()
                    if entry is None:
                        workers.remove(worker)
                elif time.monotonic() - worker.heard > WAIT_SECONDS:
                    raise EOFError
            except EOFError:
                workers.remove(worker)
                entry = worker.ended()
                if worker.left:
                    spans.append((worker.family, worker.left))
            if entry is not None:
                yield entry


def _entry(family: str, number: int, end: str, wrong: str, seconds: float) -> dict[str, Any]:
    entry: dict[str, Any] = {"family": family, "number": number, "end": end}
    return entry | {"seconds": round(seconds, 3)} | ({"wrong": wrong} if wrong else {})


def _counts(entries: Any, family: str) -> Counts:
    counts = Counts()
    for entry in sorted(entries, key=lambda e: e["number"]):
        if entry["family"] != family:
            continue
        counts.ends[entry["end"]] += 1
        counts.processor_seconds += entry["seconds"]
        counts.again += "again" in entry
        if not entry["end"].startswith("command"):
            counts.slowest = max(counts.slowest, entry["seconds"])
        if "wrong" in entry:
            counts.findings.append(Finding(family, entry["number"], entry["wrong"]))
    return counts


def _read(journal: Path, seed: int) -> dict[tuple[str, int], dict[str, Any]]:
    """The cases of a journal; a line that was being written when a run ended is taken out."""
    if not journal.exists():
        return {}
    text = journal.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        journal.write_text(whole)
    found = {}
    for line in whole.splitlines():
        entry = json.loads(line)
        if entry.pop("seed") == seed:
            found[entry["family"], entry["number"]] = entry
    return found
