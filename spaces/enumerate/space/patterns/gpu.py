"""Patterns of domain orders for GPUs: grids of blocks, threads, and what one thread computes."""

from __future__ import annotations

from spaces.enumerate.space.patterns.builder import Pattern, PatternBuilder, Shape, rest, serial
from spaces.model.schedules.domain_order import LoopKind, OrderedLoop


def blocks(shape: Shape) -> Pattern | None:
    """A grid over the innermost and the outermost long dimension, with one value a thread; a thread
    goes along all other dimensions.
    """
    used = _tiled(shape)
    if not used:
        return None
    build = PatternBuilder(shape)
    threads = _threads(build, used)
    return build.done((*_grid(build, used), *threads, *rest(shape, used)))


def grid(shape: Shape) -> Pattern | None:
    """A grid as in :func:`blocks`, with blocks over the other dimensions, too."""
    used = _tiled(shape)
    others = _others(shape, used)
    if not used or not others:
        return None
    build = PatternBuilder(shape)
    threads = _threads(build, used)
    return build.done((*_grid(build, used, others), *threads, *rest(shape, (*used, *others))))


def thread_blocks(shape: Shape) -> Pattern | None:
    """A grid as in :func:`grid`, in which a thread computes a few values along the outer dimension.
    These values share what they read [A21 4.1].
    """
    used = _tiled(shape)
    if len(used) < 2:
        return None
    build = PatternBuilder(shape)
    values = OrderedLoop(build.split(used[1], f"{used[1]}b", "block"), LoopKind.UNROLLED)
    threads = _threads(build, used)
    others = _others(shape, used)
    blocks_of_all = _grid(build, used, others)
    return build.done((*blocks_of_all, *threads, *rest(shape, (*used, *others)), values))


def thread_boxes(shape: Shape) -> Pattern | None:
    """A grid over the innermost and the two outermost long dimensions, as layers of networks have
    them. A thread computes a few values along the outermost one.
    """
    used = tuple(dict.fromkeys((*shape.long[:1], *shape.long[-2:])))
    if len(used) < 3:
        return None
    build = PatternBuilder(shape)
    values = OrderedLoop(build.split(used[2], f"{used[2]}b", "block"), LoopKind.UNROLLED)
    threads = _threads(build, used)
    others = _others(shape, used)
    outermost = build.fuse((used[2], *others)) if others else used[2]
    blocks_of_all = _grid(build, (*used[:2], outermost))
    return build.done((*blocks_of_all, *threads, *rest(shape, (*used, *others)), values))


def threads(shape: Shape) -> Pattern | None:
    """The threads of the enclosing block, one value a thread."""
    used = _tiled(shape)
    if not used:
        return None
    loops = [OrderedLoop(name, LoopKind.GPU_THREAD) for name in reversed(used)]
    return PatternBuilder(shape).done((*loops, *rest(shape, used)))


def thread_registers(shape: Shape) -> Pattern | None:
    """All values that a thread needs, in its registers, inside the loops over terms."""
    if not shape.free:
        return None
    terms = (OrderedLoop(name) for name in reversed(shape.bound))
    values = (OrderedLoop(name, LoopKind.UNROLLED) for name in reversed(shape.free))
    return PatternBuilder(shape).done((*terms, *values))


def atomic_blocks(shape: Shape) -> Pattern | None:
    """A grid over the terms of a reduction or of a scatter, which change their element in one step.
    Threads go along the innermost long RVar, blocks along the other RVars and all free dimensions.
    Where there are blocks without it, a thread takes every n-th term of the innermost RVar.  Other
    stages have blocks as in :func:`blocks`, or none.
    """
    if not shape.terms:
        return blocks(shape) or serial(shape)
    row, *others = shape.terms
    build = PatternBuilder(shape)
    lanes = OrderedLoop(build.split(row, f"{row}t", "row"), LoopKind.GPU_THREAD)
    across = [*others, *shape.free]
    blocked = [build.fuse(across)] if across else [row]
    left = [name for name in shape.bound if name not in (*others, *blocked)]
    order = (OrderedLoop(name) for name in reversed(left))
    return build.done((OrderedLoop(blocked[0], LoopKind.GPU_BLOCK), lanes, *order))


def _tiled(shape: Shape) -> tuple[str, ...]:
    """The innermost and the outermost of the long dimensions."""
    return tuple(dict.fromkeys((*shape.long[:1], *shape.long[-1:])))


def _others(shape: Shape, used: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in shape.free if name not in used)


def _grid(
    build: PatternBuilder, used: tuple[str, ...], others: tuple[str, ...] = ()
) -> list[OrderedLoop]:
    """The blocks, one dimension for all others together."""
    across = (*used, build.fuse(others)) if others else used
    return [OrderedLoop(name, LoopKind.GPU_BLOCK) for name in reversed(across)]


def _threads(build: PatternBuilder, used: tuple[str, ...]) -> list[OrderedLoop]:
    """The threads of a block, one a value of a tile."""
    inner = [build.split(name, f"{name}t", "row" if name == used[0] else "tile") for name in used]
    return [OrderedLoop(name, LoopKind.GPU_THREAD) for name in reversed(inner)]
