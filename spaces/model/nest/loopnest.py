"""The loop nest: what (pipeline, schedule) means, as a tree of loops, allocations and computations.

There is one construction of it, :func:`loop_nest`; rules, proofs, features, code generators and
pictures all read it. Bounds are expressions over the loop variables around them, the sizes of
outputs and images, scalar parameters, and the parameters of a family of schedules.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

from attrs import asdict, field, frozen

from spaces.markup.card import Card
from spaces.markup.shows_card import ShowsCard
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Call, Expr, Variable, walk
from spaces.model.expressions.rewrite import rewrite, substitute
from spaces.model.expressions.types import Type
from spaces.model.formulas.interval import Box
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.allocation import Allocation
from spaces.model.nest.bounds import Bounds
from spaces.model.nest.placement import Placement
from spaces.model.nest.ring_buffer import ring_slot
from spaces.model.nest.traversal import Guard, LoopVar
from spaces.model.recursion import in_one_chunk, nesting
from spaces.model.schedules.argument_checks import check_pipeline, check_schedule
from spaces.model.schedules.fused_groups import Fused
from spaces.model.schedules.levels import Path
from spaces.model.schedules.schedule import MemoryType, Schedule, StageOf
from spaces.model.showing import shown, shown_card

NestNode: TypeAlias = "Loop | HoistedStorage | Allocate | Produce | Compute"


@nesting
@frozen
class Loop:
    """A loop around ``body``, which runs in order."""

    var: LoopVar
    body: tuple[NestNode, ...]


@nesting
@frozen
class Allocate(Allocation):
    """An allocation, for the time of ``body``. In a ring buffer it takes the place ``slot``."""

    body: tuple[NestNode, ...]
    slot: Expr | None = None


@nesting
@frozen
class HoistedStorage:
    """Memory for the storage of ``func``, an array for each of ``types``. An :class:`Allocate`
    inside ``body`` uses this memory in each iteration; ``extents`` are the largest that it needs
    along each dimension. A ring buffer has ``slots`` places of this size.
    """

    func: str
    types: tuple[Type, ...]
    memory: MemoryType
    extents: tuple[Expr, ...]
    body: tuple[NestNode, ...]
    slots: int | None = None


@nesting
@frozen
class Produce:
    """All stages of one Func over ``box``, in order. With a ``key`` it is memoized: where the
    values for the same numbers are kept, they are copied.
    """

    func: str
    box: Box
    body: tuple[NestNode, ...]
    key: tuple[Expr, ...] | None = None


@frozen
class Compute:
    """One element: ``func`` at ``args`` becomes ``values``, one a component, where ``guards`` and
    ``predicates`` hold.

    ``args`` and ``values`` are over loop variables; calls name computed Funcs and images only. All
    values are evaluated before any is stored. Guards come from splits, predicates from the
    algorithm: these are evaluated one after the other, each where all before it hold.
    """

    func: str
    stage: int
    args: tuple[Expr, ...]
    values: tuple[Expr, ...]
    guards: tuple[Guard, ...] = ()
    predicates: tuple[Expr, ...] = ()


@nesting
@frozen(repr=False)
class LoopNest(ShowsCard):
    """The tree of one (pipeline, schedule).

    Attributes:
        body: the nodes at root, in order.
        bounds: each computed Func's site, boxes and loops, from which the tree is made.
    """

    body: tuple[NestNode, ...]
    bounds: Bounds = field(eq=False, repr=False)

    def __str__(self) -> str:
        return shown(self)

    def __repr__(self) -> str:
        return f"<LoopNest of {self.pipeline.name}>"

    def _card(self) -> Card:
        return shown_card(self)

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that is scheduled."""
        return self.bounds.pipeline

    @property
    def schedule(self) -> Schedule:
        """The schedule that is followed."""
        return self.bounds.schedule

    @property
    def assumptions(self) -> tuple[Expr, ...]:
        """Conditions on sizes that hold in all calls of this nest."""
        return self.bounds.assumptions

    @property
    def inputs(self) -> dict[str, Box]:
        """The box of each image that is read."""
        return self.bounds.inputs

    @property
    def outputs(self) -> dict[str, Box]:
        """The box of each output that is written."""
        return {n: self.placements[n].storage.computed for n in self.pipeline.outputs}

    @property
    def placements(self) -> dict[str, Placement]:
        """Each computed Func's site, boxes and loops."""
        return self.bounds.placements

    @property
    def simplify(self) -> Simplifier:
        """The simplifier that knows the ranges of the loop variables."""
        return self.bounds.simplify


