"""[TOY]'s schedule tree, as a view of (pipeline, schedule).

Ancestry means order: a node happens inside its ancestors and after what stands before it. The
tree can be drawn for an ill-formed schedule too; what has no place in it is left out, and
:func:`~spaces.model.nest.well_formed.well_formed` says what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TypeAlias

from attrs import define, field, frozen

from spaces.markup.card import Card, Phrase, Styled, Tree, TreeRow, card, more, phrase_text
from spaces.markup.shows_card import ShowsCard
from spaces.markup.tree import guide, last_at_levels
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.nest.kind_styles import KIND_STYLES
from spaces.model.recursion import deeper, nesting
from spaces.model.schedules.argument_checks import check_pipeline, check_schedule
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.fused_groups import Fused, in_turn, turns
from spaces.model.schedules.levels import LevelError, Levels
from spaces.model.schedules.schedule import LoopLevel, Schedule, StageOf
from spaces.model.showing import MOST_LINES, few_lines


@nesting
@frozen
class ComputeNode:
    """The computation of one stage of a Func; ``inlined`` are the Funcs substituted into it."""

    func: str
    stage: int
    inlined: tuple[ComputeNode, ...] = ()


@nesting
@frozen
class LoopNode:
    """One loop of one stage of a Func, and of those whose loops are ``fused`` with it."""

    func: str
    stage: int
    loop: str
    kind: LoopKind
    children: tuple[TreeNode, ...]
    fused: tuple[StageOf, ...] = ()


@nesting
@frozen
class StorageNode:
    """Storage of a Func, for the time of ``children``."""

    func: str
    children: tuple[TreeNode, ...]


@nesting
@frozen(repr=False)
class RootNode(ShowsCard):
    """The top of a schedule tree."""

    children: tuple[TreeNode, ...]

    def __str__(self) -> str:
        return few_lines(format_tree(self).splitlines(), rest="lines (format_tree has all)")

    def _card(self) -> Card:
        rows = tree_rows(self)
        tree = Tree(tuple(rows[: MOST_LINES - 1]))
        left = more(len(rows), MOST_LINES - 1, "lines (format_tree has all)")
        return card("Schedule tree", "", tree, left)

    def __repr__(self) -> str:
        return f"<RootNode with {amount(len(self.children), 'child', 'children')}>"


TreeNode: TypeAlias = ComputeNode | LoopNode | StorageNode


def schedule_tree(pipeline: Pipeline, schedule: Schedule) -> RootNode:
    """The tree of ``schedule``, outputs without storage nodes, as is [TOY]'s convention.

    Storage encloses what follows its level's start, the computations of consumers included. A
    compute level that names a loop of several stages means the one that encloses the uses.

    Raises:
        TypeError: something else is given than a Pipeline and a Schedule.
    """
    check_pipeline("schedule_tree", pipeline)
    check_schedule("schedule_tree", schedule)
    return RootNode(_TreeBuilder(pipeline, schedule).body(_ROOT, ()))


_Slot: TypeAlias = tuple[str, int, int]
"""Func, stage and index of a loop: a place where something may be computed or stored."""

_ROOT: _Slot = ("", 0, 0)


@define
class _TreeBuilder:
    pipeline: Pipeline
    schedule: Schedule
    levels: Levels = field(init=False)
    computed: dict[_Slot, list[str]] = field(init=False, factory=dict)
    stored: dict[_Slot, list[str]] = field(init=False, factory=dict)
    inlined: dict[str, ComputeNode] = field(init=False, factory=dict)
    groups: list[tuple[str, ...]] = field(init=False)
    turns: dict[str, tuple[Fused, ...]] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.pipeline = derived(self.pipeline, self.schedule)
        self.levels = Levels(self.pipeline, self.schedule)
        self.groups = self._groups()
        for func in self.schedule.funcs:
            if func.compute.is_inline:
                continue
            slot = self.slot(func.name, func.compute)
            if slot is not None:
                self.computed.setdefault(slot, []).append(func.name)
            if func.name in self.pipeline.outputs:
                continue
            slot = self.slot(func.name, func.store)
            if slot is not None and not func.store.is_inline:
                self.stored.setdefault(slot, []).append(func.name)

    def _groups(self) -> list[tuple[str, ...]]:
        """Funcs that are computed at once, producers first: one, or a group whose loops are fused;
        where the rules about groups are broken, each by itself.
        """
        known = {f.name: f for f in self.schedule.funcs}
        of = dict[str, tuple[str, ...]]()
        for group in self.levels.groups:
            order = turns(self.schedule, group) or ()
            alike = len({known[name].compute for name in group}) == 1
            if order and alike:
                of |= dict.fromkeys(group, group)
                self.turns |= dict.fromkeys(group, order)
        names = tuple(f.name for f in self.pipeline.functions)
        if of:
            names = in_turn(self.pipeline.functions, set(of.values())) or names
        return list(dict.fromkeys(of.get(name, (name,)) for name in names))

    @cached_property
    def _orders(self) -> dict[str, list[tuple[str, ...]]]:
        """The names of the loops of each stage."""
        return {f.name: [s.names for s in f.stages] for f in self.schedule.funcs}

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """The number of the group of each Func, and its number in the group."""
        return {
            name: (number, place)
            for number, funcs in enumerate(self.groups)
            for place, name in enumerate(funcs)
        }

    def slot(self, func: str, level: LoopLevel) -> _Slot | None:
        """Where ``level`` is: around the uses of ``func`` if possible, else the first such loop."""
        if level.is_root:
            return _ROOT
        orders = self._orders
        if level.func not in orders:
            return None
        try:
            around = self.levels.enclosing(func)
        except LevelError:
            around = ()
        for loop in around:
            if self.levels.is_at(func, level, loop):
                return (loop.func, loop.stage, orders[loop.func][loop.stage].index(loop.loop))
        for stage, names in enumerate(orders[level.func]):
            if level.loop in names:
                return self._shared(StageOf(level.func, stage), names.index(level.loop))
        return None

    def _shared(self, stage: StageOf, index: int) -> _Slot:
        """A loop of a stage, or that with which it is fused."""
        if stage.func in self.turns:
            stage = self.levels.fused_groups.owner(stage, index)
        return (stage.func, stage.stage, index)

    def body(self, slot: _Slot, own: tuple[TreeNode, ...]) -> tuple[TreeNode, ...]:
        """What happens at a place: Funcs computed there before ``own``, inside their storage."""
        computed, stored = self.computed.get(slot, []), self.stored.get(slot, [])
        kept, made = set(stored), set(computed)
        numbers = {self._places[name][0] for name in (*computed, *stored)}
        for funcs in (self.groups[number] for number in sorted(numbers, reverse=True)):
            if funcs[0] in made:
                own = (*self.nest(funcs), *own)
            for name in reversed(funcs):
                if name in kept:
                    own = (StorageNode(name, own),)
        return own

    def nest(self, funcs: tuple[str, ...]) -> tuple[TreeNode, ...]:
        """The loops and computations of all stages of Funcs that are computed at once."""
        each = (StageOf(f, i) for f in funcs for i in range(len(self.schedule.of(f).stages)))
        order = self.turns.get(funcs[0]) or tuple(map(Fused, each))
        return tuple(node for turn in order for node in self.turn(turn))

    def turn(self, turn: Fused, outside: int = 0) -> tuple[TreeNode, ...]:
        """Stages in fused loops, or one stage, without those of the loops that are ``outside``."""
        if not turn.inside:
            return self.stage(turn.root, outside)
        nodes = tuple(node for unit in turn.inside for node in self.turn(unit, outside + 1))
        fused = tuple(stage for stage in turn.stages if stage != turn.root)
        return (self.loop(turn.root, outside, nodes, fused),)

    def stage(self, stage: StageOf, outside: int) -> tuple[TreeNode, ...]:
        """A stage, without those of its loops that are ``outside``."""
        name, index = stage.func, stage.stage
        nodes: tuple[TreeNode, ...] = (ComputeNode(name, index, self.inlined_in((name, index))),)
        for number in reversed(range(outside, len(self.schedule.of(name).stages[index].loops))):
            nodes = (self.loop(stage, number, nodes),)
        return nodes

    def loop(
        self,
        stage: StageOf,
        index: int,
        inner: tuple[TreeNode, ...],
        fused: tuple[StageOf, ...] = (),
    ) -> LoopNode:
        """A loop of a stage around ``inner`` and what is computed and stored there."""
        one = self.schedule.of(stage.func).stages[stage.stage].loops[index]
        children = self.body((stage.func, stage.stage, index), inner)
        return LoopNode(stage.func, stage.stage, one.name, one.kind, children, fused)

    def inlined_in(self, *stages: tuple[str, int]) -> tuple[ComputeNode, ...]:
        """Nodes of the inlined Funcs that ``stages`` call, each once."""
        names = dict.fromkeys(
            call.target
            for func, stage in stages
            for call in self.pipeline.function(func).stages[stage].calls
            if call.target != func
        )
        return tuple(self.inline(name) for name in names if self.is_inlined(name))

    def is_inlined(self, name: str) -> bool:
        return name in self._inlined_names

    @cached_property
    def _inlined_names(self) -> frozenset[str]:
        return frozenset(f.name for f in self.schedule.funcs if f.compute.is_inline)

    def inline(self, func: str) -> ComputeNode:
        """The one node of an inlined Func, which all its consumers share."""
        if func not in self.inlined:
            count = len(self.pipeline.function(func).stages)
            stages = ((func, stage) for stage in range(count))
            children = deeper(self.inlined_in, *stages)
            self.inlined[func] = ComputeNode(func, 0, children)
        return self.inlined[func]


def format_tree(tree: RootNode) -> str:
    """The tree drawn with lines; the Funcs that an inlined Func inlines are drawn once."""
    rows = tree_rows(tree)
    paths = last_at_levels([row.depth for row in rows])
    return "\n".join(
        guide(path) + phrase_text(row.phrase) for row, path in zip(rows, paths, strict=True)
    )


def tree_rows(tree: RootNode) -> list[TreeRow]:
    """The rows of the tree under its root; what an inlined Func inlines is there once."""
    rows = [TreeRow(0, ("root",))]
    known: set[str] = set()
    open_ = _pending(tree.children, 1, False)
    while open_:
        node, depth, is_inlined = open_.pop()
        if is_inlined and isinstance(node, ComputeNode):
            again = bool(node.inlined) and node.func in known
            known.add(node.func)
            rows.append(TreeRow(depth, (f"inline {node.func}{' (as above)' if again else ''}",)))
            open_ += [] if again else _pending(node.inlined, depth + 1, True)
        else:
            rows.append(TreeRow(depth, _label(node)))
            inner = node.inlined if isinstance(node, ComputeNode) else node.children
            open_ += _pending(inner, depth + 1, isinstance(node, ComputeNode))
    return rows


def _pending(
    nodes: Sequence[TreeNode], depth: int, is_inlined: bool
) -> list[tuple[TreeNode, int, bool]]:
    """Nodes to list, the first one last: each with its depth, and whether it is an inlined Func."""
    return [(node, depth, is_inlined) for node in reversed(nodes)]


def _label(node: TreeNode) -> Phrase:
    match node:
        case StorageNode(func=func):
            return Styled("store", "store"), f" {func}"
        case LoopNode(func=func, stage=stage, loop=loop, kind=kind, fused=fused):
            verb = "for" if kind is LoopKind.SERIAL else str(kind)
            others = f" with {', '.join(map(str, fused))}" if fused else ""
            return Styled(KIND_STYLES[kind], verb), f" {StageOf(func, stage)}.{loop}{others}"
        case ComputeNode(func=func, stage=stage):
            return Styled("strong", "compute"), f" {StageOf(func, stage)}"
