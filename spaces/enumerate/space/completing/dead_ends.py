"""Why no completion of a partial schedule is legal, found by a walk over all of them.

The walk leaves a branch where something makes all its completions illegal, and judges the numbers
of each structure as arrays. It is for what a universe does not hold: loops decided one by one,
further Funcs, Python restrictions, half-decided schedules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from attrs import define, evolve, field
from numpy.typing import NDArray

from spaces.constraints.legality.judge import ask_own
from spaces.constraints.legality.kept_values import may_keep
from spaces.constraints.legality.lattice import is_violated, judged_checks
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import RESTRICTION
from spaces.constraints.solver.emptiness import Emptiness
from spaces.constraints.solver.encode import Label
from spaces.enumerate.space.further_sizes import shown_size
from spaces.enumerate.space.judged_sizes import JudgedSizes
from spaces.enumerate.space.listing import structures_after
from spaces.enumerate.space.process.legality import LastingFault, lasting_faults
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.restrictions.restriction import FeatureCondition, Restriction
from spaces.enumerate.space.structure import Structure
from spaces.model.deadline import Deadline, OutOfTime, ask_clock
from spaces.model.formulas.algebra import ARRAYS, read_all
from spaces.model.schedules.parameters import bind
from spaces.model.schedules.schedule import Schedule


def explain_dead_ends(start: PartialSchedule, *, seconds: float) -> Emptiness:
    """A minimal set of rules and restrictions; each completion of a partial schedule breaks at
    least one. ``seconds`` is the time limit; after it the answer is ``unknown``, or the set may
    not be minimal.
    """
    deadline = Deadline.after(seconds)
    try:
        with deadline.kept():
            kept = _reasons(start)
            if kept is None:
                return Emptiness("inhabited")
    except OutOfTime:
        return Emptiness("unknown")
    minimal = True
    for label in kept if len(kept) > 1 else ():
        if label in kept:
            try:
                with deadline.kept():
                    kept = _reasons(start, frozenset(kept) - {label}) or kept
            except OutOfTime:
                minimal = False
                break
    return Emptiness("empty", kept, (), minimal)


def _reasons(
    start: PartialSchedule, counted: frozenset[Label] | None = None
) -> tuple[Label, ...] | None:
    """Rules and restrictions that exclude all completions together, restrictions last; None if a
    completion breaks none. ``counted`` are those to choose from; None for all.
    """
    walk = _DeadEndWalk(start.state, counted)
    for structure in structures_after(start, lambda one: not walk.is_dead(one)):
        if walk.has_legal(structure):
            return None
    return tuple(sorted(walk.blamed, key=_is_restriction))


@define
class _DeadEndWalk:
    """A walk over the completions of a state.

    Attributes:
        first: the state.
        counted: the reasons that count; None for all.
        blamed: those that exclude what the walk has seen, each with a completion of its own.
    """

    first: ProcessState
    counted: frozenset[Label] | None
    blamed: dict[Label, None] = field(init=False, factory=dict)

    def is_dead(self, half: PartialSchedule) -> bool:
        """Whether no completion of a partial schedule is legal."""
        state = half.state
        given = () if state.entries else _faults_of_given(state)
        rules = map(self._label, (*given, *lasting_faults(state)))
        return self._excludes((*map(self._named, half.hopeless_restrictions()), *rules))

    def has_legal(self, structure: Structure) -> bool:
        """Whether a choice of numbers of a structure is legal."""
        known = {n: v for n, v in self.first.numbers.items() if n in structure.menus}
        menus = {n: menu for n, menu in structure.menus.items() if n not in known}
        whole = Structure(bind(structure.schedule, known), menus)
        return any(map(self._part_has_legal, whole.parts()))

    def _part_has_legal(self, part: Structure) -> bool:
        ask_clock()
        alive = np.ones(part.shape, dtype=np.bool_)
        holding: dict[Label, NDArray[np.bool_]] = {}
        for label, holds in self._masks(part):
            holding[label] = holding.get(label, alive) & holds
        for label in self.blamed.keys() & holding.keys():
            alive = alive & holding.pop(label)
        while alive.any():
            left = {label: int((alive & holds).sum()) for label, holds in holding.items()}
            worst = min(left, key=lambda one: (left[one], not _is_restriction(one)), default=None)
            if worst is None or left[worst] == alive.sum():
                break
            self.blamed[worst] = None
            alive = alive & holding.pop(worst)
        chosen = map(part.at, map(int, np.flatnonzero(alive)))
        return not all(map(self._excludes, map(self._faults_of_whole, chosen)))

    def _masks(self, part: Structure) -> Iterator[tuple[Label, NDArray[np.bool_]]]:
        """For each reason that counts: the choices of a structure that do not break it."""
        state = self.first
        sized = (evolve(state.pipeline, estimates=size) for size in state.further)
        exact, columns = state.choices.exact, dict(part.columns)
        for size, pipeline in zip(("", *self._sizes), (state.pipeline, *sized), strict=True):
            for asked, sizes in judged_checks(pipeline, part.schedule, state.device, exact=exact):
                for item in asked:
                    label = Label(item.rule.id, item.check.func, size)
                    holds, known = item.check.holds, {**sizes, **columns}
                    if self._counts(label) and known.keys() >= holds.names:
                        yield label, np.asarray(read_all((holds,), known, ARRAYS)[0], dtype=bool)
        restricted = state.restricted
        if restricted is None:
            return
        for condition in restricted.conditions:
            label = self._named(condition)
            if self._counts(label):
                yield label, restricted.condition_mask(condition, part.schedule, columns)

    def _faults_of_whole(self, schedule: Schedule) -> list[Label]:
        """What excludes a schedule that the arrays find legal: predicates, and proofs."""
        restricted = self.first.restricted
        refusing = restricted.refusing_predicates(schedule) if restricted else ()
        found = list(map(self._named, refusing))
        if may_keep(schedule):
            violations = self._judge.verdict(schedule).violations
            found += (Label(one.rule, one.func) for one in violations)
        return found

    @cached_property
    def _judge(self) -> JudgedSizes:
        state = self.first
        return JudgedSizes(state.pipeline, state.further, state.device, state.choices.exact)

    @cached_property
    def _sizes(self) -> tuple[str, ...]:
        """The texts of the further sizes."""
        return tuple(map(shown_size, self.first.further))

    def _excludes(self, labels: Iterable[Label]) -> bool:
        """Whether one of these reasons counts. Blames the first one if none is blamed yet."""
        counting = list(filter(self._counts, labels))
        if counting and self.blamed.keys().isdisjoint(counting):
            self.blamed[counting[0]] = None
        return bool(counting)

    def _label(self, fault: LastingFault) -> Label:
        size = "" if fault.size is None else self._sizes[fault.size]
        return Label(fault.asked.rule.id, fault.asked.check.func, size)

    def _counts(self, label: Label) -> bool:
        return self.counted is None or label in self.counted

    def _named(self, one: Restriction) -> Label:
        """The name of a restriction, with the first Func that it names."""
        features = one.features if isinstance(one, FeatureCondition) else ()
        func = next((used.func for used in features if used.func), self.first.pipeline.name)
        return Label(f"{RESTRICTION}{one}", func)


def _faults_of_given(state: ProcessState) -> Iterator[LastingFault]:
    """The faults of the given entries, which no decision changes; they stay whatever the other
    entries are.
    """
    given = {entry.name: entry for entry in state.given}
    plain = Schedule.default(state.pipeline)
    schedule = plain.with_funcs(given.get(entry.name, entry) for entry in plain.funcs)
    records = Records(state.pipeline, schedule, state.device)
    for name, entry in given.items():
        if not entry.specializations:  # each case is judged on its own
            yield from map(LastingFault, filter(is_violated, ask_own(records, name)))


def _is_restriction(label: Label) -> bool:
    return label.rule.startswith(RESTRICTION)
