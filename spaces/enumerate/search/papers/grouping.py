"""Greedy grouping, as R. T. Mullapudi et al. (SIGGRAPH 2016) schedule for CPUs and [S20] for GPUs.

Trivial Funcs are inlined first, and then others as long as that is cheaper. All Funcs that are left
are groups of their own. The search merges the group of a producer into the group of its consumers,
always the pair with the largest benefit, as long as a merge is cheaper. On a GPU, members then move
into the threads of their consumers where that computes no value again (Listing 2 of [S20]).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TypeAlias

from attrs import evolve, frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event, Expanded, Found
from spaces.enumerate.search.first_schedules import offer_incumbents
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.papers.groups import GroupPrices, StageGroup
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.readers import computed_readers
from spaces.enumerate.search.runners_up import offer_runners_up
from spaces.enumerate.search.stagewise.dominance import is_read_once
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.features.work import stage_work
from spaces.model.algorithm.pipeline import Function
from spaces.model.deadline import OutOfTime, ask_clock
from spaces.model.schedules.schedule import ROOT, FuncSchedule, Schedule

OFFERING = 0.125
"""The share of the time limit that is left to verify the schedule found so far."""


@frozen
class _Groups:
    """A division of a pipeline into groups.

    Attributes:
        owners: for each Func that is not inlined, the output of its group.
        inlined: the inlined Funcs.
        nested: the members that are computed in the threads of their reader.
    """

    space: ScheduleSpace
    owners: Mapping[str, str]
    inlined: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()

    @staticmethod
    def separate(space: ScheduleSpace) -> _Groups:
        """Every Func in a group of its own; Funcs with given entries are where these say."""
        given = {entry.name: entry for entry in space.kept.funcs}
        inlined = frozenset(n for n, one in given.items() if one.compute.is_inline)
        names = [one.name for one in reversed(space.pipeline.functions) if one.name not in inlined]
        owners: dict[str, str] = {}
        for name in names:
            level = given[name].compute if name in given else ROOT
            owners[name] = name if level.is_root else owners.get(level.func, name)
        return _Groups(space, owners, inlined)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs of the groups, consumers first."""
        return tuple(name for name, owner in self.owners.items() if name == owner)

    @property
    def all(self) -> tuple[StageGroup, ...]:
        """The groups, consumers first."""
        return tuple(map(self.group, self.outputs))

    def group(self, output: str) -> StageGroup:
        """The group of an output."""
        computed = frozenset(name for name, owner in self.owners.items() if owner == output)
        return StageGroup(
            output, computed - {output}, self._read_inline(computed), computed & self.nested
        )

    def _read_inline(self, computed: Collection[str]) -> frozenset[str]:
        """The inlined Funcs that some Funcs read, directly or through others."""
        found: set[str] = set()
        for function in reversed(self.space.pipeline.functions):
            if function.name in computed or function.name in found:
                found |= self.inlined.intersection(function.callees) - {function.name}
        return frozenset(found)

    def readers(self, name: str) -> frozenset[str]:
        """The Funcs that read a Func, directly or through inlined ones."""
        return computed_readers(self.space.pipeline, name, self.inlined)

    def inline(self, name: str) -> _Groups:
        """The division with one more inlined Func."""
        owners = {one: owner for one, owner in self.owners.items() if one != name}
        return evolve(self, owners=owners, inlined=self.inlined | {name})

    def merge(self, producer: str, consumer: str) -> _Groups:
        """The division in which a group is part of another one; both are named by their outputs."""
        owners = {o: consumer if owner == producer else owner for o, owner in self.owners.items()}
        return evolve(self, owners=owners)


_Phase: TypeAlias = Callable[[_Groups], Iterator[_Groups]]
"""Yields divisions, each cheaper than the one before."""

_Changes: TypeAlias = Callable[[_Groups], Iterator[tuple[_Groups, frozenset[str]]]]
"""Yields divisions after one change, with the outputs of the groups that it touches."""


@frozen
class Grouping:
    """Greedy grouping of the whole patterns of a space (``ScheduleSpace.of_patterns``).

    Inlines trivial Funcs, then merges groups while the cost model finds a merge beneficial. Each
    group has the tile size that is cheapest for the group alone. Restrictions and further sizes of
    the space are asked of whole schedules only.

    It is for ``Options.medium`` of CPUs and ``Options.small`` of GPUs; of larger spaces it searches
    this part. It skips windows that slide, as all compute levels but inline, root and the tile of a
    group, and on a GPU tiles outside the limits of [S20] 4.2.

    Attributes:
        trivial: the most operations of a Func with a single load that is always inlined.
        nests: whether members of groups on a GPU may move into the threads of their consumers.
    """

    trivial: int = 1
    nests: bool = True

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        space = space.of_patterns
        pricer = Pricer.of(space, model, limits)
        board = pricer.board
        yield from offer_incumbents(pricer)
        task = _Merging(pricer, GroupPrices(pricer), self.trivial)
        complete, groups = True, _Groups.separate(space)
        phases: list[tuple[str, _Phase]] = [
            ("trivial", task.inline_trivial),
            ("inlining", task.inline_while_cheaper),
            ("merging", task.merge_while_cheaper),
        ]
        if self.nests and pricer.is_gpu:
            phases.append(("nesting", task.nest_while_cheaper))
        try:
            for step, (name, phase) in enumerate(phases, start=1):
                yield Expanded(step, len(phases), name)
                with board.until(1 - OFFERING).kept():
                    for cheaper in phase(groups):
                        groups = cheaper  # kept, even if the time ends in this phase
                yield board.scored
                yield from task.offer_division(groups)
        except OutOfTime:
            complete = False
            yield from task.offer_division(groups)
        yield board.scored
        yield from offer_runners_up(pricer)
        yield board.done(space, complete)


