"""How many wrappers, clones and factored reductions a process adds at most, with their options."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from attrs import evolve, frozen

from spaces.enumerate.space.process.func_limits import FuncLimits, FuncOrders
from spaces.enumerate.space.process.sizes import sizes_of
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topics.deriving import derivations, following
from spaces.enumerate.space.process.topics.specializing import offered_conditions
from spaces.model.deadline import ask_clock
from spaces.model.schedules.derivations import Derivation, RFactor, Wrap
from spaces.model.schedules.derive import derivation
from spaces.model.schedules.schedule import Schedule


@frozen
class Factoring:
    """One way to factor an update.

    Attributes:
        update: the update.
        whole: the orders of its Func after that.
        partial: the orders of the Func of partial results.
        wrapper: the orders of a wrapper of that Func.
        again: the ways to factor the partial results.
    """

    update: int
    whole: FuncOrders
    partial: FuncOrders
    wrapper: FuncOrders | None
    again: tuple[Factoring, ...]


@frozen
class DerivedLimits:
    """The Funcs that derivations may add to the pipeline of a state in which nothing is decided."""

    start: ProcessState

    @cached_property
    def limits(self) -> FuncLimits:
        """The limits of single Funcs."""
        return evolve(self._counting, strangers=self._strangers)

    @cached_property
    def orders(self) -> dict[str, FuncOrders]:
        """The orders of each Func of the pipeline, whichever of its updates are factored."""
        found = {}
        for function in self.start.pipeline.functions:
            own = self._counting.orders(self.start, function.name)
            for one in self.factorings[function.name]:
                own = own.or_else(one.whole)
            found[function.name] = own
        return found

    @cached_property
    def longest(self) -> int:
        """The largest number of loops of a stage."""
        return max(max(orders.loops) for orders in self._all_orders())

    def around_producers(self, func: str) -> int:
        """The largest number of loops of a Func and of those that it is factored into, around the
        uses of its producers.
        """
        inside = [0]
        for one in self.factorings[func]:
            inside += (max(each.partial.loops) for each in _each(one))
        return max(self.orders[func].loops) + self.start.choices.derivations * max(inside)

    def _all_orders(self) -> Iterator[FuncOrders]:
        yield from self.orders.values()
        yield from self.wrappers.values()
        for ways in self.factorings.values():
            for one in ways:
                for inner in _each(one):
                    yield from (inner.whole, inner.partial)

    @cached_property
    def clone_sets(self) -> Counter[str]:
        """For how many sets of readers each Func may be cloned first."""
        return Counter(step.func for step in derivations(self.start, "clone_in"))

    @cached_property
    def clones(self) -> dict[str, int]:
        """How many clones of each Func there are at most at once. A first one takes a reader of its
        own, a later one is made for a clone of a reader.
        """
        pipeline, left = self.start.pipeline, {*self.start.left, *self.start.pipeline.outputs}
        readers = {f.name: pipeline.consumers(f.name) for f in pipeline.functions}
        latest = {name: len(readers[name]) if self.clone_sets[name] else 0 for name in readers}
        total = Counter(latest)
        for _ in range(self.start.choices.derivations - 1):
            if self.clone_sets:
                latest = {
                    name: 0 if name in left else sum(latest[one] for one in readers[name])
                    for name in readers
                }
                total.update(latest)
        return total

    @cached_property
    def _strangers(self) -> int:
        """How many stages the added Funcs have at most at once."""
        rounds, pipeline = self.start.choices.derivations, self.start.pipeline
        has_wrappers = bool(self.wrappers)
        stages = rounds * has_wrappers * len(pipeline.images)
        for function in pipeline.functions:
            name, copies = function.name, self.clones[function.name]
            updates = {one.update for one in self.factorings[name]}
            partial = rounds * len(updates) * (1 + copies)
            stages += copies * len(function.stages) + 2 * partial
            stages += rounds * has_wrappers * (1 + copies + partial)
        return stages

    @cached_property
    def _counting(self) -> FuncLimits:
        conditions = offered_conditions(self.start.pipeline, self.start.device)
        boxes = sizes_of(self.start.pipeline).boxes
        extents: dict[tuple[str, str], int | None] = {
            (func, name): box[1] for func, own in boxes.items() for name, box in own.items()
        }
        return FuncLimits(extents, bool(self.clone_sets), len(conditions))

    @cached_property
    def wrappers(self) -> dict[str, FuncOrders]:
        """The orders of a wrapper of each Func and image that may have one."""
        steps = derivations(self.start, "in_")
        after = _rewritten(self.start, *steps)
        boxes = sizes_of(after.pipeline).boxes if steps else {}
        found = {}
        for step in steps:
            if step in after.pipeline.derivations:
                for dimension, box in boxes.get(step.name, {}).items():
                    self._counting.extents[step.name, dimension] = box[1]
                found[step.func] = self._counting.orders(after, step.name)
        return found

    @cached_property
    def factorings(self) -> dict[str, tuple[Factoring, ...]]:
        """The ways to factor each update of a Func, by Func."""
        steps = derivations(self.start, "rfactor")
        rounds = self.start.choices.derivations
        return {
            function.name: tuple(
                self._factored(self.start, (s for s in steps if s.func == function.name), rounds)
            )
            for function in self.start.pipeline.functions
        }

    def _factored(
        self, state: ProcessState, steps: Iterable[Derivation], rounds: int
    ) -> Iterator[Factoring]:
        """The ways to factor an update by some steps, and the partial results again."""
        for step in steps:
            after = _rewritten(state, step)
            if isinstance(step, RFactor) and step in after.pipeline.derivations:
                self._take_extents(
                    step.name, step.func, {var: loop for loop, var in step.preserved}
                )
                again = following(after, step) if rounds > 1 else ()
                ways = tuple(self._factored(after, again, rounds - 1))
                partial = self._counting.orders(after, step.name)
                for one in ways:
                    partial = partial.or_else(one.whole)
                whole = self._counting.orders(after, step.func)
                yield Factoring(step.update, whole, partial, self._wrapper(after, step.name), ways)

    def _wrapper(self, state: ProcessState, func: str) -> FuncOrders | None:
        """The orders of a wrapper of a Func that a derivation adds."""
        if "in_" not in state.choices.directives:
            return None
        step = Wrap(func)
        after = _rewritten(state, step)
        self._take_extents(step.name, func, {})
        return self._counting.orders(after, step.name)

    def _take_extents(self, func: str, source: str, renamed: Mapping[str, str]) -> None:
        """Give the dimensions of a derived Func the extents of those of its source."""
        extents = self._counting.extents
        found = {d: extent for (name, d), extent in extents.items() if name == source}
        found |= {var: found.get(loop) for var, loop in renamed.items()}
        extents.update(((func, d), extent) for d, extent in found.items())


def _each(factoring: Factoring) -> Iterator[Factoring]:
    """A way to factor an update, and all that may follow it."""
    yield factoring
    for one in factoring.again:
        yield from _each(one)


def _rewritten(state: ProcessState, *steps: Derivation) -> ProcessState:
    return evolve(state, pipeline=derivation(state.pipeline, Schedule((), steps)).pipeline)


@frozen
class Added:
    """The ways to derive Funcs, with the options of each.

    Attributes:
        derived: the Funcs that may be derived.
        depth: the largest number of loops around their uses.
        others: the loops of each stage of the Funcs of the pipeline.
    """

    derived: DerivedLimits
    depth: int
    others: Sequence[int]

    def ways(self) -> int:
        """The number of ways."""
        pipeline = self.derived.start.pipeline
        total = math.prod(self._wrapped(image.name) for image in pipeline.images)
        for function in pipeline.functions:
            ask_clock()
            total *= self._graph(function.name) * self._cloned(function.name)
        return total

    def _options(self, orders: FuncOrders) -> int:
        return self.derived.limits.options(orders, self.depth, self.others)

    def _graph(self, func: str) -> int:
        """The ways to wrap a Func and to factor its updates."""
        return self._wrapped(func) * self._factored(self.derived.factorings[func])

    def _wrapped(self, source: str) -> int:
        return self._chain(self.derived.wrappers.get(source))

    def _chain(self, wrapper: FuncOrders | None) -> int:
        """The ways to wrap a Func, its wrapper, and so on."""
        ways = 1
        if wrapper is not None:
            options = self._options(wrapper)
            for _ in range(self.derived.start.choices.derivations):
                ways = 1 + options * ways
        return ways

    def _factored(self, factorings: Sequence[Factoring]) -> int:
        """The ways to factor the updates of a Func, each in one of some ways or not."""
        ways = Counter[int]()
        for one in factorings:
            partial = self._options(one.partial) * self._chain(one.wrapper)
            ways[one.update] += partial * self._factored(one.again)
        return math.prod(1 + each for each in ways.values())

    def _cloned(self, func: str) -> int:
        """The ways to clone a Func for sets of its readers, which have no reader in common."""
        sets = self.derived.clone_sets[func]
        if not sets:
            return 1
        clone = self._clone(func, self.derived.start.choices.derivations)
        most = len(self.derived.start.pipeline.consumers(func))
        return sum(math.comb(sets, number) * clone**number for number in range(most + 1))

    def _clone(self, func: str, longest: int) -> int:
        """The ways to schedule one clone, and to clone its producers for it and for others."""
        start = self.derived.start
        ways = self._options(self.derived.orders[func]) * self._graph(func)
        for name in start.pipeline.function(func).callees if longest > 1 else ():
            if name in self.derived.orders and name not in start.left:
                ways *= 1 + self._sets_with_one(name) * self._clone(name, longest - 1)
        return ways

    def _sets_with_one(self, func: str) -> int:
        """The sets of readers of a Func that have one given reader, a clone."""
        readers = self.derived.start.pipeline.consumers(func)
        others = sum(1 + self.derived.clones[reader] for reader in readers) - 1
        largest = self.derived.start.choices.clone_consumers
        return sum(math.comb(others, number) for number in range(largest))
