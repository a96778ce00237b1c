"""What a run of the fuzzer has done so far: a file that a later run goes on from.

Its first line, if the run was long enough, is the sum of all that is finished. A line for each span
says what its cases aimed at, so that a case can be drawn again. A line for each group of cases that
share a subject says what became of them. When a span is finished its groups are added to the sum,
which keeps the file small enough to be committed; groups that failed stay.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Self

from attrs import define, field, frozen

from tests.differential.aims import Aims
from tests.differential.pairs import Pairs
from tests.differential.summary import Met, Summary


@frozen
class Group:
    """Cases from ``first`` on, one group that shares a subject, and what became of them."""

    first: int
    summary: Summary
    met: tuple[Met, ...] = ()
    reached: tuple[tuple[int, tuple[int, ...]], ...] = ()

    def json(self) -> dict[str, Any]:
        """As JSON's types; read back by :meth:`of`."""
        met = [[list(c), int(legal), list(rules)] for c, legal, rules in self.met]
        reached = [[number, *branches] for number, branches in self.reached]
        document = {"first": self.first, "summary": self.summary.json(), "met": met}
        return document | ({"reached": reached} if reached else {})

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """What :meth:`json` wrote."""
        met = (
            (tuple(constructs), bool(legal), tuple(rules))
            for constructs, legal, rules in document.get("met", ())
        )
        reached = tuple((n, tuple(branches)) for n, *branches in document.get("reached", ()))
        return cls(document["first"], Summary.of(document["summary"]), tuple(met), reached)


