"""The loop nest: what (pipeline, schedule) means, as a tree of loops, allocations and computations.

There is one construction of it, :func:`loop_nest`; rules, proofs, features, code generators and
pictures all read it. Bounds are expressions over the loop variables around them, the sizes of
outputs and images, scalar parameters, and the parameters of a family of schedules.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import reduce
from typing import TypeAlias

from attrs import field, frozen

from spaces.model.expr import Call, Expr, constant
from spaces.model.levels import Path, Place
from spaces.model.pipeline import Pipeline
from spaces.model.placement import Placement, Placements
from spaces.model.regions import Box
from spaces.model.rewrite import rewrite, substitute
from spaces.model.schedule import LoopLevel, Memory, Schedule
from spaces.model.simplify import Simplifier
from spaces.model.traversal import Guard, LoopVar
from spaces.model.types import Int32, Type

Node: TypeAlias = "Loop | Allocate | Produce | Compute"


@frozen
class Loop:
    """A loop around ``body``, which runs in order."""

    var: LoopVar
    body: tuple[Node, ...]


@frozen
class Allocate:
    """Storage of a Func for the time of ``body``: ``mins`` and ``extents`` a dimension, innermost
    first; where a fold factor is given, coordinates count modulo it and the extent is the factor.
    """

    func: str
    type: Type
    level: LoopLevel
    memory: Memory
    mins: tuple[Expr, ...]
    extents: tuple[Expr, ...]
    folds: tuple[Expr | None, ...]
    body: tuple[Node, ...]

    @property
    def elements(self) -> Expr:
        """The number of elements allocated: one for a Func without dimensions."""
        return reduce(operator.mul, self.extents) if self.extents else constant(1, Int32)


@frozen
class Produce:
    """All stages of one Func over ``box``, in order."""

    func: str
    box: Box
    body: tuple[Node, ...]


@frozen
class Compute:
    """One value: ``func`` at ``args`` becomes ``value``, where ``guards`` hold.

    ``args`` and ``value`` are over loop variables; calls name computed Funcs and images only.
    """

    func: str
    stage: int
    args: tuple[Expr, ...]
    value: Expr
    guards: tuple[Guard, ...] = ()


@frozen
class LoopNest:
    """The tree of one (pipeline, schedule).

    Attributes:
        body: the nodes at root, in order.
        inputs: the box of each image that is read.
        outputs: the box of each output that is written.
        placements: each computed Func's site, boxes and loops.
        simplify: the simplifier that knows the ranges of the loop variables.
    """

    pipeline: Pipeline
    schedule: Schedule
    body: tuple[Node, ...]
    inputs: dict[str, Box] = field(eq=False)
    outputs: dict[str, Box] = field(eq=False)
    placements: dict[str, Placement] = field(eq=False, repr=False)
    simplify: Simplifier = field(eq=False, repr=False)


def loop_nest(pipeline: Pipeline, schedule: Schedule) -> LoopNest:
    """The loop nest of a well-formed schedule.

    Raises:
        LevelError: a compute or store level does not enclose the uses of its Func.
        UnboundedError: something is read at coordinates without limits.
        KeyError: the schedule does not cover the pipeline, or a domain order names unknown loops
            (``verify`` says so in words).
    """
    placements = Placements(pipeline, schedule)
    assembled = _Assembly(placements)
    return LoopNest(
        pipeline=pipeline,
        schedule=schedule,
        body=assembled.level((), ()),
        inputs=placements.images,
        outputs={name: placements.by_func[name].storage.computed for name in pipeline.outputs},
        placements=placements.by_func,
        simplify=placements.simplify,
    )


def walk_nest(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Every node of a tree, parents before children."""
    for node in nodes:
        yield node
        if not isinstance(node, Compute):
            yield from walk_nest(node.body)


def _tidied(value: Expr, simplify: Simplifier) -> Expr:
    """``value`` with simpler coordinates. Its own arithmetic stays as written: a sum of products
    in normal form may take many times the operations.
    """

    def tidy(node: Expr) -> Expr:
        if isinstance(node, Call):
            return node.with_children(tuple(simplify(a) for a in node.args))
        return node

    return rewrite(value, tidy)


@frozen
class _Assembly:
    """Puts the placed Funcs together, from the root inwards."""

    placements: Placements

    def level(self, path: Path, inner: tuple[Node, ...]) -> tuple[Node, ...]:
        """What happens just inside ``path``: the Funcs computed there, then ``inner``, all
        inside the storage allocated there.
        """
        levels = self.placements.levels
        body: list[Node] = []
        for function in levels.functions:
            if levels.site(function.name) == path:
                body.append(self._produce(function.name))
        result = (*body, *inner)
        for function in reversed(levels.functions):
            name = function.name
            if name not in self.placements.pipeline.outputs and levels.store(name) == path:
                result = (self._allocate(name, result),)
        return result

    def _produce(self, name: str) -> Produce:
        placement = self.placements.by_func[name]
        body = tuple(
            node for stage in range(len(placement.stages)) for node in self._stage(name, stage)
        )
        return Produce(name, placement.storage.computed, body)

    def _stage(self, name: str, index: int) -> tuple[Node, ...]:
        placement = self.placements.by_func[name]
        traversal = placement.stages[index]
        nodes: tuple[Node, ...] = (self._compute(placement, index),)
        site = self.placements.levels.site(name)
        places = tuple(Place(name, index, loop.loop) for loop in traversal.loops)
        for depth in range(len(places), 0, -1):
            inside = self.level((*site, *places[:depth]), nodes)
            nodes = (Loop(traversal.loops[depth - 1], inside),)
        return nodes

    def _compute(self, placement: Placement, index: int) -> Compute:
        stage = placement.function.stages[index]
        traversal = placement.stages[index]
        simplify = self.placements.simplify
        return Compute(
            func=placement.function.name,
            stage=index,
            args=tuple(simplify(substitute(a, traversal.coordinates)) for a in stage.args),
            value=_tidied(substitute(stage.value, traversal.coordinates), simplify),
            guards=traversal.guards,
        )

    def _allocate(self, name: str, body: tuple[Node, ...]) -> Allocate:
        placement = self.placements.by_func[name]
        schedule = self.placements.schedule.of(name)
        simplify = self.placements.simplify
        stored, folds = placement.storage.stored, placement.storage.folds
        bounds = [(i.min, i.max) for i in stored if i.min is not None and i.max is not None]
        whole = [simplify(high - low + 1) for low, high in bounds]
        return Allocate(
            func=name,
            type=placement.function.type,
            level=schedule.store,
            memory=schedule.memory,
            mins=tuple(low for low, _ in bounds),
            extents=tuple(
                extent if fold is None else fold for extent, fold in zip(whole, folds, strict=True)
            ),
            folds=folds,
            body=body,
        )
