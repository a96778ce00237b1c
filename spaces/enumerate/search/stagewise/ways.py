"""Decides one Func after another, consumers first: what searches of this kind share."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, islice

import numpy as np
from attrs import evolve, frozen
from numpy.typing import NDArray

from spaces.cost.features.features import Features
from spaces.enumerate.search.events import Event, Found
from spaces.enumerate.search.first_schedules import UNIFORM_CHOICES, fill_schedule
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.stagewise.changed_nests import Nests, funcs_around, nests_of
from spaces.enumerate.search.stagewise.dominance import (
    is_read_in_lanes,
    is_read_in_threads,
    is_read_once,
    is_undominated,
)
from spaces.enumerate.search.stagewise.long_tiles import (
    MOST_BEYOND,
    fitting_menus,
    relative_length_of_updates,
)
from spaces.enumerate.search.stagewise.state import (
    CostOfOthers,
    FreeNumbers,
    HalfDecided,
    OpenWay,
    PricedWay,
)
from spaces.enumerate.space.decided_part import decided_part
from spaces.enumerate.space.frontier import depth_of
from spaces.enumerate.space.patterns.menus import adds_up, entry_parameters
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.process.topics.placing import may_be_inlined, may_start_nest
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.schedules.derivations import Derivation
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, of_constant_extent
from spaces.model.schedules.parameters import bind
from spaces.model.schedules.schedule import FuncSchedule, LoopLevel, Schedule

COMPLETING = 0.125
"""The share of the time limit that is left to complete half-decided schedules."""


ALONE = 8
"""How many choices of a structure are judged one by one if none is legal with open numbers."""

LOSS = 1 / 32
"""The share of the work of a nest that the search gives away to decide sooner about its Funcs: the
more Funcs a nest has, the longer each decision takes.
"""

NEST = round(2 / LOSS)
"""Nests of so many Funcs take no more of them: the next Func starts a nest of its own, if it is not
larger than images and outputs are. Each value of that Func is then written and read once: two steps
more beside those of so many Funcs, each of at least one step a value, so at most :data:`LOSS`.
"""


@frozen
class StageDecisions:
    """What the steps of one search share.

    Attributes:
        pricer: the pricer of a space of whole patterns.
        lattice: the largest number of choices of tile sizes of all decided Funcs for which those of
            the loops around a Func are chosen anew with it; beyond it, they keep their values.
        deadline: the end of the search.
    """

    pricer: Pricer
    lattice: int
    deadline: Deadline

    @property
    def space(self) -> ScheduleSpace:
        """The space of the search."""
        return self.pricer.space

    def within(self, space: ScheduleSpace) -> StageDecisions:
        """The same steps in another space of the same pipeline."""
        return evolve(self, pricer=self.pricer.within(space))

    def start(self, steps: Collection[Derivation] = ()) -> HalfDecided:
        """The state in which no Func is decided, with some derivations and without others."""
        wanted = frozenset(map(str, steps))
        partial = self.space.start()
        while partial.decision is not None and not partial.decision.func:
            options = tuple(partial.options)
            chosen = [one for one in options if one.label in wanted]
            partial = partial.take((chosen or [one for one in options if one.is_plain])[0])
        return HalfDecided(partial, {}, 0.0)

    def repeated(
        self, known: HalfDecided, start: HalfDecided, until: Collection[str]
    ) -> HalfDecided:
        """The state after ``start`` with the decisions of a complete one, which may have other
        derivations, up to the first Func of ``until``. They wait for their price.
        """
        given = self.space.pipeline.derivations
        steps = known.partial.state.pipeline.derivations[len(given) :]
        labels = known.partial.taken[len(self.start(steps).partial.taken) :]
        partial = whole = start.partial
        for label in labels:
            decision = partial.decision
            if decision is None or decision.func in until:
                break
            if label not in (option.label for option in partial.options):
                break
            partial = partial.take(label)
            if partial.decision is None or partial.decision.func != decision.func:
                whole = partial
        return HalfDecided(whole, known.numbers, start.cost)

    def part(self, states: Sequence[HalfDecided], names: Collection[str]) -> Pipeline:
        """The pipeline of some Funcs."""
        return decided_part(states[0].partial.state.pipeline, frozenset(names))

    def cost_so_far(self, state: HalfDecided) -> float:
        """The cost of the Funcs that a state decides; infinite if they have no loop nest."""
        names = [entry.name for entry in reversed(state.partial.state.entries)]
        if not names:
            return 0.0
        way = self.scored(self.part([state], names), OpenWay(state, names))
        return np.inf if way is None else way.cost

    def passed(self, state: HalfDecided, names: Sequence[str]) -> HalfDecided:
        """The state after the last of some Funcs, which the space fixes. Its rules wait for the
        next choice, and so does its price unless that of its nests is enough.
        """
        (after,) = state.partial.ways(names[-1])
        passed = HalfDecided(after, state.numbers, np.inf, state)
        changed, others = self._changed(state, names)
        if changed is not None:
            way = OpenWay(passed, names, changed=changed, others=others)
            priced = self.scored(changed.pipeline, way)
            passed = passed if priced is None else evolve(passed, cost=priced.cost)
        return passed

    def exact(self, state: HalfDecided) -> HalfDecided:
        """A complete state with the cost of its whole pipeline, infinite if the schedule is
        illegal.

        Raises:
            OutOfTime: the search is at its end.
        """
        if state.is_priced and not self.pricer.adds_nests:
            return state
        pipeline = state.partial.state.pipeline
        names = [function.name for function in reversed(pipeline.functions)]
        with self.deadline.kept():
            way = self.scored(pipeline, OpenWay(state, names))
            if way is None:
                return evolve(state, cost=np.inf)
            return self.legal(pipeline, way).chosen

    def completions(self, states: Sequence[HalfDecided]) -> Iterator[Event]:
        """Offers half-decided schedules, with the Funcs that are left as the first schedules of a
        search have them.
        """
        for state in states if states and states[0].partial.state.entries else ():
            for choice in UNIFORM_CHOICES:
                try:
                    with self.deadline.kept():
                        schedule = fill_schedule(state.partial, state.numbers, choice)
                        if not self.pricer.is_legal(schedule):
                            continue
                        cost = self.pricer.price_schedule(schedule)
                except OutOfTime:
                    return
                yield from self.pricer.board.offer(Found(cost, schedule))

    def offered(self, states: Iterable[HalfDecided]) -> Iterator[Event]:
        """Offers schedules in which every Func is decided."""
        for state in states:
            schedule = bind(state.partial.schedule, state.numbers)
            yield from self.pricer.board.offer(Found(state.cost, schedule))

    def ways(self, state: HalfDecided, names: Sequence[str]) -> Iterator[OpenWay]:
        """Every undominated way to decide the last of some Funcs."""
        return self.opened(state, state.partial.ways(names[-1], self.wanted(state, names)), names)

    def opened(
        self, state: HalfDecided, afters: Iterable[PartialSchedule], names: Sequence[str]
    ) -> Iterator[OpenWay]:
        """The ways from a state to some in which the last of some Funcs is decided, too."""
        changed, others = self._changed(state, names)
        for after in afters:
            self.pricer.board.considered += 1
            decided = HalfDecided(after, state.numbers, np.inf, state)
            free = self.free(decided, names)
            yield OpenWay(decided, names, free, changed, others)

    def _changed(self, state: HalfDecided, names: Sequence[str]) -> tuple[Nests | None, float]:
        """The nests of a state that a decision about the last of some Funcs changes, and the cost
        of all others; None if all nests need a price.
        """
        *decided, name = names
        pipeline = state.partial.state.pipeline
        if name in pipeline.outputs:
            return None, 0.0
        if not (self.pricer.adds_nests and np.isfinite(state.cost)):
            return None, 0.0
        readers = [reader for reader in pipeline.consumers(name) if reader != name]
        nests = nests_of(pipeline, state.entries(decided), readers)
        if nests is None:
            return None, 0.0
        known = state.cost_beside(nests)
        if known is not None:
            return nests.reading(name), known
        schedule = OpenWay(state, tuple(nests.funcs)).structure.schedule
        before = self.pricer.price_schedule(schedule, part=nests.pipeline)
        return nests.reading(name), state.cost - before

    def wanted(self, state: HalfDecided, names: Sequence[str]) -> Callable[[FuncSchedule], bool]:
        """Which entries of the last of some Funcs the search tries. In a restricted space it tries
        all. Where the nests of its readers have :data:`NEST` Funcs, it tries those at root, which
        start a nest. If each value is read once, by a GPU or in vector lanes, it tries only the
        inlined entry, which computes nothing twice. If such a Func can't be inlined, it tries the
        entries without sliding windows, because a window keeps what is read again.
        """
        if self.space.where:
            return lambda entry: True
        name, process = names[-1], state.partial.state
        part, known = self._nests_of_readers(state, name)
        if len(known.funcs) >= NEST and may_start_nest(process, name):
            return lambda entry: entry.compute.is_root
        reads_once = is_read_once(part, known, name)
        if reads_once and self._loses_nothing_inlined(state, name):
            return lambda entry: entry.compute.is_inline
        path = process.frontier.path(name)
        terms = _terms(process.pipeline)
        return lambda entry: (
            is_undominated(entry, path, terms) and not (reads_once and entry.store != entry.compute)
        )

    def _nests_of_readers(self, state: HalfDecided, name: str) -> tuple[Pipeline, Schedule]:
        """The nests that read a Func, as a pipeline that reads all others as images."""
        process = state.partial.state
        readers = [one for one in process.pipeline.consumers(name) if one != name]
        around = funcs_around(process.pipeline, process.entries, readers)
        return decided_part(process.pipeline, around), Schedule(state.entries(around))

    def _loses_nothing_inlined(self, state: HalfDecided, name: str) -> bool:
        """Whether a Func whose values are each read once may be inlined, keeps vector lanes then,
        and is not computed again by each thread that computes its reader.
        """
        process = state.partial.state
        if self.pricer.is_gpu:
            entries = {entry.name: entry for entry in process.entries}
            loses_nothing = not is_read_in_threads(process.pipeline, entries, name)
        else:
            loses_nothing = is_read_in_lanes(*self._nests_of_readers(state, name), name)
        return loses_nothing and may_be_inlined(process, name)

    def inlined(
        self, state: HalfDecided, names: Sequence[str], known: PartialSchedule | None
    ) -> HalfDecided | None:
        """The state in which the last of some Funcs is inlined, with the cost of the state before.
        This is for a search that goes on with this state alone: the missing cost is the same in all
        ways that follow, and the complete schedule gets its own price. None if the Func has other
        ways, or numbers to choose.

        Args:
            state: the state before.
            names: the decided Funcs and the next one, consumers first.
            known: the way that the search takes, if it knows it.
        """
        space, name, process = self.space, names[-1], state.partial.state
        adds_up = self.pricer.adds_nests and state.is_priced
        if not adds_up or space.where or space.sizes or name in process.pipeline.outputs:
            return None
        if known is None:
            part, around = self._nests_of_readers(state, name)
            starts_nest = len(around.funcs) >= NEST and may_start_nest(process, name)
            reads_once = not starts_nest and is_read_once(part, around, name)
            if not reads_once or not self._loses_nothing_inlined(state, name):
                return None
            ways = state.partial.ways(name, lambda entry: entry.compute.is_inline)
            known, *others = islice(ways, 2)
            if others:
                return None
        after = HalfDecided(known, state.numbers, state.cost, state)
        (entry,) = after.entries((name,))
        if not entry.compute.is_inline or self.free(after, names):
            return None
        return after

    def recurred(
        self,
        state: HalfDecided,
        names: Sequence[str],
        known: PartialSchedule,
        numbers: Callable[[FreeNumbers], Mapping[str, int] | None],
    ) -> HalfDecided | None:
        """The state in which the last of some Funcs is decided as before, with the same numbers, at
        the cost of the state before, for a search that goes on with it alone (:meth:`inlined`).
        None if it needs a price or a verdict.

        Args:
            state: the state before.
            names: the decided Funcs and the next one, consumers first.
            known: the way that the search takes.
            numbers: the numbers that it chose before from some menus; None if it chose from others.
        """
        space, process = self.space, state.partial.state
        if space.where or space.sizes or names[-1] in process.pipeline.outputs:
            return None
        changed, others = self._changed(state, names)
        after = HalfDecided(known, state.numbers, state.cost, state)
        free = self.free(after, names)
        if changed is None or self._is_doubtful(OpenWay(after, names, free, changed, others)):
            return None
        chosen = numbers(free)
        if chosen is None:
            return None
        every = {**state.numbers, **chosen}
        return evolve(after, numbers=every, others=CostOfOthers(changed, every, others))

    def free(self, state: HalfDecided, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """The parameters to choose together, with their numbers: those of the entry of the last of
        some Funcs and, if they are not too many, those of the loops around it. For a GPU those
        around a sum are few enough in pipelines of any length: only with the sum does a search see
        how many values a thread should compute.
        """
        entries = {one.name: one for one in state.entries(names)}
        entry = entries[names[-1]]
        before = state.before
        path = () if before is None else before.partial.state.frontier.path(entry.name)
        around = path[: depth_of(path, entry.compute)]
        menus = state.partial.state.menus
        counted = entries.values()
        function = state.partial.state.pipeline.function(entry.name)
        if around and adds_up(function) and self.pricer.is_gpu:
            counted = {around[0].func: entries[around[0].func], entry.name: entry}.values()
        numbers = (len(menus[one]) for e in counted for one in entry_parameters(e))
        sizes = accumulate(numbers, operator.mul)
        is_small = around and all(size <= self.lattice for size in sizes)
        shared = self.menus(state, entries[around[0].func]) if is_small else {}
        return {**self.menus(state, entry), **shared}

    def menus(self, state: HalfDecided, entry: FuncSchedule) -> dict[str, tuple[int, ...]]:
        """The numbers to choose from for the parameters of an entry: those that fit the Func, or
        all in a restricted space.
        """
        process = state.partial.state
        if self.space.where:
            return {name: process.menus[name] for name in entry_parameters(entry)}
        return fitting_menus(process.pipeline, entry, process.menus)

    def scored(self, part: Pipeline, way: OpenWay) -> PricedWay | None:
        """A way with its costs; None if no choice has a finite one.

        Args:
            part: the pipeline of all decided Funcs.
            way: the way.
        """
        return self._priced(way, self.pricer.price_structure(way.priced, _nests(part, way)))

    def with_all_numbers(self, part: Pipeline, priced: PricedWay) -> PricedWay | None:
        """A way that was priced with usual numbers, with its costs for all numbers. The funnel of
        the search counts its structure once.
        """
        whole = priced.way.whole
        if whole is None:
            return priced
        found = self._repriced(part, whole)
        return None if found is None else evolve(found, otherwise=priced.otherwise)

    def _repriced(self, part: Pipeline, way: OpenWay) -> PricedWay | None:
        return self._priced(way, self.pricer.reprice_structure(way.priced, _nests(part, way)))

    def _priced(self, way: OpenWay, costs: NDArray[np.float64]) -> PricedWay | None:
        if not np.isfinite(costs).any():
            return None
        return PricedWay(way, way.others + costs, is_legal=not self._is_doubtful(way))

    def read_features(self, part: Pipeline, way: OpenWay) -> Features | None:
        """The features of the nests that a way changes; None if they have no loop nest."""
        return self.pricer.read_features(way.priced, _nests(part, way))

    def price_usual_numbers(self, part: Pipeline, way: OpenWay) -> PricedWay | None:
        """A way with its cost for usual numbers, or for all if it has none for these; None if it
        has no cost at all. For GPUs all numbers count: the middle ones of threads and of the values
        of a thread often do not go together.
        """
        if self.pricer.is_gpu:
            found = self.scored(part, way)
            return None if found is None else self._within_reach(found)
        usual = way.usual
        found = self.scored(part, usual)
        if found is None and usual.whole is not None:
            found = self._repriced(part, usual.whole)
        return found

    def _within_reach(self, found: PricedWay) -> PricedWay:
        """The way without the choices whose updates reach far beyond the Func decided last, unless
        all do: its producers, which have no cost yet, would compute as much more.
        """
        way, structure = found.way, found.way.priced
        numbers: dict[str, int | NDArray[np.int64]] = {
            **way.state.numbers,
            **structure.columns,
        }
        reach = relative_length_of_updates(way.state.partial.state.pipeline, way.entry, numbers)
        costs = np.where(reach > MOST_BEYOND, np.inf, found.costs)
        return evolve(found, costs=costs) if np.isfinite(costs).any() else found

    def _is_doubtful(self, way: OpenWay) -> bool:
        """Whether a way needs a verdict before the search goes on with it. Complete schedules get
        one in any case; most that are illegal unroll loops whose extents are not constant, run them
        on threads, or store arrays of such extents in kernels.
        """
        space, pipeline = self.space, way.state.partial.state.pipeline
        if space.where or space.sizes or not self.pricer.adds_nests:
            return True
        if way.decided[-1] in pipeline.outputs:  # tiles may be longer than an output
            return True
        if self.pricer.is_gpu and (way.changed is None or _is_at_loop(way.entry)):
            return True
        entry, sizes = way.entry, way.state.partial.state.sizes
        constant = sizes.constant.get(entry.name, frozenset())
        return any(_has_open_extents(order, constant) for order in entry.stages)

    def legal(self, part: Pipeline, way: PricedWay) -> PricedWay:
        """The way with an infinite cost for each choice that is illegal, or that the restrictions
        leave out.
        """
        costs = self.pricer.keep_legal(way.structure, way.costs, part)
        if self.pricer.is_gpu and not np.isfinite(costs).any():
            costs = self._legal_alone(part, way)
        return evolve(way, costs=costs, is_legal=True)

    def _legal_alone(self, part: Pipeline, way: PricedWay) -> NDArray[np.float64]:
        """The costs of the first legal one of the cheapest choices, each judged with its numbers:
        some extents are known to be constant only then, such as those of threads of a Func that a
        block computes for its tile. All other choices cost infinitely much.
        """
        costs = np.full(way.costs.shape, np.inf)
        for index in np.argsort(way.costs, axis=None, kind="stable")[:ALONE]:
            alone = Structure(way.structure.at(int(index)), {})
            cost = self.pricer.keep_legal(alone, np.array(way.costs.flat[index]), part)
            if np.isfinite(cost):
                costs.flat[index] = cost
                break
        return costs


def _nests(part: Pipeline, way: OpenWay) -> Pipeline:
    """The pipeline of what is priced of a way: of all decided Funcs, or of the nests it changes."""
    return part if way.changed is None else way.changed.pipeline


@lru_cache(maxsize=16)
def _terms(pipeline: Pipeline) -> frozenset[LoopLevel]:
    """The loops over terms of sums."""
    return frozenset(
        LoopLevel(function.name, rvar.name)
        for function in pipeline.functions
        for stage in function.stages
        for rvar in stage.rvars
    )


def _has_open_extents(order: DomainOrder, dimensions: Collection[str]) -> bool:
    """Whether an unrolled loop or a thread loop may have an extent that is no constant.

    Args:
        order: the loops of a stage.
        dimensions: those of its Func that have a constant extent.
    """
    constant = of_constant_extent(dimensions, order.splits)
    return any(
        loop.kind in (LoopKind.UNROLLED, LoopKind.GPU_THREAD) and loop.name not in constant
        for loop in order.loops
    )


def _is_at_loop(entry: FuncSchedule) -> bool:
    return not (entry.compute.is_root or entry.compute.is_inline)
