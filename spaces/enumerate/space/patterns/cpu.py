"""Patterns of domain orders for CPUs: tiles, strips, vectors, and blocks of registers."""

from __future__ import annotations

from attrs import evolve

from spaces.enumerate.space.patterns.builder import Maker, Pattern, PatternBuilder, Shape, rest
from spaces.model.schedules.domain_order import LoopKind, OrderedLoop


def vectors(shape: Shape) -> Pattern | None:
    """Row-major loops with vectors along rows."""
    if not shape.rows:
        return None
    build = PatternBuilder(shape)
    return build.done((*rest(shape, (shape.rows,)), *build.vectors(shape.rows)))


def strips(shape: Shape) -> Pattern | None:
    """Strips of several lines in parallel; inside, one line at a time with vectors along rows."""
    if not shape.long:
        return None
    along = shape.long[-1]
    build = PatternBuilder(shape)
    lines = build.tile(along)
    outer = OrderedLoop(along, LoopKind.PARALLEL)
    if along == shape.rows:
        return build.done((outer, *rest(shape, (along,)), *build.vectors(lines)))
    rows = build.vectors(shape.rows) if shape.rows else ()
    return build.done((outer, OrderedLoop(lines), *rest(shape, (along, shape.rows)), *rows))


def interleaved_lines(shape: Shape) -> Pattern | None:
    """For stages that scatter, and those that go along rows in order, as running sums do. A few
    lines run at once, whose values do not wait for each other; groups of lines run in parallel.
    Vectors across rows would touch a line of the cache for each lane. Other stages have
    :func:`strips`.
    """
    if not ((shape.scatters or shape.scans) and shape.long):
        return strips(shape)
    along = shape.long[-1]
    build = PatternBuilder(shape)
    lines = OrderedLoop(build.split(along, f"{along}i", "block"), LoopKind.UNROLLED)
    outer = OrderedLoop(along, LoopKind.PARALLEL)
    return build.done((outer, *rest(shape, (along,)), lines))


def planes(shape: Shape) -> Pattern | None:
    """For stages without a long dimension but rows, as the sums over each of ten images: the
    outermost dimension in parallel, one value a task; inside, vectors along rows.
    """
    along = shape.outermost
    if not along or along in shape.long or any(name != shape.rows for name in shape.long):
        return None
    build = PatternBuilder(shape)
    rows = shape.rows if shape.rows != along else ""
    vectors = build.vectors(rows) if rows else ()
    outer = OrderedLoop(along, LoopKind.PARALLEL)
    return build.done((outer, *rest(shape, (along, rows)), *vectors))


def strips_across(shape: Shape) -> Pattern | None:
    """Strips as in :func:`strips`, with a line in each lane of a vector: for Funcs off rows, whose
    neighbors in a row are no neighbors where they are read or written.
    """
    along = _across(shape)
    if not along:
        return None
    build = PatternBuilder(shape)
    lines = build.split(along, f"{along}i", "tile")
    lanes = OrderedLoop(build.split(lines, f"{along}v", "lanes"), LoopKind.VECTORIZED)
    outer = (OrderedLoop(along, LoopKind.PARALLEL), OrderedLoop(lines))
    return build.done((*outer, *rest(shape, (along,)), lanes))


def vectors_across(shape: Shape) -> Pattern | None:
    """Vectors as in :func:`vectors`, with a line in each lane, as in :func:`strips_across`."""
    along = _across(shape)
    if not along:
        return None
    build = PatternBuilder(shape)
    lanes = OrderedLoop(build.split(along, f"{along}v", "lanes"), LoopKind.VECTORIZED)
    return build.done((OrderedLoop(along), *rest(shape, (along,)), lanes))


def _across(shape: Shape) -> str:
    """The dimension whose lines are lanes; empty if the first stage has it as its rows already."""
    return "" if shape.stage == 0 and shape.across == shape.rows else shape.across


def tiles(shape: Shape) -> Pattern | None:
    """Tiles, whose rows run in parallel; inside, one line at a time with vectors along rows."""
    if len(shape.long) < 2 or shape.rows not in shape.long:
        return None
    across, along = shape.rows, shape.long[-1]
    build = PatternBuilder(shape)
    inner, lines = build.tile(across), build.tile(along)
    outer = (OrderedLoop(along, LoopKind.PARALLEL), OrderedLoop(across), OrderedLoop(lines))
    return build.done((*outer, *rest(shape, (along, across)), *build.vectors(inner)))


def register_rows(shape: Shape) -> Pattern | None:
    """For what reads sums: blocks of a few vectors by a few lines, so that the sums of a block fit
    the registers. One follows the other along a line; the outermost long dimension runs in
    parallel.
    """
    return _register_blocks(shape, tuple(reversed(shape.free)), shape.free[1:2])


