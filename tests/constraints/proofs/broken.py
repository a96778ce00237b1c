"""Loop nests with one mistake planted by hand, or by a schedule that breaks a rule."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

from attrs import evolve

from spaces import (
    Directives,
    Expr,
    Func,
    ImageParam,
    Int32,
    LoopKind,
    LoopNest,
    Pipeline,
    RDom,
    Var,
    loop_nest,
    pipeline,
    schedule,
)
from spaces.model.expressions.expr import Call, walk
from spaces.model.expressions.rewrite import rewrite
from spaces.model.formulas.interval import Interval
from spaces.model.nest.loopnest import Allocate, Compute, Loop, NestNode, Produce
from spaces.model.nest.traversal import Guard

X, Y = Var("x"), Var("y")


def blur() -> Pipeline:
    """``out`` reads three rows of ``blurx``, which reads three columns of the image."""
    image = ImageParam(Int32, 2, "input")
    blurx, out = Func("blurx"), Func("out")
    blurx[X, Y] = image[X - 1, Y] + image[X, Y] + image[X + 1, Y]
    out[X, Y] = blurx[X, Y - 1] + blurx[X, Y] + blurx[X, Y + 1]
    return pipeline(out)


def window() -> Pipeline:
    """``out`` reads ``f`` three columns and three rows apart."""
    image = ImageParam(Int32, 2, "input")
    f, out = Func("f"), Func("out")
    f[X, Y] = image[X, Y]
    out[X, Y] = f[X - 1, Y - 1] + f[X + 1, Y + 1]
    return pipeline(out)


def siblings() -> Pipeline:
    """``out`` reads ``f`` and ``g``; ``f`` reads ``p``, and more of it."""
    image = ImageParam(Int32, 2, "input")
    p, f, g, out = Func("p"), Func("f"), Func("g"), Func("out")
    p[X, Y] = image[X, Y] * 2
    f[X, Y] = p[X, Y] + 1
    g[X, Y] = image[X, Y] - 1
    out[X, Y] = f[X, Y] + g[X, Y] + f[X, Y + 3]
    return pipeline(out)


def polynomial() -> Pipeline:
    """Horner's rule over 4 x 3 coefficients, whose order matters."""
    image = ImageParam(Int32, 2, "input")
    r = RDom([(0, 4), (0, 3)], "r")
    s = Func("s")
    s[X, Y] = 0
    s[X, Y] = s[X, Y] * 2 + image[X + r.x, Y + r.y]
    return pipeline(s)


def scan(step: int) -> Pipeline:
    """Each of 8 values is changed by the value ``step`` places further."""
    r = RDom([(1, 8)], "r")
    f, out = Func("f"), Func("out")
    f[X] = X * 3
    f[r.x] = f[r.x] + f[r.x + step]
    out[X] = f[X] + f[0]
    return pipeline(out)


def nest_of(
    algorithm: Pipeline, directives: Callable[[Directives], Directives] = lambda d: d
) -> LoopNest:
    """The nest of a schedule, whatever rules it breaks."""
    return loop_nest(algorithm, directives(schedule(algorithm)).schedule)


def changed(nest: LoopNest, change: Callable[[NestNode], NestNode]) -> LoopNest:
    """A nest with ``change`` applied to every node."""

    def visit(node: NestNode) -> NestNode:
        if isinstance(node, Compute):
            return change(node)
        return change(evolve(node, body=tuple(map(visit, node.body))))

    return evolve(nest, body=tuple(map(visit, nest.body)))


def shrunk(nest: LoopNest, func: str, dimension: int) -> LoopNest:
    """One element less is allocated of a Func."""

    def change(node: NestNode) -> NestNode:
        if not isinstance(node, Allocate) or node.func != func:
            return node
        extents = list(node.extents)
        extents[dimension] = extents[dimension] - 1
        return evolve(node, extents=tuple(extents))

    return changed(nest, change)


def shortened(nest: LoopNest, func: str, loop: str) -> LoopNest:
    """The last iteration of a loop is missing."""

    def change(node: NestNode) -> NestNode:
        if not isinstance(node, Loop) or (node.var.func, node.var.loop) != (func, loop):
            return node
        var = evolve(node.var, max=node.var.max - 1, extent=node.var.extent - 1)
        return evolve(node, var=var)

    return changed(nest, change)


def of_kind(nest: LoopNest, func: str, loop: str, kind: LoopKind) -> LoopNest:
    """A loop of another kind."""

    def change(node: NestNode) -> NestNode:
        if not isinstance(node, Loop) or (node.var.func, node.var.loop) != (func, loop):
            return node
        return evolve(node, var=evolve(node.var, kind=kind))

    return changed(nest, change)


def unguarded(nest: LoopNest, func: str) -> LoopNest:
    """The computations of a Func without their guards."""
    return changed(
        nest,
        lambda n: evolve(n, guards=()) if isinstance(n, Compute) and n.func == func else n,
    )


