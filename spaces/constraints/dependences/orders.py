"""Applies a domain order to names: the loops that result, and the dimensions of each."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias

from attrs import field, frozen

from spaces.constraints.dependences.iterations import Ordering
from spaces.model.algorithm.pipeline import Stage
from spaces.model.schedules.domain_order import DomainOrder, Fuse, Split

OrderFaultKind: TypeAlias = Literal["unknown", "duplicate", "repeated", "missing", "fuse-order"]
"""``duplicate``: a new loop has the name of another; ``repeated``: one loop is named twice."""


@frozen
class OrderFault:
    """Something wrong with the names of a domain order.

    Attributes:
        kind: the kind of mistake.
        loop: the name at fault.
        record: the number of the split or fuse with the mistake; None for the list of loops.
        choices: the loops that exist at that point.
        became: the loops that replaced this loop before that point; empty if it never existed.
    """

    kind: OrderFaultKind
    loop: str
    record: int | None
    choices: tuple[str, ...] = ()
    became: str = ""


@frozen
class Trace:
    """The result of a domain order on the dimensions of its stage.

    Attributes:
        faults: the mistakes in its names.
        origins: for each final loop, the dimensions it comes from.
        sequence: the loops whose iterations depend on each other, outermost first, in an order that
            keeps the order of the algorithm.
        before: pairs of these loops; the first has to stay outside the second.
    """

    faults: tuple[OrderFault, ...]
    origins: dict[str, frozenset[str]] = field(hash=False)
    sequence: tuple[str, ...]
    before: frozenset[tuple[str, str]]

    def misplaced(self, names: tuple[str, ...]) -> tuple[str, str] | None:
        """The first of these loops, outermost first, that stands outside a loop that has to enclose
        it; with that loop.
        """
        places = {name: at for at, name in enumerate(names)}
        wrong = [
            (places[inner], inner, outer)
            for outer, inner in self.before
            if outer in places and inner in places and places[inner] < places[outer]
        ]
        _, inner, outer = min(wrong, default=(0, "", ""))
        return (inner, outer) if wrong else None


@lru_cache(maxsize=4096)
def trace(stage: Stage, order: DomainOrder, ordered: Ordering) -> Trace:
    """Applies ``order`` to the dimensions of ``stage``; notes faults and goes on.

    Args:
        stage: the stage as written.
        order: its domain order.
        ordered: the order that its dimensions must keep.
    """
    return _Tracer(stage, ordered, order.once).run(order)


class _Tracer:
    def __init__(self, stage: Stage, ordered: Ordering, once: tuple[str, ...]) -> None:
        self.origins = dict.fromkeys(once, frozenset[str]())
        self.origins.update((name, frozenset({name})) for name in stage.dimensions)
        self.sequence = list(ordered.dimensions)
        self.before = set(ordered.before)
        self.lost: dict[str, str] = {}
        self.faults: list[OrderFault] = []
        self.record: int | None = None

    def run(self, order: DomainOrder) -> Trace:
        for self.record, record in enumerate(order.splits):
            if isinstance(record, Split):
                self._split(record)
            else:
                self._fuse(record)
        self.record = None
        self._compare(order)
        return Trace(tuple(self.faults), self.origins, tuple(self.sequence), frozenset(self.before))

    def _fault(self, kind: OrderFaultKind, loop: str) -> None:
        became = self.lost.get(loop, "")
        self.faults.append(OrderFault(kind, loop, self.record, tuple(self.origins), became))

    def _take(self, names: tuple[str, ...], into: str) -> frozenset[str]:
        """Removes loops, and returns the dimensions they come from."""
        for name in names:
            if name not in self.origins:
                self._fault("unknown", name)
        taken: frozenset[str] = frozenset()
        for name in names:
            if name in self.origins:
                taken |= self.origins.pop(name)
                self.lost[name] = into
        return taken

    def _add(self, name: str, origin: frozenset[str]) -> None:
        if name in self.origins:
            self._fault("duplicate", name)
        self.origins[name] = origin
        self.lost.pop(name, None)

    def _split(self, record: Split) -> None:
        origin = self._take((record.old,), f"{record.outer} and {record.inner}")
        self._add(record.outer, origin)
        self._add(record.inner, origin)
        if record.old in self.sequence:
            at = self.sequence.index(record.old)
            self.sequence[at : at + 1] = [record.outer, record.inner]
            self._replace({record.old: (record.outer, record.inner)})
            self.before.add((record.outer, record.inner))

    def _fuse(self, record: Fuse) -> None:
        if record.inner == record.outer:
            self._fault("repeated", record.inner)
        names = tuple(dict.fromkeys((record.inner, record.outer)))
        origin = self._take(names, record.fused)
        self._add(record.fused, origin)
        dependent = [n for n in names if n in self.sequence]
        if len(dependent) == 2 and self._parts(record.outer, record.inner):
            sequence = tuple(self.sequence)
            self.faults.append(OrderFault("fuse-order", record.fused, self.record, sequence))
        if dependent:
            first = min(self.sequence.index(name) for name in dependent)
            self.sequence.insert(first, record.fused)
            self.sequence = [n for n in self.sequence if n not in dependent or n == record.fused]
            self._replace(dict.fromkeys(dependent, (record.fused,)))
            self.sequence = _sorted(self.sequence, self.before)

    def _replace(self, loops: dict[str, tuple[str, ...]]) -> None:
        """Replaces some loops by others."""
        self.before = {
            (outer, inner)
            for a, b in self.before
            for outer in loops.get(a, (a,))
            for inner in loops.get(b, (b,))
            if outer != inner
        }

    def _parts(self, outer: str, inner: str) -> bool:
        """Whether a loop has to stand between two loops, or the inner one outside the outer one."""
        turned = {(b, a) for a, b in self.before}
        below, above = _reached(outer, self.before), _reached(inner, turned)
        return outer in _reached(inner, self.before) or not below.isdisjoint(above)

    def _compare(self, order: DomainOrder) -> None:
        doubled = {fault.loop for fault in self.faults if fault.kind == "duplicate"}
        for i, name in enumerate(order.names):
            if name not in self.origins:
                self._fault("unknown", name)
            elif name in order.names[:i] and name not in doubled:
                self._fault("repeated", name)
        for name in self.origins:
            if name not in order.names:
                self._fault("missing", name)


def _reached(start: str, pairs: set[tuple[str, str]]) -> set[str]:
    """The names that follow ``name`` by one pair or several."""
    found, left = set[str](), [start]
    while left:
        at = left.pop()
        following = {b for a, b in pairs if a == at} - found
        found |= following
        left += following
    return found


def _sorted(names: list[str], before: set[tuple[str, str]]) -> list[str]:
    """The names in the given order, changed only so that each comes before those that it must
    precede; unchanged if these form a circle.
    """
    left, found = list(names), list[str]()
    while left:
        free = (n for n in left if not any(b == n and a in left for a, b in before))
        found.append(next(free, left[0]))
        left.remove(found[-1])
    return found