def register_columns(shape: Shape) -> Pattern | None:
    """For what reads sums: blocks as in :func:`register_rows`, in columns that run in parallel:
    what a column reads may stay in a cache.
    """
    return _register_blocks(shape, (*shape.free[:1], *reversed(shape.free[1:])), shape.free[1:2])


def register_planes(shape: Shape) -> Pattern | None:
    """For what reads sums: blocks of a few vectors by a few planes, which share what they read: as
    the output channels of a convolution whose rows are innermost.
    """
    if len(shape.free) < 3:
        return None
    return _register_blocks(shape, tuple(reversed(shape.free)), shape.free[2:3])


def channel_strips(shape: Shape) -> Pattern | None:
    """Strips as in :func:`strips`, with all channels of a vector of pixels one after the other."""
    return _with_channels(shape, strips)


def channel_tiles(shape: Shape) -> Pattern | None:
    """Tiles as in :func:`tiles`, with all channels of a vector of pixels one after the other."""
    return _with_channels(shape, tiles)


def channel_vectors(shape: Shape) -> Pattern | None:
    """Vectors as in :func:`vectors`, with all channels of a vector one after the other."""
    return _with_channels(shape, vectors)


def _with_channels(shape: Shape, maker: Maker) -> Pattern | None:
    """The pattern of the long dimensions, with the short ones unrolled around the vectors."""
    if not shape.short:
        return None
    pixels = tuple(name for name in shape.free if name not in shape.short)
    pattern = maker(evolve(shape, free=pixels))
    if pattern is None:
        return None
    *outer, vector = pattern.order.loops
    channels = (OrderedLoop(name, LoopKind.UNROLLED) for name in reversed(shape.short))
    return evolve(pattern, order=evolve(pattern.order, loops=(*outer, *channels, vector)))


def _register_blocks(
    shape: Shape, order: tuple[str, ...], across: tuple[str, ...]
) -> Pattern | None:
    """Blocks of registers along the innermost dimension and others.

    Args:
        shape: the stage.
        order: the free dimensions, outermost first; the first long one runs in parallel.
        across: the other dimensions of a block.
    """
    if not (shape.reads_sums and shape.rows and shape.long):
        return None
    build = PatternBuilder(shape)
    width = build.split(shape.rows, f"{shape.rows}b", "block_row")
    lanes = build.split(width, f"{shape.rows}r", "register")
    lines = [build.split(name, f"{name}b", "block") for name in across]
    shared = next(name for name in order if name in shape.long)
    outer = (OrderedLoop(name) for name in order if name != shared)
    block = (OrderedLoop(name, LoopKind.UNROLLED) for name in (*lines, width))
    vector = OrderedLoop(lanes, LoopKind.VECTORIZED)
    return build.done((OrderedLoop(shared, LoopKind.PARALLEL), *outer, *block, vector))


def sums_in_registers(shape: Shape) -> Pattern | None:
    """For sums: blocks of a vector by a few lines, each kept in registers for all terms; the
    outermost long dimension runs in parallel.
    """
    return _sums_in_blocks(shape, shape.free[1:2])


def plane_sums_in_registers(shape: Shape) -> Pattern | None:
    """For sums: blocks of a vector by a few planes that share what they read, as in
    :func:`register_planes`.
    """
    planes = shape.free[2:3]
    is_shared = shape.stage == 0 or not shape.shares.isdisjoint(planes)
    return _sums_in_blocks(shape, planes) if planes and is_shared else None


def _sums_in_blocks(shape: Shape, across: tuple[str, ...]) -> Pattern | None:
    """Blocks of a vector by a few values of other dimensions, inside the loops over terms."""
    if not (shape.sums and shape.rows and shape.long):
        return None
    build = PatternBuilder(shape)
    lanes = build.split(shape.rows, f"{shape.rows}r", "lanes")
    lines = [build.split(name, f"{name}b", "block") for name in across]
    shared = shape.long[-1]
    outer = (OrderedLoop(name) for name in reversed(shape.free) if name != shared)
    terms = (OrderedLoop(name) for name in reversed(shape.bound))
    block = (OrderedLoop(name, LoopKind.UNROLLED) for name in lines)
    vector = OrderedLoop(lanes, LoopKind.VECTORIZED)
    return build.done((OrderedLoop(shared, LoopKind.PARALLEL), *outer, *terms, *block, vector))


def registers(shape: Shape) -> Pattern | None:
    """For sums: all values that the loops around need, in registers, inside the loops over terms;
    vectors along rows.
    """
    if not (shape.sums and shape.rows):
        return None
    build = PatternBuilder(shape)
    lanes = build.split(shape.rows, f"{shape.rows}r", "register")
    terms = (OrderedLoop(name) for name in reversed(shape.bound))
    block = (OrderedLoop(name, LoopKind.UNROLLED) for name in reversed(shape.free))
    return build.done((*terms, *block, OrderedLoop(lanes, LoopKind.VECTORIZED)))
