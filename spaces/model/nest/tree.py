"""[TOY]'s schedule tree, as a view of (pipeline, schedule).

Ancestry means order: a node happens inside its ancestors and after what stands before it. The
tree can be drawn for an ill-formed schedule too; what has no place in it is left out, and
:func:`well_formed` says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from attrs import define, field, frozen

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.levels import LevelError, Levels
from spaces.model.schedules.schedule import LoopLevel, Schedule


@frozen
class ComputeNode:
    """The computation of one stage of a Func; ``inlined`` are the Funcs substituted into it."""

    func: str
    stage: int
    inlined: tuple[ComputeNode, ...] = ()


@frozen
class LoopNode:
    """One loop of one stage of a Func."""

    func: str
    stage: int
    loop: str
    kind: LoopKind
    children: tuple[Node, ...]


@frozen
class StorageNode:
    """Storage of a Func, for the time of ``children``."""

    func: str
    children: tuple[Node, ...]


@frozen
class RootNode:
    """The top of a schedule tree."""

    children: tuple[Node, ...]


Node: TypeAlias = ComputeNode | LoopNode | StorageNode


def schedule_tree(pipeline: Pipeline, schedule: Schedule) -> RootNode:
    """The tree of ``schedule``, outputs without storage nodes, as is [TOY]'s convention.

    Storage encloses what follows its level's start, the computations of consumers included. A
    compute level that names a loop of several stages means the one that encloses the uses.
    """
    return RootNode(_Builder(pipeline, schedule).body(_ROOT, ()))


_Slot: TypeAlias = tuple[str, int, int]
"""Func, stage and index of a loop: a place where something may be computed or stored."""

_ROOT: _Slot = ("", 0, 0)


@define
class _Builder:
    pipeline: Pipeline
    schedule: Schedule
    computed: dict[_Slot, list[str]] = field(init=False, factory=dict)
    stored: dict[_Slot, list[str]] = field(init=False, factory=dict)
    inlined: dict[str, ComputeNode] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.pipeline = derived(self.pipeline, self.schedule)
        levels = Levels(self.pipeline, self.schedule)
        for func in self.schedule.funcs:
            if func.compute.is_inline:
                continue
            slot = self.slot(levels, func.name, func.compute)
            if slot is not None:
                self.computed.setdefault(slot, []).append(func.name)
            if func.name in self.pipeline.outputs:
                continue
            slot = self.slot(levels, func.name, func.store)
            if slot is not None and not func.store.is_inline:
                self.stored.setdefault(slot, []).append(func.name)

    def slot(self, levels: Levels, func: str, level: LoopLevel) -> _Slot | None:
        """Where ``level`` is: around the uses of ``func`` if possible, else the first such loop."""
        if level.is_root:
            return _ROOT
        known = {f.name: f for f in self.schedule.funcs}
        if level.func not in known:
            return None
        stages = [s.names for s in known[level.func].stages]
        try:
            place = next((p for p in levels.enclosing(func) if p.level == level), None)
        except LevelError:
            place = None
        if place is not None:
            return (place.func, place.stage, stages[place.stage].index(place.loop))
        for stage, names in enumerate(stages):
            if level.loop in names:
                return (level.func, stage, names.index(level.loop))
        return None

    def body(self, slot: _Slot, own: tuple[Node, ...]) -> tuple[Node, ...]:
        """What happens at a place: Funcs computed there before ``own``, inside their storage."""
        computed, stored = self.computed.get(slot, []), self.stored.get(slot, [])
        for function in reversed(self.pipeline.functions):
            if function.name in computed:
                own = (*self.nest(function.name), *own)
            if function.name in stored:
                own = (StorageNode(function.name, own),)
        return own

    def nest(self, func: str) -> tuple[Node, ...]:
        """The loops and computations of all stages of ``func``."""
        nodes: list[Node] = []
        for stage, order in enumerate(self.schedule.of(func).stages):
            inner: tuple[Node, ...] = (ComputeNode(func, stage, self.inlined_in((func, stage))),)
            for index, loop in reversed(list(enumerate(order.loops))):
                children = self.body((func, stage, index), inner)
                inner = (LoopNode(func, stage, loop.name, loop.kind, children),)
            nodes += inner
        return tuple(nodes)

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
        return any(f.name == name and f.compute.is_inline for f in self.schedule.funcs)

    def inline(self, func: str) -> ComputeNode:
        """The one node of an inlined Func, which all its consumers share."""
        if func not in self.inlined:
            count = len(self.pipeline.function(func).stages)
            children = self.inlined_in(*((func, stage) for stage in range(count)))
            self.inlined[func] = ComputeNode(func, 0, children)
        return self.inlined[func]


def well_formed(tree: RootNode, pipeline: Pipeline) -> list[str]:
    """What [TOY]'s two criteria find wrong, one sentence each; empty for a well-formed tree.

    1. The path from a computation to the root has all loops and, but for outputs, the storage of
       its Func.
    2. What a computation calls is inlined into it or computed before it; and since storage is
       freed where its node ends, inside that storage.
    """
    survey = _Survey()
    survey.visit(tree.children, ())
    problems = [
        problem for site in survey.computes for problem in _path_problems(site, survey, pipeline)
    ]
    computed = {site.node.func for site in survey.computes}
    inlined = {name for site in survey.computes for name in _inlined_names(site.node)}
    for function in pipeline.functions:
        if function.name not in computed and function.name not in inlined:
            problems.append(
                f"{function.name} has no place in the tree: it is neither computed nor inlined "
                "where it is called. Is its compute level a loop of a computed Func?"
            )
    for position, site in enumerate(survey.computes):
        for callee in sorted(_called(site.node, pipeline) & computed):
            problems += _call_problems(site, callee, survey.computes[:position], pipeline)
    return problems


@frozen
class _Site:
    """A computation and its ancestors, outermost first."""

    node: ComputeNode
    path: tuple[LoopNode | StorageNode, ...]

    @property
    def shown(self) -> str:
        return _stage_name(self.node.func, self.node.stage)


@define
class _Survey:
    """All computations of a tree in depth-first order, and all its loops."""

    computes: list[_Site] = field(factory=list)
    loops: list[LoopNode] = field(factory=list)

    def visit(self, nodes: tuple[Node, ...], path: tuple[LoopNode | StorageNode, ...]) -> None:
        for node in nodes:
            if isinstance(node, ComputeNode):
                self.computes.append(_Site(node, path))
                continue
            if isinstance(node, LoopNode):
                self.loops.append(node)
            self.visit(node.children, (*path, node))


def _path_problems(site: _Site, survey: _Survey, pipeline: Pipeline) -> Iterator[str]:
    """Violations of the first criterion."""
    stage = (site.node.func, site.node.stage)
    above = {id(node) for node in site.path}
    for loop in survey.loops:
        if (loop.func, loop.stage) == stage and id(loop) not in above:
            yield f"The computation of {site.shown} is not inside its loop {loop.loop}."
    stored = any(isinstance(n, StorageNode) and n.func == site.node.func for n in site.path)
    if not stored and site.node.func not in pipeline.outputs:
        yield (
            f"The computation of {site.shown} is not inside the storage of {site.node.func}; "
            "store it at its compute level or further out."
        )


def _call_problems(
    site: _Site, callee: str, before: list[_Site], pipeline: Pipeline
) -> Iterator[str]:
    """Violations of the second criterion by one call."""
    done = {earlier.node.stage for earlier in before if earlier.node.func == callee}
    if done != set(range(len(pipeline.function(callee).stages))):
        yield f"{site.shown} calls {callee}, which is not computed before it."
    elif callee not in pipeline.outputs and not any(
        isinstance(node, StorageNode) and node.func == callee for node in site.path
    ):
        yield (
            f"{site.shown} calls {callee}, but is outside the storage of {callee}; compute "
            f"and store {callee} at a loop that encloses all its uses."
        )


def _called(node: ComputeNode, pipeline: Pipeline) -> set[str]:
    """The Funcs that a computation reads from storage, by itself or through what it inlines."""
    stage = pipeline.function(node.func).stages[node.stage]
    called = {call.target for call in stage.calls} - {node.func}
    for name in _inlined_names(node):
        called |= set(pipeline.function(name).callees)
    return called - _inlined_names(node)


def _inlined_names(node: ComputeNode) -> set[str]:
    """Names of all Funcs inlined into a computation, at any depth."""
    names: set[str] = set()
    stack = list(node.inlined)
    while stack:
        inlined = stack.pop()
        if inlined.func not in names:
            names.add(inlined.func)
            stack += inlined.inlined
    return names


def format_tree(tree: RootNode) -> str:
    """The tree drawn with lines; the Funcs that an inlined Func inlines are drawn once."""
    return "\n".join(["root", *_drawn(tree.children, "", set())])


def _drawn(nodes: tuple[Node, ...], indent: str, known: set[str]) -> Iterator[str]:
    for node in nodes:
        last = node is nodes[-1]
        yield f"{indent}{'└─ ' if last else '├─ '}{_label(node)}"
        below = indent + ("   " if last else "│  ")
        if isinstance(node, ComputeNode):
            yield from _drawn_inlined(node.inlined, below, known)
        else:
            yield from _drawn(node.children, below, known)


def _drawn_inlined(nodes: tuple[ComputeNode, ...], indent: str, known: set[str]) -> Iterator[str]:
    for node in nodes:
        last = node is nodes[-1]
        again = node.inlined and node.func in known
        known.add(node.func)
        above = " (as above)" if again else ""
        yield f"{indent}{'└─ ' if last else '├─ '}inline {node.func}{above}"
        if not again:
            yield from _drawn_inlined(node.inlined, indent + ("   " if last else "│  "), known)


def _label(node: Node) -> str:
    match node:
        case StorageNode(func=func):
            return f"store {func}"
        case LoopNode(func=func, stage=stage, loop=loop, kind=kind):
            verb = "for" if kind is LoopKind.SERIAL else str(kind)
            return f"{verb} {_stage_name(func, stage)}.{loop}"
        case ComputeNode(func=func, stage=stage):
            return f"compute {_stage_name(func, stage)}"


def _stage_name(func: str, stage: int) -> str:
    return f"{func}.update({stage - 1})" if stage else func
