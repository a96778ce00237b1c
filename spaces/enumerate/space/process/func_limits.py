"""The largest numbers of options of single Funcs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate

from attrs import evolve, field, frozen

from spaces.enumerate.space.patterns.by_name import LOOP_BY_LOOP
from spaces.enumerate.space.process.decision import Topic
from spaces.enumerate.space.process.order_counts import OrderCount, order_count
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topics.factors import factors_for, most_factors
from spaces.enumerate.space.process.topics.orders import menu_of
from spaces.enumerate.space.process.topics.placing import MODULI, storage_topics
from spaces.model.algorithm.pipeline import Function
from spaces.model.deadline import ask_clock
from spaces.model.schedules.schedule import FuncSchedule, StageOf


@frozen
class FuncOrders:
    """How many domain orders the stages of a Func have at most.

    Attributes:
        state: a state whose pipeline has the Func.
        function: the Func.
        root: the orders of each stage if it is computed at root.
        inner: the orders of each stage if it is computed at a loop.
    """

    state: ProcessState = field(repr=False)
    function: Function
    root: tuple[OrderCount, ...]
    inner: tuple[OrderCount, ...]

    @property
    def loops(self) -> list[int]:
        """The largest number of loops of each stage."""
        pairs = zip(self.root, self.inner, strict=True)
        return [max(root.loops, inner.loops) for root, inner in pairs]

    def or_else(self, other: FuncOrders) -> FuncOrders:
        """The same for a Func that is this one or another one with as many stages."""
        root = tuple(map(_larger, self.root, other.root))
        return evolve(self, root=root, inner=tuple(map(_larger, self.inner, other.inner)))


def _larger(one: OrderCount, other: OrderCount) -> OrderCount:
    return OrderCount(max(one.orders, other.orders), max(one.loops, other.loops))


@frozen
class FuncLimits:
    """Limits of the options of single Funcs.

    Attributes:
        extents: the extent at the estimates of each dimension of a Func, by both names; None or
            absent if it is unknown.
        may_shrink: whether extents may be smaller: clones take readers from Funcs.
        conditions: for how many conditions a stage may be specialized.
        strangers: how many stages Funcs have that derivations may add.
    """

    extents: dict[tuple[str, str], int | None] = field(repr=False)
    may_shrink: bool
    conditions: int
    strangers: int = 0

    def orders(self, state: ProcessState, name: str) -> FuncOrders:
        """The orders of a Func of the pipeline of a state."""
        ask_clock()
        choices = state.choices
        root, inner = (tuple(self._counted(state, name, n)) for n in (choices.root, choices.inner))
        return FuncOrders(state, state.function(name), root, inner)

    def _counted(
        self, state: ProcessState, name: str, patterns: Sequence[str]
    ) -> Iterator[OrderCount]:
        stages = len(state.function(name).stages)
        if patterns[0] in LOOP_BY_LOOP:

            def menu_size(stage: StageOf, dimension: str) -> int:
                about = state.choices, state.device, state.function(name)
                extent = self.extents.get((name, dimension))
                exact = len(factors_for(*about, extent))
                return max(exact, most_factors(*about, extent)) if self.may_shrink else exact

            for index in range(stages):
                stage = StageOf(name, index)
                yield order_count(state, stage, patterns[0], menu_size, self.conditions)
            return
        menu = menu_of(state, name)
        orders = (menu.root if patterns == state.choices.root else menu.inner).values()
        for index in range(stages):
            loops = [len(one[index].loops) for one in orders]
            # Patterns are for all stages together: the first stage counts them.
            sizes = 1 if index else sum(map(menu.choices, orders))
            yield OrderCount(sizes, max(loops, default=0))

    def options(self, orders: FuncOrders, depth: int, others: Sequence[int]) -> int:
        """The options of a Func, but for those that come with its place among others.

        Args:
            orders: its orders.
            depth: the largest number of loops around its uses.
            others: the loops of each stage of the other Funcs that are decided before it.
        """
        state, function, name = orders.state, orders.function, orders.function.name
        placements, is_output = state.choices.placements, name in state.pipeline.outputs
        total = 0
        if "at" in placements and not is_output:
            total = math.prod(one.orders for one in orders.inner) * _stores(state, depth)
        if "root" in placements or is_output:
            total += math.prod(one.orders for one in orders.root)
        draft = state.with_draft(FuncSchedule.default(function, stored=True))
        total *= math.prod(_number(topic, draft) for topic in storage_topics(state, name))
        total *= math.prod(self._bounds(state, name, dimension) for dimension in function.args)
        total *= self._companions(state, orders.loops, others)
        # A Func that nobody reads any more is inlined.
        return max(total + ("inline" in placements and function.is_pure and not is_output), 1)

    def _bounds(self, state: ProcessState, name: str, dimension: str) -> int:
        """The explicit bounds of a dimension."""
        directives, extent = state.choices.directives, self.extents.get((name, dimension))
        is_short = extent is not None and 0 < extent <= state.choices.short
        has_bound = "bound" in directives and (is_short or self.may_shrink)
        return 1 + has_bound + ("align_bounds" in directives) * len(MODULI)

    def _companions(self, state: ProcessState, own: Sequence[int], others: Sequence[int]) -> int:
        """The ways to compute a Func with one that is decided before it, or that one with it."""
        if "compute_with" not in state.choices.directives:
            return 1
        aligned = len(state.choices.alignments)

        def joins(loops: int) -> int:
            """The ways to fuse some of so many loops, each aligned in one of some ways."""
            return sum(aligned**depth for depth in range(1, loops + 1))

        known = sum(joins(min(loops, other)) for loops in own for other in others)
        return 1 + 2 * (known + sum(map(joins, own)) * self.strangers)


def _stores(state: ProcessState, depth: int) -> int:
    """The ways to compute a Func at a loop around its uses, and to store it."""
    hoists = "hoist_storage" in state.choices.directives
    ways = [1 + (level if hoists else 0) for level in range(depth + 1)]
    if state.choices.storage == "outside":
        ways = list(accumulate(ways))
    return sum(ways[1:])


def _number(topic: Topic, state: ProcessState) -> int:
    return sum(1 for _ in topic.options(state))