@frozen
class _Merging:
    """What the phases of one search share."""

    pricer: Pricer
    prices: GroupPrices
    trivial: int

    @property
    def space(self) -> ScheduleSpace:
        """The space of the search."""
        return self.pricer.space

    def offer_division(self, groups: _Groups) -> Iterator[Event]:
        """Offers the schedule of a division, if it is legal and there is time to verify it."""
        try:
            with self.pricer.board.deadline.kept():
                schedule = self._schedule(groups)
                if schedule is None or not self.pricer.is_legal(schedule):
                    return
                cost = self.pricer.price_schedule(schedule)
        except OutOfTime:
            return
        yield from self.pricer.board.offer(Found(cost, schedule))

    def _schedule(self, groups: _Groups) -> Schedule | None:
        """The schedule of a division; None if a group has no price yet, or no legal choice."""
        entries = {name: self.space.menus[name].inlined for name in groups.inlined}
        for group in groups.all:
            known = self.prices.known(group)
            if known is None or not math.isfinite(known.cost):
                return None
            entries |= {entry.name: entry for entry in known.entries}
        entries |= {entry.name: entry for entry in self.space.kept.funcs}
        return self.space.schedule(
            tuple(entries[function.name] for function in self.space.pipeline.functions)
        )

    def inline_trivial(self, groups: _Groups) -> Iterator[_Groups]:
        """Inlines the Funcs that cost no more than a load, and those whose values are each read
        only once.
        """
        for function in self.space.pipeline.functions:
            ask_clock()
            if self._may_inline(groups, function.name) and self._is_trivial(function, groups):
                groups = groups.inline(function.name)
        for group in groups.all:
            self.prices.of(group)
        yield groups

    def _is_trivial(self, function: Function, groups: _Groups) -> bool:
        (stage,) = function.stages
        work = stage_work(stage)
        loads = sum(access.reads for access in work.accesses)
        if loads <= 1 and work.operations.total <= self.trivial:
            return True
        default = Schedule.default(self.space.pipeline)
        inlined = (self.space.menus[name].inlined for name in groups.inlined)
        at_root = (FuncSchedule(n, default.of(n).stages, ROOT, ROOT) for n in groups.owners)
        schedule = default.with_funcs((*inlined, *at_root))
        return is_read_once(self.space.pipeline, schedule, function.name)

    def _may_inline(self, groups: _Groups, name: str) -> bool:
        is_alone = groups.owners.get(name) == name
        return is_alone and self.space.menus[name].places.inline and bool(groups.readers(name))

    def inline_while_cheaper(self, groups: _Groups) -> Iterator[_Groups]:
        """Inlines one Func after another into all its readers."""
        yield from self._take_best(groups, self._inline_each)

    def _inline_each(self, groups: _Groups) -> Iterator[tuple[_Groups, frozenset[str]]]:
        for name in groups.outputs:
            if self._may_inline(groups, name):
                readers = {groups.owners[one] for one in groups.readers(name)}
                yield groups.inline(name), frozenset({name, *readers})

    def merge_while_cheaper(self, groups: _Groups) -> Iterator[_Groups]:
        """Merges one group after another into the only group that reads it."""
        yield from self._take_best(groups, self._merge_each)

    def _merge_each(self, groups: _Groups) -> Iterator[tuple[_Groups, frozenset[str]]]:
        for name in groups.outputs:
            readers = {groups.owners[one] for one in groups.readers(name)}
            if len(readers) == 1 and self.space.menus[name].places.at:
                (consumer,) = readers
                yield groups.merge(name, consumer), frozenset({name, consumer})

    def nest_while_cheaper(self, groups: _Groups) -> Iterator[_Groups]:
        """Moves one member after another into the threads of its only reader."""
        yield from self._take_best(groups, self._nest_each)

    def _nest_each(self, groups: _Groups) -> Iterator[tuple[_Groups, frozenset[str]]]:
        for name, owner in groups.owners.items():
            if name != owner and name not in groups.nested and len(groups.readers(name)) == 1:
                after = evolve(groups, nested=groups.nested | {name})
                if self._computes_no_more(groups.group(owner), after.group(owner), name):
                    yield after, frozenset({owner})

    def _computes_no_more(self, before: StageGroup, after: StageGroup, func: str) -> bool:
        """Whether a group has schedules before and after a change, and computes no more values of a
        Func after it: threads do not share values of the Func.
        """
        if not all(math.isfinite(self.prices.cost(group)) for group in (before, after)):
            return False
        return self.prices.evaluations(after, func) <= self.prices.evaluations(before, func)

    def _take_best(self, groups: _Groups, changes: _Changes) -> Iterator[_Groups]:
        """Takes the change with the largest benefit, as long as there is one."""
        while True:
            best, most = None, 0.0
            for after, touched in changes(groups):
                ask_clock()
                benefit = self._benefit(groups, after, touched)
                if benefit > most:
                    best, most = after, benefit
            if best is None:
                return
            groups = best
            yield groups

    def _benefit(self, before: _Groups, after: _Groups, touched: frozenset[str]) -> float:
        """How much cheaper the groups that a change touches are after it; 0 if they are illegal."""
        left = touched & frozenset(after.outputs)
        now = sum(self.prices.cost(after.group(one)) for one in left)
        if not math.isfinite(now):
            return 0.0
        return sum(self.prices.cost(before.group(one)) for one in touched) - now


STRATEGIES = {"grouping": Grouping()}
