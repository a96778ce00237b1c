"""Patterns of domain orders: the loops that people write, with tile sizes as parameters.

A pattern turns the dimensions of a stage into splits and loops. Names are regular, so that a Func
can be computed at a loop of another Func whatever that Func's pattern is: the outer loop of a
dimension keeps its name ``x``; the loop inside a tile is ``xi``, the vector lanes are ``xv``, and
the threads of a grid are ``xt``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

from attrs import define, evolve, field, frozen

from spaces.model.registry import Registry
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, OrderedLoop, Split


@frozen
class Shape:
    """The facts about a stage that a pattern needs.

    Attributes:
        func: the Func.
        stage: 0 for the pure stage.
        free: the Vars whose iterations are independent, innermost first.
        bound: the other Vars and RVars, innermost first.
        long: the members of ``free`` that are long enough to tile or to run on several threads,
            innermost first.
        short: the members of ``free`` that are short enough to be unrolled whole, such as the
            channels of a picture; none if the innermost is.
        menus: the factors to choose from, by role: ``"row"`` and ``"tile"`` for tiles along the
            innermost dimension and others, ``"lanes"`` for vectors; for blocks of registers
            ``"block_row"``, ``"block"`` and ``"register"`` likewise.
        sums: whether the Func adds up terms of a reduction domain.
        reads_sums: whether the Func is pure and reads such a Func.
        scatters: whether the first coordinate at which the stage writes is a value that it reads,
            such as the bin of a histogram.
        is_narrow: whether the innermost dimension is vectorized whole, as on CPUs those that are
            not long, but have more than a few values.
    """

    func: str
    stage: int
    free: tuple[str, ...]
    bound: tuple[str, ...]
    long: tuple[str, ...]
    menus: Mapping[str, tuple[int, ...]] = field(eq=False)
    sums: bool = False
    reads_sums: bool = False
    short: tuple[str, ...] = ()
    scatters: bool = False
    is_narrow: bool = False

    @property
    def rows(self) -> str:
        """The dimension of vectors and warps: the innermost if it is free, else empty."""
        return self.free[0] if self.free and (self.is_narrow or self.free[0] in self.long) else ""


@frozen
class Pattern:
    """A domain order with parameters, and the menu of each parameter."""

    order: DomainOrder
    menus: tuple[tuple[str, tuple[int, ...]], ...]


Maker: TypeAlias = Callable[[Shape], Pattern | None]
"""Makes the pattern for a shape; None if the shape lacks the dimensions."""


@define
class _PatternBuilder:
    """Collects splits and loops; takes loops outermost first."""

    shape: Shape
    splits: list[Split] = field(factory=list)
    menus: dict[str, tuple[int, ...]] = field(factory=dict)

    def split(self, loop: str, inner: str, role: str) -> str:
        """Splits ``loop`` by a parameter; returns the name of the inner loop."""
        stage = f"_u{self.shape.stage}" if self.shape.stage else ""
        parameter = f"{self.shape.func}{stage}_{inner}"
        self.splits.append(Split(loop, loop, inner, parameter))
        self.menus[parameter] = self.shape.menus[role]
        return inner

    def tile(self, loop: str) -> str:
        """Splits a dimension into tiles."""
        return self.split(loop, f"{loop}i", "row" if loop == self.shape.rows else "tile")

    def vectors(self, loop: str) -> tuple[OrderedLoop, ...]:
        """``loop``, which runs along rows, with vector lanes inside."""
        lanes = self.split(loop, f"{self.shape.rows}v", "lanes")
        return (OrderedLoop(loop), OrderedLoop(lanes, LoopKind.VECTORIZED))

    def done(self, loops: Iterable[OrderedLoop]) -> Pattern:
        """The pattern of these loops, outermost first."""
        return Pattern(DomainOrder(tuple(self.splits), tuple(loops)), tuple(self.menus.items()))


def _rest(shape: Shape, used: tuple[str, ...]) -> tuple[OrderedLoop, ...]:
    """Serial loops over all other dimensions, outermost first; reductions inside."""
    free = [OrderedLoop(name) for name in reversed(shape.free) if name not in used]
    return (*free, *(OrderedLoop(name) for name in reversed(shape.bound)))


def serial(shape: Shape) -> Pattern | None:
    """Row-major loops, one iteration after another."""
    return _PatternBuilder(shape).done(_rest(shape, ()))


def vectors(shape: Shape) -> Pattern | None:
    """Row-major loops with vectors along rows."""
    if not shape.rows:
        return None
    build = _PatternBuilder(shape)
    return build.done((*_rest(shape, (shape.rows,)), *build.vectors(shape.rows)))


def strips(shape: Shape) -> Pattern | None:
    """Strips of several lines in parallel; inside, one line at a time with vectors along rows."""
    if not shape.long:
        return None
    along = shape.long[-1]
    build = _PatternBuilder(shape)
    lines = build.tile(along)
    outer = OrderedLoop(along, LoopKind.PARALLEL)
    if along == shape.rows:
        return build.done((outer, *_rest(shape, (along,)), *build.vectors(lines)))
    rows = build.vectors(shape.rows) if shape.rows else ()
    return build.done((outer, OrderedLoop(lines), *_rest(shape, (along, shape.rows)), *rows))


def interleaved_lines(shape: Shape) -> Pattern | None:
    """For stages that scatter: a few lines at once, whose counts do not wait for each other; groups
    of lines in parallel. Other stages have :func:`strips`.
    """
    if not (shape.scatters and shape.long):
        return strips(shape)
    along = shape.long[-1]
    build = _PatternBuilder(shape)
    lines = OrderedLoop(build.split(along, f"{along}i", "block"), LoopKind.UNROLLED)
    outer = OrderedLoop(along, LoopKind.PARALLEL)
    return build.done((outer, *_rest(shape, (along,)), lines))


def tiles(shape: Shape) -> Pattern | None:
    """Tiles, whose rows run in parallel; inside, one line at a time with vectors along rows."""
    if len(shape.long) < 2 or shape.rows not in shape.long:
        return None
    across, along = shape.rows, shape.long[-1]
    build = _PatternBuilder(shape)
    inner, lines = build.tile(across), build.tile(along)
    outer = (OrderedLoop(along, LoopKind.PARALLEL), OrderedLoop(across), OrderedLoop(lines))
    return build.done((*outer, *_rest(shape, (along, across)), *build.vectors(inner)))


def register_rows(shape: Shape) -> Pattern | None:
    """For what reads sums: blocks of a few vectors by a few lines, so that the sums of a block fit
    the registers. One follows the other along a line; the outermost long dimension runs in
    parallel.
    """
    return _register_blocks(shape, tuple(reversed(shape.free)))


def register_columns(shape: Shape) -> Pattern | None:
    """For what reads sums: blocks as in :func:`register_rows`, in columns that run in parallel:
    what a column reads may stay in a cache.
    """
    return _register_blocks(shape, (*shape.free[:1], *reversed(shape.free[1:])))


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


def _register_blocks(shape: Shape, order: tuple[str, ...]) -> Pattern | None:
    """Blocks of registers along the two innermost dimensions.

    Args:
        shape: the stage.
        order: the free dimensions, outermost first; the first long one runs in parallel.
    """
    if not (shape.reads_sums and shape.rows and shape.long):
        return None
    build = _PatternBuilder(shape)
    width = build.split(shape.rows, f"{shape.rows}b", "block_row")
    lanes = build.split(width, f"{shape.rows}r", "register")
    lines = [build.split(name, f"{name}b", "block") for name in shape.free[1:2]]
    shared = next(name for name in order if name in shape.long)
    outer = (OrderedLoop(name) for name in order if name != shared)
    block = (OrderedLoop(name, LoopKind.UNROLLED) for name in (*lines, width))
    vector = OrderedLoop(lanes, LoopKind.VECTORIZED)
    return build.done((OrderedLoop(shared, LoopKind.PARALLEL), *outer, *block, vector))


def sums_in_registers(shape: Shape) -> Pattern | None:
    """For sums: blocks of a vector by a few lines, each kept in registers for all terms; the
    outermost long dimension runs in parallel.
    """
    if not (shape.sums and shape.rows and shape.long):
        return None
    build = _PatternBuilder(shape)
    lanes = build.split(shape.rows, f"{shape.rows}r", "lanes")
    lines = [build.split(name, f"{name}b", "block") for name in shape.free[1:2]]
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
    build = _PatternBuilder(shape)
    lanes = build.split(shape.rows, f"{shape.rows}r", "register")
    terms = (OrderedLoop(name) for name in reversed(shape.bound))
    block = (OrderedLoop(name, LoopKind.UNROLLED) for name in reversed(shape.free))
    return build.done((*terms, *block, OrderedLoop(lanes, LoopKind.VECTORIZED)))


def blocks(shape: Shape) -> Pattern | None:
    """A GPU grid over the two longest runs of dimensions, with one value a thread."""
    used = _grid(shape)
    if not used:
        return None
    build = _PatternBuilder(shape)
    inner = []
    for name in used:
        role = "row" if name == used[0] else "tile"
        inner.append(build.split(name, f"{name}t", role))
    grid = [OrderedLoop(name, LoopKind.GPU_BLOCK) for name in reversed(used)]
    threads = [OrderedLoop(name, LoopKind.GPU_THREAD) for name in reversed(inner)]
    return build.done((*grid, *threads, *_rest(shape, used)))


def threads(shape: Shape) -> Pattern | None:
    """The threads of the enclosing block, one value a thread."""
    used = _grid(shape)
    if not used:
        return None
    loops = [OrderedLoop(name, LoopKind.GPU_THREAD) for name in reversed(used)]
    return _PatternBuilder(shape).done((*loops, *_rest(shape, used)))


def _grid(shape: Shape) -> tuple[str, ...]:
    """The innermost and the outermost of the long dimensions."""
    return tuple(dict.fromkeys((*shape.long[:1], *shape.long[-1:])))


def _patterns(**own: Maker) -> Registry[Maker]:
    """Patterns by name. Those of other packages may be used at any level."""
    return Registry("spaces.patterns", "Pattern", own, "a function from a Shape to a Pattern")


ROOT_PATTERNS = _patterns(
    serial=serial,
    vectors=vectors,
    strips=strips,
    tiles=tiles,
    interleaved_lines=interleaved_lines,
    channel_strips=channel_strips,
    channel_tiles=channel_tiles,
    register_rows=register_rows,
    register_columns=register_columns,
    sums_in_registers=sums_in_registers,
    blocks=blocks,
)
"""Patterns for Funcs computed at root."""

INNER_PATTERNS = _patterns(
    serial=serial,
    vectors=vectors,
    channel_vectors=channel_vectors,
    registers=registers,
    threads=threads,
)
"""Patterns for Funcs computed at a loop of their consumers."""

LOOP_BY_LOOP = ("nests", "loops")
"""Patterns that decide the splits, fuses and loops of a stage one by one: as experts nest them, or
without limits.
"""


class PatternError(ValueError):
    """A registered pattern makes no domain order of its stage; the message says why."""


def register_pattern(name: str, maker: Maker, where: Literal["root", "inner"] = "root") -> None:
    """Registers a pattern under a name for ``Options.root`` or ``Options.inner``; a later
    registration replaces an earlier one.

    >>> def columns(shape: Shape) -> Pattern | None:
    ...     loops = (OrderedLoop(name) for name in (*shape.free, *shape.bound))
    ...     return Pattern(DomainOrder(loops=tuple(loops)), ())
    >>> register_pattern("columns", columns)
    >>> space = ScheduleSpace(pipeline, device("cpu"), Options(root=("columns",)))

    Raises:
        ValueError: the name belongs to a pattern that decides loop by loop.
        TypeError: ``maker`` is not a function.
    """
    if name in LOOP_BY_LOOP:
        raise ValueError(f"{name} is a pattern that decides loop by loop; choose another name.")
    if not callable(maker):
        raise TypeError(
            "register_pattern takes a function from a Shape to a Pattern, not a "
            f"{type(maker).__name__}."
        )
    {"root": ROOT_PATTERNS, "inner": INNER_PATTERNS}[where][name] = maker


def made_by(name: str, maker: Maker, shape: Shape) -> Pattern | None:
    """The pattern of a stage.

    Raises:
        PatternError: the maker returns no Pattern, or one that does not fit the stage.
    """
    pattern = maker(shape)
    if pattern is None:
        return None
    stage = f"stage {shape.stage} of {shape.func}"
    if not isinstance(pattern, Pattern):
        raise PatternError(
            f"Pattern {name} makes a {type(pattern).__name__} of {stage}; it returns a "
            "Pattern, or None if the stage lacks its dimensions."
        )
    open_ = {*shape.free, *shape.bound}
    for record in pattern.order.splits:
        lost = [loop for loop in record.taken if loop not in open_]
        if lost:
            raise PatternError(
                f"Pattern {name} splits or fuses {', '.join(lost)} of {stage}, which has only the "
                f"loops {', '.join(sorted(open_))} there."
            )
        open_ = (open_ - {*record.taken}) | {*record.made}
    if sorted(pattern.order.names) != sorted(open_):
        raise PatternError(
            f"Pattern {name} orders the loops {', '.join(pattern.order.names) or 'none'} of "
            f"{stage}; it has {', '.join(sorted(open_))}, each once."
        )
    menus = dict(pattern.menus)
    for record in pattern.order.splits:
        factor = getattr(record, "factor", None)
        if isinstance(factor, str) and not menus.get(factor):
            raise PatternError(
                f"Pattern {name} has no numbers to choose from for factor {factor} of {stage}; "
                "give them in Pattern.menus."
            )
    return pattern
