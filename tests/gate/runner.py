"""Many cases in several processes: what crashes one is a mismatch and not the end of the run."""

from __future__ import annotations

import gc
import json
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from tests.gate.check import SHARED, Gate, draw, told
from tests.gate.summary import Summary

SPAN = 120 * SHARED
"""Cases after which a process is replaced by a fresh one, so that memory stays flat."""

_context = multiprocessing.get_context("spawn")


@frozen
class Span:
    """Cases ``first`` to ``last`` (not included) of a seed, without those in ``skip``; how many of
    them are compiled is as in :class:`~tests.gate.check.Gate`.
    """

    seed: int
    first: int
    last: int
    skip: frozenset[int] = frozenset()
    compiled_every: int = 1


def check_span(span: Span, at: Callable[[int], None]) -> Summary:
    """Check cases one after the other, telling each number before it is checked."""
    gate, summary = Gate(span.seed, span.compiled_every), Summary()
    for number in range(span.first, span.last):
        if number in span.skip:
            continue
        at(number)
        outcome = gate.check(number)
        summary.add(outcome)
        if outcome.mismatch:
            oracle = gate.oracle(number)
            case = draw(span.seed, number, oracle.subject.pipeline)
            summary.mismatches.append(told(case, oracle, outcome))
            summary.failing.append(number)
    summary.seconds.update(gate.seconds)
    return summary


def _work(span: Span, pipe: Connection, current: Any) -> None:
    """The body of a process: one summary for each group of cases that share a subject."""

    def at(number: int) -> None:
        current.value = number

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for this
    gc.freeze()  # modules stay; looking through them for garbage again and again takes a tenth
    for first in range(span.first, span.last, SHARED):
        last = min(first + SHARED, span.last)
        part = evolve(span, first=first, last=last)
        pipe.send((first, check_span(part, at).json()))
    pipe.close()


@define
class _Worker:
    span: Span
    pipe: Connection
    current: Any
    process: SpawnProcess
    done: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.done = self.span.first

    @staticmethod
    def start(span: Span) -> _Worker:
        """A process that checks a span."""
        mine, theirs = _context.Pipe(duplex=False)
        current = _context.Value("q", span.first, lock=False)
        process = _context.Process(target=_work, args=(span, theirs, current), daemon=True)
        process.start()
        theirs.close()
        return _Worker(span, mine, current, process)


def run(
    seed: int,
    cases: int,
    processes: int,
    journal: Path | None = None,
    progress: Callable[[int, Summary], None] = lambda done, total: None,
    compiled_every: int = 1,
) -> Summary:
    """Check ``cases`` cases of a seed.

    Args:
        compiled_every: as in :class:`~tests.gate.check.Gate`.
        journal: a file of what is done so far, which a later run with the same seed goes on from.
        progress: is told the number of cases done, and the counts so far.
    """
    total, known = _read(journal, seed)
    spans = [evolve(s, compiled_every=compiled_every) for s in _spans(seed, cases, known)][::-1]
    done = SHARED * len(known)
    workers: list[_Worker] = []
    while spans or workers:
        while spans and len(workers) < processes:
            workers.append(_Worker.start(spans.pop()))
        for ready in wait([w.pipe for w in workers]):
            worker = next(w for w in workers if w.pipe is ready)
            try:
                first, document = worker.pipe.recv()
            except EOFError:
                workers.remove(worker)
                rest = _ended(worker, total)
                if rest is not None:
                    spans.append(rest)
                continue
            total.merge(Summary.of(document))
            worker.done = first + SHARED
            done += SHARED
            _write(journal, seed, first, document)
            progress(min(done, cases), total)
    return total


def done_before(journal: Path, seed: int, cases: int) -> int:
    """How many of the first ``cases`` cases of a seed a run with that journal would not check."""
    _, known = _read(journal, seed)
    return sum(min(SHARED, cases - first) for first in known if first < cases)


def _ended(worker: _Worker, total: Summary) -> Span | None:
    """What is left to do of the span of a process that has ended; None where it did all of it."""
    worker.process.join()
    code, span = worker.process.exitcode, worker.span
    if code == 0:
        return None
    number = int(worker.current.value)
    total.mismatches.append(
        f"seed {span.seed}, case {number}: the process ended with {code}\n"
        f"python -m tests.gate --seed {span.seed} --only {number}"
    )
    return evolve(span, first=worker.done, skip=span.skip | {number})


def _spans(seed: int, cases: int, known: set[int]) -> Iterator[Span]:
    """What is left to do, in pieces of at most :data:`SPAN` cases."""
    first = 0
    while first < cases:
        if first in known:
            first += SHARED
            continue
        last = first
        while last < min(cases, first + SPAN) and last not in known:
            last += SHARED
        yield Span(seed, first, min(last, cases))
        first = last


def _read(journal: Path | None, seed: int) -> tuple[Summary, set[int]]:
    total, known = Summary(), set()
    if journal is not None and journal.exists():
        for line in _whole_lines(journal):
            entry = json.loads(line)
            if entry["seed"] == seed and entry["first"] not in known:
                known.add(entry["first"])
                total.merge(Summary.of(entry["summary"]))
    return total, known


def _whole_lines(journal: Path) -> list[str]:
    """The lines of a journal; one that was being written when a run ended is taken out."""
    text = journal.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        journal.write_text(whole)
    return whole.splitlines()


def _write(journal: Path | None, seed: int, first: int, document: dict[str, Any]) -> None:
    if journal is None:
        return
    journal.parent.mkdir(parents=True, exist_ok=True)
    with journal.open("a") as file:
        file.write(json.dumps({"seed": seed, "first": first, "summary": document}) + "\n")
