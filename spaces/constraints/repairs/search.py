"""The search for the fewest edits that make a schedule legal.

The number of edits grows by one. For each number, the number of structural edits grows from zero,
so that the search changes factors before loops, and few loops before many. The search tries a
structural edit only if it can mend something. A violation of a rule about records comes from the
entries that the rule reads, so one of these has to change.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from attrs import define, field, frozen

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.judge import ask_matching, ask_records
from spaces.constraints.legality.lattice import is_violated
from spaces.constraints.legality.verdict import Illegal
from spaces.constraints.legality.verify import verify
from spaces.constraints.repairs.calls import CallEdits
from spaces.constraints.repairs.factors import NearestSchedule, nearest_factors, open_factors
from spaces.constraints.repairs.loops import StageEdits
from spaces.constraints.repairs.names import NameEdits, edit_entries, is_covered
from spaces.constraints.repairs.ranked_edit import Rank, RankedEdit
from spaces.constraints.rules.findings import Asked
from spaces.constraints.rules.matching import open_parameter
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import OwnRule
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline, ask_clock
from spaces.model.schedules.schedule import Schedule

_ABOUT_ONE_LOOP = ("gpu.device",)
"""Rules whose checks read only the kind of one loop."""

_ABOUT_NAMES = ("call.compute-level", "call.store-level")
"""Rules whose checks read only the loops around a Func, and its levels."""

_MOVES_LOOPS = frozenset({Rank.NAME, Rank.STORE, Rank.SPLIT, Rank.ORDER, Rank.COMPUTE, Rank.DROP})
"""The edits that change the loops around a Func, or its levels."""

_LOOPS_AN_EDIT_CHANGES = 3
"""The most loops that one edit changes: the loops of a split or a fuse that it leaves out."""


@frozen
class Support:
    """The change that a violation needs: in one of ``funcs``; in one of the (stage, loop) pairs
    ``loops``, if any; and by an edit of one of ``ranks``.
    """

    funcs: frozenset[str]
    loops: frozenset[tuple[int, str]] = frozenset()
    ranks: frozenset[Rank] = frozenset(Rank)

    def meets(self, edit: RankedEdit) -> bool:
        """Whether an edit makes this change."""
        named = not self.loops or not self.loops.isdisjoint(edit.loops)
        return edit.func in self.funcs and edit.rank in self.ranks and named

    @property
    def size(self) -> tuple[bool, int, int]:
        """A number that is small if few edits meet the support."""
        return not self.loops, len(self.funcs), len(self.ranks)


def least_edits(supports: list[Support]) -> int:
    """A lower bound on the number of edits that mend the violations of these supports."""
    loops: dict[str, set[tuple[int, str]]] = {}
    for support in supports:
        if len(support.funcs) == 1:
            (func,) = support.funcs
            loops.setdefault(func, set()).update(support.loops)
    return sum(max(1, -(-len(named) // _LOOPS_AN_EDIT_CHANGES)) for named in loops.values())


@frozen
class Culprits:
    """The subjects of the violations to mend: Funcs, and loops of their stages."""

    funcs: frozenset[str]
    loops: frozenset[tuple[str, int, str]]

    @staticmethod
    def of(illegal: Illegal) -> Culprits:
        """The culprits of all violations of a schedule."""
        loops = {(v.func, v.stage, v.loop) for v in illegal.violations if v.loop}
        return Culprits(frozenset(v.func for v in illegal.violations), frozenset(loops))

    def order(self, edit: RankedEdit) -> tuple[bool, float, float]:
        """The sort key of edits: those of culprits first, then by rank; the kind of a loop at fault
        before the place where its Func is computed.
        """
        touched = {(edit.func, *loop) for loop in edit.loops}
        at_fault = edit.rank is Rank.KIND and not touched.isdisjoint(self.loops)
        rank = Rank.COMPUTE - 0.5 if at_fault else float(edit.rank)
        return edit.func not in self.funcs, rank, edit.unlike


@define
class Search:
    """The search for the nearest legal schedule of one pipeline on one device."""

    pipeline: Pipeline
    device: Device
    deadline: Deadline
    culprits: Culprits
    tried: int = 0
    best: NearestSchedule | None = None
    _readers: dict[str, frozenset[str]] = field(factory=dict)
    _seen: set[tuple[Schedule, int]] = field(factory=set)

    def find_nearest(
        self, schedule: Schedule, structural: int, factors: int
    ) -> NearestSchedule | None:
        """The nearest legal schedule with these numbers of structural edits and factor edits.

        Raises:
            OutOfTime: not all sets of edits were tried; ``best`` is the nearest so far.
        """
        self.best = None
        self._seen.clear()
        self._descend(schedule, (), structural, factors)
        return self.best

    def tick(self) -> None:
        """Counts a step.

        Raises:
            OutOfTime: a deadline around the search is past.
        """
        self.tried += 1
        ask_clock()

    def _descend(
        self, schedule: Schedule, edits: tuple[RankedEdit, ...], structural: int, factors: int
    ) -> None:
        """Tries all edits of ``schedule``, until no nearer schedule is possible."""
        key = (schedule, structural)
        if key in self._seen or (self.best is not None and not factors):
            return
        self._seen.add(key)
        self.tick()
        if structural == 0:
            if not self._is_blocked(schedule, factors):
                self._finish(schedule, edits, factors)
            return
        blocked = self._blocked(schedule, factors)
        if least_edits(blocked) > structural:
            return
        support = min(blocked, key=lambda s: s.size, default=self._anything(schedule))
        for edit in self.edits(schedule, support):
            self._descend(edit.after, (*edits, edit), structural - 1, factors)

    def _finish(self, schedule: Schedule, edits: tuple[RankedEdit, ...], factors: int) -> None:
        """Judges a schedule with this structure, with its own and with other factors."""
        if not factors:
            if verify(self.pipeline, schedule, self.device):
                self.best = NearestSchedule(0.0, schedule, edits)
            return
        below = float("inf") if self.best is None else self.best.distance
        args = (self.pipeline, schedule, self.device, factors, below, self.tick)
        found = nearest_factors(*args)
        if found is not None:
            self.best = NearestSchedule(found.distance, found.after, (*edits, *found.edits))

    def _blocked(self, schedule: Schedule, factors: int) -> list[Support]:
        """The support of each violation that no change of ``factors`` factors mends.

        If entries are missing, only the set of entries has to change.
        """
        if not is_covered(self.pipeline, schedule):
            return [self._anything(schedule)]
        matching = [
            a for a in ask_matching(self.pipeline, schedule) if a.rule is not open_parameter
        ]
        if matching:
            return [self._anything(schedule)]
        found = self._violated(schedule)
        if found and factors:
            # Checks that fail with these numbers and with any; some extents need these numbers.
            found = {
                key: a for key, a in self._violated(open_factors(schedule)).items() if key in found
            }
        return [self._support(item) for item in found.values()]

    def _is_blocked(self, schedule: Schedule, factors: int) -> bool:
        """Whether a violation stays that no change of ``factors`` factors mends."""
        if factors or not is_covered(self.pipeline, schedule):
            return bool(self._blocked(schedule, factors))
        # One is enough: most schedules at the end of a search have one that is found soon.
        asked = chain(
            (a for a in ask_matching(self.pipeline, schedule) if a.rule is not open_parameter),
            filter(is_violated, ask_records(Records(self.pipeline, schedule, self.device))),
        )
        return any(True for _ in asked)

    def _violated(self, schedule: Schedule) -> dict[tuple[str, str, int, str], Asked]:
        """The checks of rules about records that fail for all sizes, by rule and subject."""
        asked = ask_records(Records(self.pipeline, schedule, self.device))
        return {_place(item): item for item in asked if is_violated(item)}

    def _anything(self, schedule: Schedule) -> Support:
        names = {f.name for f in self.pipeline.functions} | {f.name for f in schedule.funcs}
        return Support(frozenset(names))

    def _support(self, item: Asked) -> Support:
        func, loop = item.check.func, item.check.loop
        if isinstance(item.rule, OwnRule):
            named = item.rule.id in _ABOUT_ONE_LOOP and loop
            loops = frozenset({(item.check.stage, loop)}) if named else frozenset()
            return Support(frozenset({func}), loops)
        ranks = _MOVES_LOOPS if item.rule.id in _ABOUT_NAMES else frozenset(Rank)
        return Support(frozenset({func}) | self._readers_of(func), ranks=ranks)

    def _readers_of(self, func: str) -> frozenset[str]:
        if func not in self._readers:
            direct = self.pipeline.consumers(func)
            self._readers[func] = frozenset(direct).union(*(self._readers_of(d) for d in direct))
        return self._readers[func]

    def edits(self, schedule: Schedule, support: Support) -> list[RankedEdit]:
        """Every structural edit that changes a support, in the order to try."""
        found = [edit for edit in self._edits(schedule, support.funcs) if support.meets(edit)]
        return sorted(found, key=self.culprits.order)

    def _edits(self, schedule: Schedule, funcs: frozenset[str]) -> Iterator[RankedEdit]:
        if not is_covered(self.pipeline, schedule):
            yield from edit_entries(self.pipeline, schedule)
            return
        for entry in schedule.funcs:
            name = entry.name
            for stage in range(len(entry.stages)) if name in funcs else ():
                yield from NameEdits(self.pipeline, schedule, name, stage).all()
                yield from StageEdits(self.pipeline, schedule, name, stage, self.device).all()
            if name in funcs:
                yield from CallEdits(self.pipeline, schedule, name).all()


def _place(item: Asked) -> tuple[str, str, int, str]:
    """The rule and the subject of a check."""
    return item.rule.id, item.check.func, item.check.stage, item.check.loop
