"""What patterns are made of: the facts about a stage, and splits and loops with regular names.

Regular names let a Func be computed at a loop of another Func whatever that Func's pattern is. The
outer loop of a dimension keeps its name ``x``. The loop inside a tile is ``xi``, the vector lanes
are ``xv``, the threads of a grid are ``xt``, and the values of one thread ``xb``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from attrs import define, field, frozen

from spaces.model.schedules.domain_order import DomainOrder, Fuse, LoopKind, OrderedLoop, Split


@frozen
class Shape:
    """The facts about a stage that a pattern needs.

    Attributes:
        func: the Func.
        stage: 0 for the pure stage.
        free: the Vars whose iterations are independent, innermost first; those of one value last.
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
        scans: whether the stage goes along rows in order: RVars alone give its first coordinate.
        terms: the members of ``bound`` that many threads of a GPU may share, as the update may
            change each element in one step (``atomic``): long RVars, innermost first. Entries made
            of patterns are atomic where iterations that change the same element run at once.
        long_terms: the members of ``bound`` that are RVars with so many values, innermost first.
        shares: the members of ``free`` along which neighbors share something that they read: a read
            of another buffer does not depend on them.
        across: the long member of ``free`` next to rows, if neighbors in a row are no neighbors
            where they are read or written; else empty.
        outermost: the outermost member of ``free`` in memory that has more than one value; empty if
            none has.
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
    scans: bool = False
    terms: tuple[str, ...] = ()
    long_terms: tuple[str, ...] = ()
    shares: frozenset[str] = frozenset()
    across: str = ""
    outermost: str = ""
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


Orders: TypeAlias = tuple[DomainOrder, ...]
"""One domain order for each stage of a Func."""

Maker: TypeAlias = Callable[[Shape], Pattern | None]
"""Makes the pattern for a shape; None if the shape lacks the dimensions."""


@define
class PatternBuilder:
    """Collects splits and loops; takes loops outermost first."""

    shape: Shape
    splits: list[Split | Fuse] = field(factory=list)
    menus: dict[str, tuple[int, ...]] = field(factory=dict)

    def split(self, loop: str, inner: str, role: str) -> str:
        """Splits ``loop`` by a parameter; returns the name of the inner loop."""
        stage = f"_u{self.shape.stage}" if self.shape.stage else ""
        inner = inner.replace(".", "_")
        parameter = f"{self.shape.func}{stage}_{inner}"
        self.splits.append(Split(loop, loop, inner, parameter))
        self.menus[parameter] = self.shape.menus[role]
        return inner

    def fuse(self, loops: Sequence[str]) -> str:
        """Fuses loops, innermost first, into one; returns its name, that of the outermost."""
        inner, *others = loops
        for outer in others:
            self.splits.append(Fuse(inner, outer, outer))
            inner = outer
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


def rest(shape: Shape, used: tuple[str, ...]) -> tuple[OrderedLoop, ...]:
    """Serial loops over all other dimensions, outermost first; reductions inside."""
    free = [OrderedLoop(name) for name in reversed(shape.free) if name not in used]
    return (*free, *(OrderedLoop(name) for name in reversed(shape.bound)))


def serial(shape: Shape) -> Pattern | None:
    """Row-major loops, one iteration after another."""
    return PatternBuilder(shape).done(rest(shape, ()))