@in_one_chunk
def loop_nest(
    pipeline: Pipeline, schedule: Schedule, assumptions: tuple[Expr, ...] = ()
) -> LoopNest:
    """The loop nest of a well-formed schedule where ``assumptions`` hold of the sizes of a call.

    Raises:
        LevelError: a Func is computed or stored where there is no such loop.
        OrderError: splits, fuses or loops of a stage name a loop that it does not have.
        UnboundedError: how much of a Func is needed has no limit.
        TypeError: something else is given than a Pipeline and a Schedule.
    """
    check_pipeline("loop_nest", pipeline)
    check_schedule("loop_nest", schedule)
    return assemble(Bounds(pipeline, schedule, assumptions))


def assemble(bounds: Bounds) -> LoopNest:
    """The tree of the Funcs that bounds inference has placed."""
    return LoopNest(_Assembly(bounds).level((), ()), bounds)


def walk_nest(nodes: tuple[NestNode, ...]) -> Iterator[NestNode]:
    """Every node of a tree, parents before children."""
    open_ = list(reversed(nodes))
    while open_:
        node = open_.pop()
        yield node
        if not isinstance(node, Compute):
            open_ += reversed(node.body)


def _tidied(value: Expr, simplify: Simplifier) -> Expr:
    """``value`` with simpler coordinates. Its own arithmetic stays as written: a sum of products
    in normal form may take many times the operations.
    """

    def tidy(node: Expr) -> Expr:
        if isinstance(node, Call):
            return node.with_children(tuple(simplify(a) for a in node.args))
        return node

    return rewrite(value, tidy)


def _memo_key(bounds: Bounds, func: str) -> tuple[Expr, ...]:
    """The numbers that decide the values of a Func in a visit of its compute level, if it reads no
    images. They are the Params and sizes in its definition and in those of the Funcs that it reads,
    and two boxes. The required box decides what is computed, the stored box where each value lies.
    Numbers that are always the same are left out.
    """
    storage, placement = bounds.allocations[func], bounds.placements[func]
    ends = (end for side in placement.required for end in (side.min, side.max))
    box = (*(end for end in ends if end is not None), *storage.mins, *storage.extents)
    numbers = (*_given_numbers(bounds.pipeline, func), *map(bounds.simplify, box))
    return tuple(dict.fromkeys(number for number in numbers if number.names))


def _given_numbers(pipeline: Pipeline, func: str) -> Iterator[Expr]:
    """The Params and sizes in the definitions of a Func and of those that it reads."""
    concerned = {func, *pipeline.producers[func]}
    for function in pipeline.functions:
        for stage in function.stages if function.name in concerned else ():
            for node in walk(*stage.expressions):
                if isinstance(node, Variable) and node.name not in stage.dimensions:
                    yield node