@define
class Journal:
    """What is done of a seed, in memory and, where it has a path, in a file.

    Attributes:
        size: cases of a group.
        total: the sum of what is done.
        pairs: how often constructs met in it.
        done: the first case of each group that is done.
        aims: what the cases of a span aim at, by its first case and the one after its last.
        seeds: the cases of the corpus that some of them are drawn from.
        corpus: cases that took branches which none before them took, with how many.
        branches: all that were taken in cases that were traced.
    """

    seed: int
    size: int
    path: Path | None = None
    total: Summary = field(factory=Summary)
    pairs: Pairs = field(factory=Pairs)
    done: set[int] = field(factory=set)
    aims: dict[tuple[int, int], Aims] = field(factory=dict)
    seeds: dict[tuple[int, int], tuple[int, ...]] = field(factory=dict)
    corpus: dict[int, int] = field(factory=dict)
    branches: set[int] = field(factory=set)
    _open: dict[int, str] = field(factory=dict)
    _settled: tuple[Summary, Pairs] = field(factory=lambda: (Summary(), Pairs()))

    @classmethod
    def read(cls, path: Path | None, seed: int, size: int) -> Self:
        """The journal that a run with that seed goes on from."""
        made = cls(seed, size, path)
        for line in _whole_lines(path) if path is not None and path.exists() else ():
            entry = json.loads(line)
            if entry["seed"] != seed:
                continue
            if "aims" in entry:
                made.aims[tuple(entry["span"])] = Aims.of(entry["aims"])
                made.seeds[tuple(entry["span"])] = tuple(entry.get("seeds", ()))
            elif "settled" in entry:
                made._settle(entry)
            elif entry["first"] not in made.done:
                made._take(Group.of(entry), line)
        return made

    @classmethod
    def whole(cls, path: Path, size: int) -> Self:
        """The journal in a file, whatever its seed; an empty one where there is no file."""
        lines = _whole_lines(path) if path.exists() else []
        return cls.read(path, json.loads(lines[0])["seed"] if lines else 0, size)

    def aims_at(self, number: int) -> Aims:
        """What a case aims at."""
        found = (a for (first, last), a in self.aims.items() if first <= number < last)
        return next(found, Aims())

    def seeds_at(self, number: int) -> tuple[int, ...]:
        """The cases of the corpus that a case may be drawn from."""
        found = (s for (first, last), s in self.seeds.items() if first <= number < last)
        return next(found, ())

    def aim(self, first: int, last: int, aims: Aims, seeds: tuple[int, ...] = ()) -> None:
        """Say what the cases of a span aim at, and what some are drawn from."""
        self.aims[first, last], self.seeds[first, last] = aims, seeds
        self._append(self._span(first, last))

    def _span(self, first: int, last: int) -> dict[str, Any]:
        aims, seeds = self.aims[first, last].json(), list(self.seeds.get((first, last), ()))
        return {"seed": self.seed, "span": [first, last], "aims": aims, "seeds": seeds}

    def add(self, group: Group) -> None:
        """Add a group that is done."""
        document = {"seed": self.seed, **group.json()}
        self._take(group, json.dumps(document))
        self._append(document)

    def settle(self) -> None:
        """Sum up the groups of spans that are finished, and write the file anew."""
        for first, last in sorted(self.aims):
            groups = range(first, last, self.size)
            if all(g in self.done for g in groups):
                self._sum_up(groups)
        if self.path is None:
            return
        new = self.path.with_suffix(".new")
        new.write_text("".join(f"{line}\n" for line in self._lines()))
        os.replace(new, self.path)

    def _sum_up(self, groups: Iterable[int]) -> None:
        """Add groups to the sum, but those that failed, which may be checked again."""
        for first in groups:
            group = Group.of(json.loads(self._open[first])) if first in self._open else None
            if group is not None and not group.summary.mismatches:
                _count(group, *self._settled)
                del self._open[first]

    def forget_failing(self) -> int:
        """Take out the groups in which something was not as its verdict says, so that they are
        checked again; how many these are.
        """
        groups = {first: Group.of(json.loads(line)) for first, line in self._open.items()}
        failing = [first for first, group in groups.items() if group.summary.mismatches]
        self.total, self.pairs = Summary(), Pairs()
        self.total.merge(self._settled[0])
        self.pairs.merge(self._settled[1])
        for first in failing:
            del self._open[first]
            self.done.discard(first)
        for first in self._open:
            _count(groups[first], self.total, self.pairs)
        self.settle()
        return len(failing)

    def _lines(self) -> Iterator[str]:
        summary, pairs = self._settled
        ranges = list(_ranges(self.done - set(self._open), self.size))
        settled = {"settled": ranges, "summary": summary.json(), "pairs": pairs.json()}
        taken = {"corpus": sorted(self.corpus.items()), "branches": sorted(self.branches)}
        yield json.dumps({"seed": self.seed, **settled, **taken})
        for span in sorted(self.aims):
            yield json.dumps(self._span(*span))
        yield from (self._open[first] for first in sorted(self._open))

    def _settle(self, entry: dict[str, Any]) -> None:
        summary, pairs = Summary.of(entry["summary"]), Pairs.of(entry["pairs"])
        for kept in (self._settled, (self.total, self.pairs)):
            kept[0].merge(summary)
            kept[1].merge(pairs)
        self.corpus |= dict(entry.get("corpus", ()))
        self.branches |= set(entry.get("branches", ()))
        for first, last in entry["settled"]:
            self.done.update(range(first, last, self.size))

    def _take(self, group: Group, line: str) -> None:
        self.done.add(group.first)
        self._open[group.first] = line
        for number, branches in group.reached:
            new = set(branches) - self.branches
            if new:
                self.corpus[number] = len(new)
                self.branches |= new
        _count(group, self.total, self.pairs)

    def _append(self, document: dict[str, Any]) -> None:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps(document) + "\n")


def _count(group: Group, summary: Summary, pairs: Pairs) -> None:
    summary.merge(group.summary)
    for constructs, legal, rules in group.met:
        pairs.add(constructs, legal, rules)


def _ranges(groups: Iterable[int], size: int) -> Iterator[list[int]]:
    """The first case and the one after the last of groups that follow one another."""
    found: list[list[int]] = []
    for first in sorted(groups):
        if found and found[-1][1] == first:
            found[-1][1] = first + size
        else:
            found.append([first, first + size])
    yield from found


def _whole_lines(journal: Path) -> list[str]:
    """The lines of a journal; one that was being written when a run ended is taken out."""
    text = journal.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        journal.write_text(whole)
    return whole.splitlines()
