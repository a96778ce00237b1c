"""How many schedules a process leads to at most: each Func has the options that it has in the
deepest nest, whatever is decided about the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from attrs import evolve, field, frozen

from spaces.enumerate.patterns import LOOP_BY_LOOP
from spaces.enumerate.process.decision import Topic
from spaces.enumerate.process.deriving import derivations
from spaces.enumerate.process.order_counts import OrderCount, order_count
from spaces.enumerate.process.orders import menu_of
from spaces.enumerate.process.placing import storage_topics
from spaces.enumerate.process.state import ProcessState
from spaces.model.deadline import ask_clock
from spaces.model.schedules.derivations import Clone, Derivation, RFactor, Wrap
from spaces.model.schedules.derive import derivation
from spaces.model.schedules.schedule import FuncSchedule, Schedule, StageOf


def upper_limit(start: ProcessState) -> int:
    """An upper limit of the number of schedules after a state in which nothing is decided."""
    limits = _Limits(start)
    depths = _depths(limits)
    names = [function.name for function in start.pipeline.functions]
    total = math.prod(limits.options(name, depths[name]) for name in names)
    return total * math.prod(1 + options for options in _added(limits, depths))


@frozen
class _Limits:
    """Limits of the options of single Funcs of a pipeline."""

    state: ProcessState
    _orders: dict[tuple[str, bool], tuple[OrderCount, ...]] = field(init=False, factory=dict)

    def options(self, name: str, depth: int) -> int:
        """The options of a Func with uses inside ``depth`` loops, but for its factors."""
        ask_clock()
        state, choices = self.state, self.state.choices
        if any(entry.name == name for entry in state.given):
            return 1
        function = state.function(name)
        is_output = name in state.pipeline.outputs
        total = 0
        if "at" in choices.placements and not is_output:
            total = self._count(name, at_root=False) * self._stores(depth)
        if "root" in choices.placements or is_output:
            total += self._count(name, at_root=True)
        draft = state.with_draft(FuncSchedule.default(function, stored=True))
        total *= math.prod(_number(topic, draft) for topic in storage_topics(state, name))
        total *= self._companions(name)
        return total + ("inline" in choices.placements and function.is_pure and not is_output)

    def loops(self, name: str) -> tuple[int, ...]:
        """The largest number of loops of each stage of a Func."""
        pairs = zip(self.orders(name, True), self.orders(name, False), strict=True)
        return tuple(max(root.loops, inner.loops) for root, inner in pairs)

    def orders(self, name: str, at_root: bool) -> tuple[OrderCount, ...]:
        """The orders of each stage of a Func."""
        key = (name, at_root)
        if key not in self._orders:
            self._orders[key] = tuple(self._counted(name, at_root))
        return self._orders[key]

    def _counted(self, name: str, at_root: bool) -> Iterator[OrderCount]:
        names = self.state.choices.root if at_root else self.state.choices.inner
        stages = len(self.state.function(name).stages)
        if names[0] in LOOP_BY_LOOP:
            for index in range(stages):
                yield order_count(self.state, StageOf(name, index), names[0])
            return
        menu = menu_of(self.state, name)
        patterns = (menu.root if at_root else menu.inner).values()
        for index in range(stages):
            loops = [len(orders[index].loops) for orders in patterns]
            # Patterns are for all stages together: the first stage counts them.
            sizes = 1 if index else sum(map(menu.choices, patterns))
            yield OrderCount(sizes, max(loops, default=0))

    def _count(self, name: str, at_root: bool) -> int:
        return math.prod(one.orders for one in self.orders(name, at_root))

    def _stores(self, depth: int) -> int:
        """The ways to compute a Func at a loop around its uses, and to store it."""
        hoists = "hoist_storage" in self.state.choices.directives
        ways = [1 + (level if hoists else 0) for level in range(depth + 1)]
        if self.state.choices.storage == "outside":
            ways = list(itertools.accumulate(ways))
        return sum(ways[1:])

    def _companions(self, name: str) -> int:
        """The ways to compute a Func with one that is decided before it, or that one with it."""
        if "compute_with" not in self.state.choices.directives:
            return 1
        functions = reversed(self.state.pipeline.functions)
        before = itertools.takewhile(lambda function: function.name != name, functions)
        others = [loops for function in before for loops in self.loops(function.name)]
        joins = sum(min(own, other) for own in self.loops(name) for other in others)
        return 1 + 2 * joins * len(self.state.choices.alignments)


def _depths(limits: _Limits) -> dict[str, int]:
    """For each Func, the largest number of loops around its uses."""
    directives, pipeline = limits.state.choices.directives, limits.state.pipeline
    depths: dict[str, int] = {}
    inside: dict[str, int] = {}
    for function in reversed(pipeline.functions):
        name, most = function.name, max(limits.loops(function.name))
        readers = [reader for reader in pipeline.consumers(name) if reader != name]
        depths[name] = max((inside[reader] for reader in readers), default=0)
        if readers and "in_" in directives:
            depths[name] += most  # loops of a wrapper
        inside[name] = depths[name] + most
        if "rfactor" in directives and len(function.stages) > 1:
            inside[name] += most  # loops of the Func that an update is factored into
    return depths


def _added(limits: _Limits, depths: dict[str, int]) -> Iterator[int]:
    """The options of each Func that a derivation may add."""
    steps = derivations(limits.state)
    deepest = max(depths.values()) + max(max(limits.loops(name)) for name in depths)
    for step in steps:
        if isinstance(step, Clone):
            yield limits.options(step.func, depths[step.func])
    groups: list[tuple[Derivation, ...]] = [tuple(s for s in steps if isinstance(s, Wrap))]
    groups += [(step,) for step in steps if isinstance(step, RFactor)]
    for group in groups:
        rewritten = derivation(limits.state.pipeline, Schedule((), group)).pipeline
        after = _Limits(evolve(limits.state, pipeline=rewritten))
        for function in rewritten.functions:
            if function.name not in depths:
                yield after.options(function.name, deepest)


def _number(topic: Topic, state: ProcessState) -> int:
    return sum(1 for _ in topic.options(state))
