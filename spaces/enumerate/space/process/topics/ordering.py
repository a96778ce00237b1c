"""Decisions about the domain order of a stage: its splits and fuses, then loop after loop, the
outermost first, with its kind.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

from attrs import evolve, frozen

from spaces.constraints.dependences.orders import trace
from spaces.constraints.devices.device import GpuDevice
from spaces.constraints.rules.domain_order import legal_tails
from spaces.enumerate.space.atomic_stages import may_change_in_one_step
from spaces.enumerate.space.frontier import depth_of
from spaces.enumerate.space.process.decision import USUAL, DecisionOption
from spaces.enumerate.space.process.exactness import has_an_order, kept_order, must_keep_its_order
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topic import Topic
from spaces.enumerate.space.process.topics.factors import factor_menu
from spaces.model.nest.canonical import fused_origin
from spaces.model.schedules.domain_order import (
    SINGLE_THREAD,
    DomainOrder,
    Fuse,
    LoopKind,
    OrderedLoop,
    Split,
    Tail,
)
from spaces.model.schedules.order_of import OrderOf
from spaces.model.schedules.schedule import StageOf

LoopsMaker: TypeAlias = Callable[[OrderOf, tuple[str, ...]], Topic]
"""Makes the topic that gives the loops of a domain order, by name, their order and kinds."""

_CPU_KINDS = (LoopKind.SERIAL, LoopKind.PARALLEL, LoopKind.VECTORIZED, LoopKind.UNROLLED)
_GPU_KINDS = (*_CPU_KINDS, LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)


def _unused(state: ProcessState, place: OrderOf, wanted: str) -> str:
    """A name for a new loop: ``wanted``, or one like it that no loop has or had."""
    taken = {*place.order(state.entry).all_names, *state.function(place.func).args}
    name = wanted.replace(".", "_")
    while name in taken:
        name += "_"
    return name


@frozen
class SplitsTopic:
    """Which loops of a stage are split.

    Attributes:
        place: the domain order, of a stage or of one of its cases.
        order: makes the topic that gives the remaining loops their order and kinds.
        open: the loops that may still be split, each with the number of splits that it may be
            part of, and its dimension; None before the first.
    """

    place: OrderOf
    order: LoopsMaker
    open: tuple[tuple[str, int, str], ...] | None = None

    @property
    def func(self) -> str:
        return self.place.func

    @property
    def name(self) -> str:
        return f"{self.place} split {self.open[0][0]}" if self.open else f"{self.place} splits"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        if self.open is None:
            levels = state.choices.splits
            dimensions = state.stage(self.place.stage).dimensions
            start = evolve(self, open=tuple((d, levels, d) for d in dimensions))
            yield DecisionOption("dimension by dimension", {}, state.then(start))
            return
        if not self.open:
            bare = evolve(self.place.order(state.entry), loops=())
            names = tuple(state.origins(self.place).loops)
            after = state.with_order(self.place, bare)
            yield DecisionOption("fuses", {}, after.then(FusesTopic(self.place, self.order, names)))
            return
        loop, levels, dimension = self.open[0]
        origin = state.origins(self.place)[loop]
        part = f"{self.place} factor {origin}"
        yield DecisionOption(
            f"{self.place} {loop} whole", {part: None}, state, change=self._keep_whole
        )
        if levels < 1 or "split" not in state.choices.directives:
            return
        outer = _unused(state, self.place, f"{loop}o")
        inner = _unused(state, self.place, f"{loop}i")
        parameter = _parameter(self.place, inner)
        for tail in split_tails(state, self.place.stage, dimension):
            shown = "" if tail is Tail.AUTO else f", {tail.qualified}"
            claimed = None if tail is Tail.AUTO else str(tail)
            yield DecisionOption(
                f"{self.place}.split({loop}, {outer}, {inner}, {parameter}{shown})",
                {part: ..., f"{self.place} tail {origin}": claimed},
                state,
                change=partial(self._split, Split(loop, outer, inner, parameter, tail)),
            )

    def _keep_whole(self, state: ProcessState) -> ProcessState:
        """The state in which the next loop is not split."""
        assert self.open is not None
        return state.then(evolve(self, open=self.open[1:]))

    def _split(self, record: Split, state: ProcessState) -> ProcessState:
        """The state in which the next loop is split by a parameter."""
        assert self.open is not None
        assert isinstance(record.factor, str)
        (_, levels, dimension), *others = self.open
        order = self.place.order(state.entry)
        after = state.with_order(self.place, evolve(order, splits=(*order.splits, record)))
        menu = factor_menu(state, self.place.stage, dimension)
        made = ((name, levels - 1, dimension) for name in record.made)
        further = evolve(self, open=(*made, *others))
        return after.with_menu(record.factor, menu).then(further)


def split_tails(state: ProcessState, stage: StageOf, dimension: str) -> tuple[Tail, ...]:
    """The tails to choose from for splits along a dimension."""
    legal = legal_tails(state.stage(stage), dimension, is_update=stage.stage > 0)
    return tuple(tail for tail in state.choices.tails if tail in legal)


def _parameter(place: OrderOf, inner: str) -> str:
    update = f"_u{place.stage.stage}" if place.stage.stage else ""
    case = "" if place.case is None else f"_case{place.case}"
    return f"{place.func}{update}{case}_{inner}"


@frozen
class FusesTopic:
    """Which loops of a stage are fused. Fuses that could come in any order come in one.

    Attributes:
        place: the domain order, of a stage or of one of its cases.
        order: makes the topic that gives the remaining loops their order and kinds.
        loops: all loops so far; those that are fused are empty.
        latest: the places of the loops that were fused last.
    """

    place: OrderOf
    order: LoopsMaker
    loops: tuple[str, ...]
    latest: tuple[int, int] = (-1, -1)

    @property
    def func(self) -> str:
        return self.place.func

    @property
    def name(self) -> str:
        return f"{self.place} fuse {self.loops.count('') // 2}"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        origins = state.origins(self.place)
        parts = {
            (outer, inner): f"{self.place} fuse {fused_origin(origins[outer], origins[inner])}"
            for outer, inner in self._pairs(state)
        }
        remaining = tuple(filter(None, self.loops))
        yield DecisionOption(
            f"{self.place} fuses no more",
            dict.fromkeys(parts.values()),
            state,
            change=lambda after: after.then(self.order(self.place, remaining)),
        )
        order = self.place.order(state.entry)
        for (outer, inner), part in parts.items():
            record = Fuse(inner, outer, _unused(state, self.place, f"{outer}_{inner}"))
            longer = evolve(order, splits=(*order.splits, record))
            if has_an_order(state, self.place.stage, longer):
                yield DecisionOption(
                    f"{self.place}.fuse({inner}, {outer}, {record.fused})",
                    {part: 1},
                    state,
                    change=partial(self._fuse, record, longer),
                )

    def _fuse(self, record: Fuse, order: DomainOrder, state: ProcessState) -> ProcessState:
        """The state in which two more loops are fused, which gives the stage this order."""
        taken = record.outer, record.inner
        loops = (*("" if name in taken else name for name in self.loops), record.fused)
        places = self.loops.index(record.outer), self.loops.index(record.inner)
        further = evolve(self, loops=loops, latest=places)
        return state.with_order(self.place, order).then(further)

    def _pairs(self, state: ProcessState) -> Iterator[tuple[str, str]]:
        """The pairs, (outer, inner), that may be fused next, in the order in which fuses follow."""
        if "fuse" not in state.choices.directives:
            return
        open_ = [(place, loop) for place, loop in enumerate(self.loops) if loop]
        pairs = [(_rank(i, j), a, b) for (i, a), (j, b) in itertools.permutations(open_, 2)]
        for rank, outer, inner in sorted(pairs):
            if rank > _rank(*self.latest):
                yield outer, inner


def _rank(outer: int, inner: int) -> tuple[int, int, int]:
    """The place of a fuse among those that could be made in any order."""
    return max(outer, inner), outer, inner


@frozen
class LoopsTopic:
    """The next loop of a stage, from the outside, and its kind. If results have to be exact, loops
    whose order matters for them stay in order.
    """

    place: OrderOf
    remaining: tuple[str, ...]

    @property
    def func(self) -> str:
        return self.place.func

    @property
    def name(self) -> str:
        return f"{self.place} loops, {len(self.remaining)} left"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        order = self.place.order(state.entry)
        if not self.remaining:
            end = {f"{self.place} loop {len(order.loops)}": None}
            yield DecisionOption("all loops have a place", end, state)
        if not order.loops and has_single_threads(state):
            yield self._next(state, order, SINGLE_THREAD)
        allowed = self.allowed(state)
        for name in self.remaining:
            for kind in loop_kinds(state):
                loop = OrderedLoop(name, kind)
                if allowed(loop):
                    yield self._next(state, order, (loop,))

    def allowed(self, state: ProcessState) -> Callable[[OrderedLoop], bool]:
        """Which loops may come next."""
        stage = self.place.stage
        if not must_keep_its_order(state, stage):
            return lambda loop: True
        order = self.place.order(state.entry)
        pairs = trace(state.stage(stage), order, kept_order(state, stage)).before
        waiting = {inner for outer, inner in pairs if outer in self.remaining}
        return lambda loop: loop.name not in waiting

    def _next(
        self, state: ProcessState, order: DomainOrder, loops: tuple[OrderedLoop, ...]
    ) -> DecisionOption:
        def place_loops(state: ProcessState) -> ProcessState:
            names = [loop.name for loop in loops]
            remaining = tuple(n for n in self.remaining if n not in names)
            longer = evolve(order, loops=(*order.loops, *loops))
            return state.with_order(self.place, longer).then(evolve(self, remaining=remaining))

        origins = state.origins(self.place)
        claims: dict[str, str] = {}
        for number, loop in enumerate(loops, start=len(order.loops)):
            origin = origins[loop.name]
            claims[f"{self.place} loop {number}"] = origin
            claims[f"{self.place} kind {origin}"] = str(loop.kind)
        shown = ", ".join(f"{loop.kind} loop {loop.name}" for loop in loops)
        is_rare = any(loop.kind is LoopKind.PARALLEL for loop in loops) and self._is_parallel(state)
        weight = 1 if is_rare else USUAL
        return DecisionOption(f"{self.place}: {shown}", claims, state, weight, place_loops)

    def _is_parallel(self, state: ProcessState) -> bool:
        """Whether a loop outside is parallel already: a second one splits the work no better."""
        path = state.frontier.path(self.func)
        around = path[: depth_of(path, state.entry.compute)]
        kinds = {one.kind for one in around}
        kinds.update(loop.kind for loop in self.place.order(state.entry).loops)
        return LoopKind.PARALLEL in kinds


KINDS_OF = {
    LoopKind.SERIAL: "",
    LoopKind.PARALLEL: "parallel",
    LoopKind.VECTORIZED: "vectorize",
    LoopKind.UNROLLED: "unroll",
    LoopKind.GPU_BLOCK: "gpu_blocks",
    LoopKind.GPU_THREAD: "gpu_threads",
}
"""The directive that gives a loop a kind; none for serial loops."""


def loop_kinds(state: ProcessState) -> list[LoopKind]:
    """The kinds that a loop may have in a space."""
    kinds = _GPU_KINDS if isinstance(state.device, GpuDevice) else _CPU_KINDS
    return [kind for kind in kinds if KINDS_OF[kind] in ("", *state.choices.directives)]


def has_single_threads(state: ProcessState) -> bool:
    """Whether a stage may be a kernel of one thread."""
    on_gpu = isinstance(state.device, GpuDevice)
    return on_gpu and "gpu_single_thread" in state.choices.directives


@frozen
class AtomicTopic:
    """Whether an update changes each element in one step."""

    stage: StageOf

    @property
    def func(self) -> str:
        return self.stage.func

    @property
    def name(self) -> str:
        return f"{self.stage} atomic"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        yield DecisionOption(f"{self.stage} is not atomic", {self.name: None}, state)
        if may_be_atomic(state, self.stage):
            yield DecisionOption(
                f"{self.stage}.atomic()", {self.name: 1}, state, change=self._make_atomic
            )

    def _make_atomic(self, state: ProcessState) -> ProcessState:
        entry = state.entry
        return state.with_draft(evolve(entry, atomic=(*entry.atomic, self.stage.stage)))


def may_be_atomic(state: ProcessState, stage: StageOf) -> bool:
    """Whether a stage may change each element in one step."""
    function, choices = state.function(stage.func), state.choices
    is_offered = "atomic" in choices.directives
    return is_offered and may_change_in_one_step(function, stage.stage, exact=choices.exact)
