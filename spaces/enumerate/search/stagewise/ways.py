"""The ways to decide a Func that a search looks at."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

import numpy as np
from attrs import frozen

from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.stagewise.changed_nests import Nests, funcs_around, nests_of
from spaces.enumerate.search.stagewise.device_policy import DevicePolicy
from spaces.enumerate.search.stagewise.dominance import is_read_once, is_undominated
from spaces.enumerate.search.stagewise.long_tiles import fitting_menus
from spaces.enumerate.search.stagewise.state import HalfDecided, OpenWay
from spaces.enumerate.space.decided_part import decided_part
from spaces.enumerate.space.frontier import depth_of
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.process.topics.placing import may_be_inlined, may_start_nest
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.parameters import entry_parameters
from spaces.model.schedules.schedule import FuncSchedule, LoopLevel, Schedule

LOSS = 1 / 32
"""The share of the work of a nest that the search gives away to decide sooner about its Funcs: the
more Funcs a nest has, the longer each decision takes.
"""

NEST = round(2 / LOSS)
"""A nest of this many Funcs takes no further one. The next Func starts a nest of its own, if it is
not larger than images and outputs are. Each value of that Func is then written and read once, which
is two steps more. The Funcs of the nest take at least one step a value each, so the loss is at most
:data:`LOSS`.
"""


@frozen
class Ways:
    """Lists the ways to decide a Func.

    Attributes:
        pricer: the pricer of a space of whole patterns.
        policy: that of the device.
        lattice: a limit for the choices of tile sizes of all decided Funcs together. Up to it, the
            tile sizes of the loops around a Func are chosen anew with the Func; beyond it, they
            keep their values.
    """

    pricer: Pricer
    policy: DevicePolicy
    lattice: int

    def list_ways(self, state: HalfDecided, names: Sequence[str]) -> Iterator[OpenWay]:
        """Every undominated way to decide the last of some Funcs."""
        afters = state.partial.ways(names[-1], self.filter_entries(state, names))
        return self.open_ways(state, afters, names)

    def open_ways(
        self, state: HalfDecided, afters: Iterable[PartialSchedule], names: Sequence[str]
    ) -> Iterator[OpenWay]:
        """The ways from a state to some in which the last of some Funcs is decided, too."""
        changed, others = self.find_changed_nests(state, names)
        for after in afters:
            self.pricer.board.considered += 1
            decided = HalfDecided(after, state.numbers, np.inf, state)
            free = self.free_numbers(decided, names)
            yield OpenWay(decided, names, free, changed, others)

    def find_changed_nests(
        self, state: HalfDecided, names: Sequence[str]
    ) -> tuple[Nests | None, float]:
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

    def filter_entries(
        self, state: HalfDecided, names: Sequence[str]
    ) -> Callable[[FuncSchedule], bool]:
        """Which entries of the last of some Funcs the search tries. In a restricted space it tries
        all. Where the nests of its readers have :data:`NEST` Funcs, it tries those at root, which
        start a nest. If each value is read once, by a GPU or in vector lanes, it tries only the
        inlined entry, which computes nothing twice. If such a Func can't be inlined, it tries the
        entries without sliding windows, because a window keeps what is read again.
        """
        if self.pricer.space.where:
            return lambda entry: True
        name, process = names[-1], state.partial.state
        part, known = self.nests_of_readers(state, name)
        if len(known.funcs) >= NEST and may_start_nest(process, name):
            return lambda entry: entry.compute.is_root
        reads_once = is_read_once(part, known, name)
        if reads_once and self.should_be_inlined(state, name, part, known):
            return lambda entry: entry.compute.is_inline
        path = process.frontier.path(name)
        terms = _terms(process.pipeline)
        return lambda entry: (
            is_undominated(entry, path, terms) and not (reads_once and entry.store != entry.compute)
        )

    def nests_of_readers(self, state: HalfDecided, name: str) -> tuple[Pipeline, Schedule]:
        """The nests that read a Func, as a pipeline that reads all others as images."""
        process = state.partial.state
        readers = [one for one in process.pipeline.consumers(name) if one != name]
        around = funcs_around(process.pipeline, process.entries, readers)
        return decided_part(process.pipeline, around), Schedule(state.entries(around))

    def should_be_inlined(
        self, state: HalfDecided, name: str, part: Pipeline, nests: Schedule
    ) -> bool:
        """Whether a Func whose values are each read once may be inlined, and loses nothing then.
        The arguments are those of :meth:`DevicePolicy.loses_nothing_inlined`.
        """
        loses_nothing = self.policy.loses_nothing_inlined(state, name, part, nests)
        return loses_nothing and may_be_inlined(state.partial.state, name)

    def free_numbers(self, state: HalfDecided, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """The parameters to choose together, with their numbers: those of the entry of the last of
        some Funcs and, if they are not too many, those of the loops around it.
        """
        entries = {one.name: one for one in state.entries(names)}
        entry = entries[names[-1]]
        before = state.before
        path = () if before is None else before.partial.state.frontier.path(entry.name)
        around = path[: depth_of(path, entry.compute)]
        menus = state.partial.state.menus
        function = state.partial.state.pipeline.function(entry.name)
        counted = self.policy.counted_entries(entries, around, function)
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
        if self.pricer.space.where:
            return {name: process.menus[name] for name in entry_parameters(entry)}
        return fitting_menus(process.pipeline, entry, process.menus)


@lru_cache(maxsize=16)
def _terms(pipeline: Pipeline) -> frozenset[LoopLevel]:
    """The loops over terms of sums."""
    return frozenset(
        LoopLevel(function.name, rvar.name)
        for function in pipeline.functions
        for stage in function.stages
        for rvar in stage.rvars
    )