def with_target(
    nest: LoopNest, func: str, dimension: int, move: Callable[[Interval], tuple[Expr, Expr]]
) -> LoopNest:
    """A nest in which the loops of a Func run over a box that is moved along one dimension, as if
    bounds inference had found that box.
    """
    placement = nest.placements[func]
    target = list(placement.storage.target)
    target[dimension] = Interval(*move(target[dimension]))
    moved = evolve(placement, storage=evolve(placement.storage, target=tuple(target)))
    bounds = copy(nest.bounds)
    bounds.placements = {**nest.placements, func: moved}
    low, high = target[dimension].min, target[dimension].max
    assert low is not None
    assert high is not None
    name = placement.function.args[dimension]

    def change(node: NestNode) -> NestNode:
        if not isinstance(node, Loop) or (node.var.func, node.var.loop) != (func, name):
            return node
        return evolve(node, var=evolve(node.var, min=low, max=high, extent=high - low + 1))

    return evolve(changed(nest, change), bounds=bounds)


def computed_seldom(nest: LoopNest, func: str) -> LoopNest:
    """A nest without a Func in the last iteration of the loop around it, as if no consumer needed
    it.
    """
    placement = nest.placements[func]
    loop = placement.path[-1]
    condition = placement.when & (loop.var < loop.max)
    bounds = copy(nest.bounds)
    bounds.placements = {**nest.placements, func: evolve(placement, when=condition)}

    def change(node: NestNode) -> NestNode:
        if not isinstance(node, Compute) or node.func != func:
            return node
        return evolve(node, guards=(Guard("", condition), *node.guards))

    return evolve(changed(nest, change), bounds=bounds)


def reading_elsewhere(nest: LoopNest, func: str) -> LoopNest:
    """The first read of a Func is one element further."""

    def change(node: NestNode) -> NestNode:
        if not isinstance(node, Compute) or node.func != func:
            return node
        (value,) = node.values
        call = next(n for n in walk(value) if isinstance(n, Call))
        moved = call.with_children((call.args[0] + 1, *call.args[1:]))
        return evolve(node, values=(rewrite(value, lambda n: moved if n is call else n),))

    return changed(nest, change)


def stored_inside(nest: LoopNest, func: str) -> LoopNest:
    """The storage of a Func inside the loop that it stood around."""

    def inside(node: NestNode) -> NestNode:
        if not isinstance(node, Allocate) or node.func != func:
            return node
        (produce,) = node.body
        assert isinstance(produce, Produce)
        (loop,) = produce.body
        assert isinstance(loop, Loop)
        return evolve(produce, body=(evolve(loop, body=(evolve(node, body=loop.body),)),))

    return changed(nest, inside)


def stages_swapped(nest: LoopNest, func: str) -> LoopNest:
    """The update of a Func before its pure stage."""
    return changed(
        nest,
        lambda n: evolve(n, body=n.body[::-1]) if isinstance(n, Produce) and n.func == func else n,
    )


def last_stage_again(nest: LoopNest, func: str) -> LoopNest:
    """A nest that computes the last stage of a Func twice."""

    def change(node: NestNode) -> NestNode:
        if isinstance(node, Produce) and node.func == func:
            return evolve(node, body=(*node.body, node.body[-1]))
        return node

    return changed(nest, change)


def consumed_first(nest: LoopNest, func: str) -> LoopNest:
    """A nest whose consumers of a Func stand before its production, inside its storage."""

    def swapped(node: NestNode) -> NestNode:
        if not isinstance(node, Allocate) or node.func != func:
            return node
        return evolve(node, body=tuple(reversed(node.body)))

    return changed(nest, swapped)


def of_other_form(nest: LoopNest, func: str) -> LoopNest:
    """A nest that subtracts one from every value of a Func."""

    def change(node: NestNode) -> NestNode:
        if not isinstance(node, Compute) or node.func != func:
            return node
        return evolve(node, values=tuple(value - 1 for value in node.values))

    return changed(nest, change)


def freed_early(nest: LoopNest, func: str) -> LoopNest:
    """The storage of a Func, inside a loop, ends before its consumers run."""

    def change(node: NestNode) -> NestNode:
        if not isinstance(node, Loop) or len(node.body) != 1:
            return node
        (storage,) = node.body
        if not isinstance(storage, Allocate) or storage.func != func:
            return node
        produce, *consumers = storage.body
        return evolve(node, body=(evolve(storage, body=(produce,)), *consumers))

    return changed(nest, change)


def stricter(nest: LoopNest, func: str) -> LoopNest:
    """Guards of a Func that leave out one iteration more: ``a + 1 < b`` in place of ``a < b``."""

    def tight(guard: Guard) -> Guard:
        a, b = guard.condition.children
        return evolve(guard, condition=a + 1 < b)

    return changed(
        nest,
        lambda n: (
            evolve(n, guards=tuple(map(tight, n.guards)))
            if isinstance(n, Compute) and n.func == func
            else n
        ),
    )
