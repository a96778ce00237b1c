"""Where each computation of a loop nest stands, and what it reads and writes there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from attrs import define, field, frozen

from spaces.constraints.obligations.assumptions import Assumptions
from spaces.constraints.reasoning.formulas import within
from spaces.constraints.reasoning.opaque import Opaque
from spaces.constraints.rules.phrases import stage_name
from spaces.model.expressions.expr import Call, Const, Expr, constant, walk
from spaces.model.expressions.types import Int32
from spaces.model.formulas.interval import Interval
from spaces.model.nest.loopnest import Allocate, Compute, Loop, LoopNest, NestNode, Produce
from spaces.model.nest.traversal import LoopVar


@frozen
class TreeStep:
    """One node of a path through the tree: child ``index`` of the node before."""

    index: int
    node: NestNode


TreePath = tuple[TreeStep, ...]


@frozen
class Access:
    """``site`` reads or writes ``buffer`` at ``args``, as formulas."""

    site: Site
    buffer: str
    args: tuple[Expr, ...]
    is_write: bool
    written: str
    """The place as the algorithm writes it, for statements."""


@frozen(eq=False, slots=False)
class Site:
    """One computation and the nodes around it, outermost first; itself the last.

    ``opaque`` turns index expressions into formulas.
    """

    path: TreePath
    opaque: Opaque

    @property
    def compute(self) -> Compute:
        """The computation."""
        node = self.path[-1].node
        assert isinstance(node, Compute)
        return node

    @property
    def name(self) -> str:
        """The stage, as a schedule names it."""
        return stage_name(self.compute.func, self.compute.stage)

    @cached_property
    def loops(self) -> tuple[LoopVar, ...]:
        """All loops around the site, outermost first."""
        return loops_of(self.path)

    @cached_property
    def guards(self) -> tuple[Expr, ...]:
        """The conditions under which the site runs."""
        return tuple(self.opaque.formula(g.condition) for g in self.compute.guards)

    @cached_property
    def predicates(self) -> tuple[Expr, ...]:
        """The predicates of the algorithm; the site does nothing if one is false."""
        return tuple(map(self.opaque.formula, self.compute.predicates))

    @cached_property
    def conditions(self) -> tuple[Expr, ...]:
        """The conditions under every access: the guards, and the predicates that read nothing,
        because these are tested first.
        """
        plain = (p for p in self.compute.predicates if not p.loads)
        return (*self.guards, *map(self.opaque.formula, plain))

    @cached_property
    def write(self) -> Access:
        """The access that the site writes."""
        args = tuple(self.opaque.formula(a) for a in self.compute.args)
        return Access(self, self.compute.func, args, True, f"{self.compute.func}")

    @cached_property
    def reads(self) -> tuple[Access, ...]:
        """The accesses that the site reads, each place once: in values, coordinates, predicates,
        and bounds of its loops. The components of a Tuple lie in one place.
        """
        compute = self.compute
        own = [p.node for p in self.path if isinstance(p.node, Loop)]
        bounds = [e for n in own if n.var.func == compute.func for e in (n.var.min, n.var.extent)]
        guards = [g.condition for g in compute.guards]
        nodes = walk(*compute.values, *compute.args, *bounds, *guards, *compute.predicates)
        places = {(n.target, n.args): n for n in nodes if isinstance(n, Call)}
        return tuple(
            Access(self, c.target, tuple(self.opaque.formula(a) for a in c.args), False, str(c))
            for c in places.values()
        )


def loops_of(path: TreePath) -> tuple[LoopVar, ...]:
    """The loops along a path, outermost first."""
    return tuple(step.node.var for step in path if isinstance(step.node, Loop))


def common_depth(a: TreePath, b: TreePath) -> int:
    """How many nodes two paths share."""
    depth = 0
    for first, second in zip(a, b, strict=False):
        if first.index != second.index:
            break
        depth += 1
    return depth


def encloses(outer: TreePath, inner: TreePath) -> bool:
    """Whether a node is the other one, or encloses it."""
    return common_depth(outer, inner) == len(outer)


def all_paths(nodes: tuple[NestNode, ...], above: TreePath = ()) -> Iterator[TreePath]:
    """The path to every node of a tree, parents before children."""
    for index, node in enumerate(nodes):
        path = (*above, TreeStep(index, node))
        yield path
        if not isinstance(node, Compute):
            yield from all_paths(node.body, path)


@define(slots=False)
class Subject:
    """A loop nest as the obligations read it: its computations, allocations and productions by
    Func, and the assumptions on sizes.
    """

    nest: LoopNest
    known: Assumptions
    opaque: Opaque = field(init=False)
    sites: tuple[Site, ...] = field(init=False)
    allocations: dict[str, TreePath] = field(init=False, factory=dict)
    productions: dict[str, TreePath] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        bounds = self.nest.bounds
        ranges = {**bounds.values.parameters, **dict(_numbers(self.nest))}
        promises = tuple(p.condition for p in self.nest.pipeline.promises)
        self.opaque = Opaque(ranges, bounds.values, promises)
        self.known = self.known.mapped(self.opaque.condition)
        sites = []
        for path in all_paths(self.nest.body):
            node = path[-1].node
            if isinstance(node, Compute):
                sites.append(Site(path, self.opaque))
            elif isinstance(node, Allocate):
                self.allocations[node.func] = path
            elif isinstance(node, Produce):
                self.productions[node.func] = path
        self.sites = tuple(sites)

    @cached_property
    def images(self) -> frozenset[str]:
        """Names of the images."""
        return frozenset(i.name for i in self.nest.pipeline.images)

    @cached_property
    def loop_names(self) -> frozenset[str]:
        """The variables of all loops."""
        paths = all_paths(self.nest.body)
        return frozenset(p[-1].node.var.var.name for p in paths if isinstance(p[-1].node, Loop))

    def of(self, func: str) -> tuple[Site, ...]:
        """The computations of one Func, stage by stage."""
        return tuple(s for s in self.sites if s.compute.func == func)

    def allocation(self, func: str) -> Allocate | None:
        """The allocation of a Func; None for images and outputs."""
        node = self.allocations[func][-1].node if func in self.allocations else None
        return node if isinstance(node, Allocate) else None

    def between(self, func: str) -> tuple[LoopVar, ...]:
        """The loops around the production of a Func that are inside its storage."""
        path = self.productions[func]
        storage = self.allocations.get(func, ())
        return loops_of(path[len(storage) :]) if encloses(storage, path) else ()

    def ranges(self, loops: tuple[LoopVar, ...]) -> tuple[Expr, ...]:
        """The conditions that each loop variable lies in its range, outermost first."""
        return tuple(c for loop in loops for c in self.range(loop))

    def range(self, loop: LoopVar) -> tuple[Expr, ...]:
        """The condition that the variable of one loop lies in its range."""
        low, extent = self.opaque.formula(loop.min), self.opaque.formula(loop.extent)
        last = low + extent - 1
        if low is constant(0, Int32):
            last = extent - 1
        return within(loop.var, low, last)

    def runs(self, site: Site, buffer: str = "") -> tuple[Expr, ...]:
        """The conditions that hold when a computation runs and accesses ``buffer``."""
        return (*self.known.about(buffer), *self.ranges(site.loops), *site.conditions)


def _numbers(nest: LoopNest) -> Iterator[tuple[str, Interval]]:
    """The ranges of loop variables whose ends are numbers."""
    for path in all_paths(nest.body):
        loop = path[-1].node
        if not isinstance(loop, Loop):
            continue
        low, high = loop.var.min, loop.var.max
        if isinstance(low, Const) and isinstance(high, Const) and low.value <= high.value:
            yield loop.var.var.name, Interval(low, high)


def coordinates(subject: Subject, site: Site) -> dict[str, Expr]:
    """The Vars and RVars of a stage as formulas over its loops: from the write of a pure stage,
    from bounds inference for an update.
    """
    placement = subject.nest.placements[site.compute.func]
    stage = placement.function.stages[site.compute.stage]
    if site.compute.stage == 0:
        return dict(zip(placement.function.args, site.compute.args, strict=True))
    visited = placement.stages[site.compute.stage].coordinates
    return {name: visited[name] for name in stage.dimensions}