@frozen
class _Assembly:
    """Puts the placed Funcs together, from the root inwards."""

    bounds: Bounds

    def level(self, path: Path, inner: tuple[NestNode, ...]) -> tuple[NestNode, ...]:
        """The nodes just inside ``path``: the Funcs computed there, then ``inner``, all inside the
        storage allocated there.
        """
        levels = self.bounds.levels
        result: tuple[NestNode, ...] = (*map(self._produce, self._computed.get(path, ())), *inner)
        for name in self._kept.get(path, ()):
            if levels.store_path(name) == path:
                result = (self._allocate(name, result),)
            if name in self.bounds.hoisted and levels.hoist_path(name) == path:
                result = (self._hoisted(name, result),)
        return result

    @cached_property
    def _computed(self) -> dict[Path, list[tuple[str, ...]]]:
        """The Funcs computed just inside each path, producers first; those that are computed with
        each other are produced at once.
        """
        levels = self.bounds.levels
        group_of = {name: group for group in levels.groups for name in group}
        found: dict[Path, list[tuple[str, ...]]] = {}
        for function in levels.functions:
            group = tuple(group_of.get(function.name, (function.name,)))
            if function.name == group[0]:
                found.setdefault(levels.compute_path(function.name), []).append(group)
        return found

    @cached_property
    def _kept(self) -> dict[Path, list[str]]:
        """The Funcs stored, or with memory for it, just inside each path, consumers first."""
        levels = self.bounds.levels
        found: dict[Path, list[str]] = {}
        for name in (f.name for f in reversed(levels.functions)):
            if name not in self.bounds.pipeline.outputs:
                for path in dict.fromkeys((levels.store_path(name), levels.hoist_path(name))):
                    found.setdefault(path, []).append(name)
        return found

    def _produce(self, group: tuple[str, ...]) -> Produce:
        turns = self.bounds.turns(group)
        body = tuple(node for turn in turns for node in self._turn(turn))
        for name in reversed(group):
            is_kept = self.bounds.schedule.of(name).memoized and name in self.bounds.allocations
            key = _memo_key(self.bounds, name) if is_kept else None
            produced = Produce(name, self.bounds.placements[name].storage.computed, body, key)
            body = (produced,)
        return produced

    def _turn(self, turn: Fused, outside: int = 0) -> tuple[NestNode, ...]:
        """Stages in fused loops, or one stage, without the loops that are ``outside``."""
        if not turn.inside:
            return self._stage(turn.root, outside)
        body = tuple(node for unit in turn.inside for node in self._turn(unit, outside + 1))
        return (self._loop(turn.root, outside + 1, body),)

    def _stage(self, stage: StageOf, outside: int) -> tuple[NestNode, ...]:
        """A stage, without those of its loops that are ``outside``."""
        placement = self.bounds.placements[stage.func]
        nodes: tuple[NestNode, ...] = (self._compute(placement, stage.stage),)
        for depth in range(len(placement.stages[stage.stage].loops), outside, -1):
            nodes = (self._loop(stage, depth, nodes),)
        return nodes

    def _loop(self, stage: StageOf, depth: int, body: tuple[NestNode, ...]) -> Loop:
        """The loop of a stage that has ``depth - 1`` of its others around it."""
        levels, placement = self.bounds.levels, self.bounds.placements[stage.func]
        path = levels.stage_path(stage.func, stage.stage)[: len(placement.path) + depth]
        return Loop(placement.stages[stage.stage].loops[depth - 1], self.level(path, body))

    def _compute(self, placement: Placement, index: int) -> Compute:
        stage = placement.function.stages[index]
        traversal = placement.stages[index]
        simplify = self.bounds.simplify
        return Compute(
            func=placement.function.name,
            stage=index,
            args=tuple(simplify(substitute(a, traversal.coordinates)) for a in stage.args),
            values=tuple(
                _tidied(substitute(v, traversal.coordinates), simplify) for v in stage.values
            ),
            guards=traversal.guards,
            predicates=tuple(
                _tidied(substitute(p, traversal.coordinates), simplify) for p in stage.predicates
            ),
        )

    def _hoisted(self, name: str, body: tuple[NestNode, ...]) -> HoistedStorage:
        allocation = self.bounds.allocations[name]
        extents, slots = self.bounds.hoisted[name], self.bounds.schedule.of(name).ring
        return HoistedStorage(name, allocation.types, allocation.memory, extents, body, slots)

    def _allocate(self, name: str, body: tuple[NestNode, ...]) -> Allocate:
        made = asdict(self.bounds.allocations[name], recurse=False)
        return Allocate(**made, body=body, slot=self._slot(name))

    def _slot(self, name: str) -> Expr | None:
        """The place of the storage of a Func in its ring buffer, if it has one."""
        slots = self.bounds.schedule.of(name).ring
        if slots is None or name not in self.bounds.hoisted:
            return None
        placement, depth = self.bounds.placements[name], len(self.bounds.levels.hoist_path(name))
        loops = placement.path[depth : placement.store_depth]
        return ring_slot(slots, loops, self.bounds.simplify)
