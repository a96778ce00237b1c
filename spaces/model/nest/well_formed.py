"""[TOY]'s criteria of well-formed schedule trees."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import define, field, frozen

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.nest.tree import ComputeNode, LoopNode, RootNode, StorageNode, TreeNode
from spaces.model.schedules.schedule import StageOf


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
        return str(StageOf(self.node.func, self.node.stage))


@define
class _Survey:
    """All computations of a tree in depth-first order, and all its loops."""

    computes: list[_Site] = field(factory=list)
    loops: list[LoopNode] = field(factory=list)

    def visit(self, nodes: tuple[TreeNode, ...], path: tuple[LoopNode | StorageNode, ...]) -> None:
        for node in nodes:
            if isinstance(node, ComputeNode):
                self.computes.append(_Site(node, path))
                continue
            if isinstance(node, LoopNode):
                self.loops.append(node)
            self.visit(node.children, (*path, node))


def _path_problems(site: _Site, survey: _Survey, pipeline: Pipeline) -> Iterator[str]:
    """Violations of the first criterion."""
    stage = StageOf(site.node.func, site.node.stage)
    above = {id(node) for node in site.path}
    for loop in survey.loops:
        if stage in (StageOf(loop.func, loop.stage), *loop.fused) and id(loop) not in above:
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
