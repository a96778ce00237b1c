"""Many cases in several processes: what crashes one is a mismatch and not the end of the run."""

from __future__ import annotations

import gc
import multiprocessing
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from tests.differential.aims import Aims, rarest
from tests.differential.branches import Branches
from tests.differential.cases import NO_AIMS, SHARED, Seed
from tests.differential.check import Fuzzer
from tests.differential.journal import Group, Journal
from tests.differential.pairs import Pairs, merged
from tests.differential.summary import Summary

SPAN = 100 * SHARED
"""Cases after which a process is replaced by a fresh one, so that memory stays flat, and new aims
are taken.
"""

_SEEDS = 20
"""Cases of the corpus that a span draws from."""

_AIMS = 500
"""Pairs of each kind that a span aims at."""

_context = multiprocessing.get_context("spawn")


@frozen
class Span:
    """Cases ``first`` to ``last`` (not included) of a seed, without those in ``skip``; how many of
    them are compiled, and what they aim at, is as in :class:`~tests.differential.check.Fuzzer`.
    """

    seed: int
    first: int
    last: int
    skip: frozenset[int] = frozenset()
    compiled_every: int = 1
    aims: Aims = NO_AIMS
    corpus: tuple[Seed, ...] = ()


def check_span(span: Span, at: Callable[[int], None], branches: Branches | None = None) -> Summary:
    """Check cases one after the other, telling each number before it is checked."""
    fuzzer = Fuzzer(span.seed, span.compiled_every, span.aims, span.corpus, branches or Branches())
    summary = Summary()
    for number in range(span.first, span.last):
        if number in span.skip:
            continue
        at(number)
        outcome = fuzzer.check(number)
        summary.add(outcome)
        if outcome.branches:
            summary.reached.append((number, outcome.branches))
        if outcome.mismatch:
            summary.mismatches.append(fuzzer.told(number, outcome))
            summary.failing.append(number)
    summary.seconds.update(fuzzer.seconds)
    return summary


def _work(span: Span, pipe: Connection, current: Any) -> None:
    """The body of a process: one summary for each group of cases that share a subject."""

    def at(number: int) -> None:
        current.value = number

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for this
    branches = Branches()  # of this process; the journal knows those of all
    gc.freeze()  # modules stay; looking through them for garbage again and again takes a tenth
    for first in range(span.first, span.last, SHARED):
        last = min(first + SHARED, span.last)
        part = evolve(span, first=first, last=last)
        summary = check_span(part, at, branches)
        group = Group(first, summary, tuple(summary.met), tuple(summary.reached))
        pipe.send(group.json())
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
    aimed: bool = False,
    again: bool = False,
    after: Sequence[Path] = (),
) -> Summary:
    """Check ``cases`` cases of a seed.

    Args:
        compiled_every: as in :class:`~tests.differential.check.Fuzzer`.
        journal: a file of what is done so far, which a later run with the same seed goes on from.
        progress: is told the number of cases done, and the counts so far.
        again: whether groups of cases that failed are checked again.
        aimed: whether cases are drawn towards pairs of constructs that few legal cases had.
        after: journals of other runs, whose legal cases count when cases are aimed.
    """
    before = _pairs_of(after)
    kept = Journal.read(journal, seed, SHARED)
    if again:
        kept.forget_failing()
    spans = [evolve(s, compiled_every=compiled_every) for s in _spans(seed, cases, kept.done)]
    spans.reverse()
    workers: list[_Worker] = []
    crashed: dict[int, list[str]] = {}
    while spans or workers:
        while spans and len(workers) < processes:
            span = spans.pop()
            workers.append(_Worker.start(_aimed(span, kept, before) if aimed else span))
        for ready in wait([w.pipe for w in workers]):
            worker = next(w for w in workers if w.pipe is ready)
            try:
                document = worker.pipe.recv()
            except EOFError:
                workers.remove(worker)
                rest = _ended(worker, crashed)
                if rest is not None:
                    spans.append(rest)
                elif aimed:
                    kept.settle()
                continue
            group = Group.of(document)
            group.summary.mismatches.extend(crashed.pop(group.first, ()))
            kept.add(group)
            worker.done = group.first + SHARED
            progress(min(SHARED * len(kept.done), cases), kept.total)
    return kept.total


def _pairs_of(journals: Sequence[Path]) -> Pairs:
    """How often constructs met in the runs of some journals, each of one seed."""
    return merged(Journal.whole(path, SHARED).pairs for path in journals)


def _aimed(span: Span, kept: Journal, before: Pairs) -> Span:
    """A span with what it aims at: what it did before, or what is rare so far."""
    aims, seeds = kept.aims_at(span.first), kept.seeds_at(span.first)
    if not aims:
        rng = random.Random(f"{span.seed} aims from {span.first}")
        aims = rarest(rng, merged((before, kept.pairs)), _AIMS)
        known = sorted(kept.corpus)
        seeds = tuple(rng.sample(known, min(_SEEDS, len(known))))
        kept.aim(span.first, span.last, aims, seeds)
    return evolve(span, aims=aims, corpus=corpus_of(kept, seeds))


def corpus_of(kept: Journal, seeds: Sequence[int]) -> tuple[Seed, ...]:
    """Cases of a journal to draw others from."""
    return tuple(Seed(number, kept.aims_at(number)) for number in seeds)


def done_before(journal: Path, seed: int, cases: int) -> int:
    """How many of the first ``cases`` cases of a seed a run with that journal would not check."""
    known = Journal.read(journal, seed, SHARED).done
    return sum(min(SHARED, cases - first) for first in known if first < cases)


def _ended(worker: _Worker, crashed: dict[int, list[str]]) -> Span | None:
    """What is left to do of the span of a process that has ended; None where it did all of it. The
    case that it ended at is added to what is told of its group.
    """
    worker.process.join()
    code, span = worker.process.exitcode, worker.span
    if code == 0:
        return None
    number = int(worker.current.value)
    crashed.setdefault(number - number % SHARED, []).append(
        f"seed {span.seed}, case {number}: the process ended with {code}\n"
        f"python -m tests.differential --seed {span.seed} --only {number}"
    )
    return evolve(span, first=worker.done, skip=span.skip | {number})


def _spans(seed: int, cases: int, known: set[int]) -> Iterator[Span]:
    """What is left to do, in pieces of at most :data:`SPAN` cases."""
    first = 0
    while first < cases:
        if first in known:
            first += SHARED
            continue
        last, end = first, first - first % SPAN + SPAN
        while last < min(cases, end) and last not in known:
            last += SHARED
        yield Span(seed, first, min(last, cases))
        first = last
