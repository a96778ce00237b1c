"""A domain order carried out on names: which loops there are, and what each is made of."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias

from attrs import field, frozen

from spaces.model.algorithm.pipeline import Stage
from spaces.model.schedules.domain_order import DomainOrder, Fuse, Split

FaultKind: TypeAlias = Literal["unknown", "duplicate", "missing", "fuse-order"]


@frozen
class Fault:
    """Something wrong with the names of a domain order.

    Attributes:
        kind: what is wrong.
        loop: the name at fault.
        where: the split, fuse or list of loops it occurs in, as a person would write it.
        record: the number of that split or fuse; None where it is the list of loops.
        choices: the loops there are at that point.
    """

    kind: FaultKind
    loop: str
    where: str
    record: int | None
    choices: tuple[str, ...] = ()


@frozen
class Trace:
    """What a domain order makes of the dimensions of its stage.

    Attributes:
        faults: what is wrong with its names.
        origins: for each loop it ends with, the dimensions it comes from.
        sequence: the loops that must stand in this order, outermost first, for iterations that
            depend on one another to run as the algorithm says.
        lost: for each loop that no longer exists, what replaced it.
    """

    faults: tuple[Fault, ...]
    origins: dict[str, frozenset[str]] = field(hash=False)
    sequence: tuple[str, ...]
    lost: dict[str, str] = field(hash=False)


@lru_cache(maxsize=4096)
def trace(stage: Stage, order: DomainOrder, ordered: tuple[str, ...]) -> Trace:
    """Carry out ``order`` on the dimensions of ``stage``, noting faults and going on.

    Args:
        stage: the stage as written.
        order: its domain order.
        ordered: dimensions whose iterations must run in this order, outermost first.
    """
    return _Tracer(stage, ordered, order.once).run(order)


class _Tracer:
    def __init__(self, stage: Stage, ordered: tuple[str, ...], once: tuple[str, ...]) -> None:
        self.origins = dict.fromkeys(once, frozenset[str]())
        self.origins.update((name, frozenset({name})) for name in stage.dimensions)
        self.sequence = list(ordered)
        self.lost: dict[str, str] = {}
        self.faults: list[Fault] = []
        self.record: int | None = None

    def run(self, order: DomainOrder) -> Trace:
        for self.record, record in enumerate(order.splits):
            if isinstance(record, Split):
                self._split(record)
            else:
                self._fuse(record)
        self.record = None
        self._compare(order)
        return Trace(tuple(self.faults), self.origins, tuple(self.sequence), self.lost)

    def _fault(self, kind: FaultKind, loop: str, where: str) -> None:
        self.faults.append(Fault(kind, loop, where, self.record, tuple(self.origins)))

    def _take(self, names: tuple[str, ...], where: str, into: str) -> frozenset[str]:
        """Remove loops, and give the dimensions they came from."""
        taken: frozenset[str] = frozenset()
        for name in names:
            if name not in self.origins:
                self._fault("unknown", name, where)
            taken |= self.origins.pop(name, frozenset())
            self.lost[name] = into
        return taken

    def _add(self, name: str, origin: frozenset[str], where: str) -> None:
        if name in self.origins:
            self._fault("duplicate", name, where)
        self.origins[name] = origin
        self.lost.pop(name, None)

    def _split(self, record: Split) -> None:
        where = f"split({record.old}, {record.outer}, {record.inner}, {record.factor})"
        origin = self._take((record.old,), where, f"{record.outer} and {record.inner}")
        self._add(record.outer, origin, where)
        self._add(record.inner, origin, where)
        if record.old in self.sequence:
            at = self.sequence.index(record.old)
            self.sequence[at : at + 1] = [record.outer, record.inner]

    def _fuse(self, record: Fuse) -> None:
        where = f"fuse({record.inner}, {record.outer}, {record.fused})"
        if record.inner == record.outer:
            self._fault("duplicate", record.inner, where)
        names = tuple(dict.fromkeys((record.inner, record.outer)))
        origin = self._take(names, where, record.fused)
        self._add(record.fused, origin, where)
        places = [self.sequence.index(n) for n in names if n in self.sequence]
        if len(places) == 2 and places[0] != places[1] + 1:
            sequence = tuple(self.sequence)
            self.faults.append(Fault("fuse-order", record.fused, where, self.record, sequence))
        if places:
            self.sequence[min(places)] = record.fused
        if len(places) == 2:
            del self.sequence[max(places)]

    def _compare(self, order: DomainOrder) -> None:
        where = "the loop order"
        doubled = {fault.loop for fault in self.faults if fault.kind == "duplicate"}
        for i, name in enumerate(order.names):
            if name not in self.origins:
                self._fault("unknown", name, where)
            elif name in order.names[:i] and name not in doubled:
                self._fault("duplicate", name, where)
        for name in self.origins:
            if name not in order.names:
                self._fault("missing", name, where)
