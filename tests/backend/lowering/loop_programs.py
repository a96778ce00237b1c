"""Random loop programs for tests of passes. They need not come from a schedule.

Scratch is larger than the read region by a margin. Loops of every kind run forwards and backwards,
whole and in tiles that do not divide. Guards have else branches, selections depend on coordinates
and on data, and loops may have no iteration.
"""

from __future__ import annotations

import random
from itertools import count

from attrs import define, field

from spaces import Expr, Int16, Int32, LoopKind, MemoryType, Partition, Type, UInt8, UInt16, cast
from spaces.backend.ir.program import BufferParameter, LoopProgram, ScalarParameter
from spaces.backend.ir.statements import (
    Allocate,
    Assert,
    For,
    If,
    Prefetch,
    Provide,
    Statement,
    TupleAssignment,
    Update,
    block,
)
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Call, Variable, constant
from spaces.model.expressions.message import Message, text

MARGIN = 2
"""The number of elements by which scratch is larger than an output, on each side."""

FOLD = 48
"""Larger than the width of any box, and no power of two."""

DIMENSIONS = 2

ZERO = constant(0, Int32)

TIMES = Variable(Int32, "times")
"""How often updates run; this may be 0."""

Point = tuple[Expr, ...]


def size(name: str, part: str, d: int) -> Expr:
    return Variable(Int32, f"{name}.{part}.{d}")


@define
class Draw:
    """A program under construction; its names have numbers."""

    rng: random.Random
    types: dict[str, Type] = field(factory=dict)
    _numbers: count[int] = field(factory=count)

    def program(self) -> LoopProgram:
        """Two or three stages; each reads the stages before it, and the last one computes
        ``out``.
        """
        rng = self.rng
        self.types = {"image": rng.choice((UInt8, Int16, Int32))}
        return self._around(self._stages(["image"], rng.randint(1, 2)))

    def sums(self) -> LoopProgram:
        """A stage, to whose elements a loop adds some rows or columns at a time, and ``out``, which
        reads it.
        """
        self.types = {"image": Int32, "part": Int32, "sum": self._type(), "out": self._type()}
        box = self._box("sum")
        first = (self._loops("part", box, ["image"], reach=0), self._loops("sum", box, ["image"]))
        last = self._loops("out", self._box("out"), ["image", "sum"])
        added = self._allocated("part", box, block(*first, self._added(box)))
        return self._around(self._allocated("sum", box, block(added, last)))

    def _added(self, box: tuple[tuple[Expr, Expr], ...]) -> Statement:
        """Loops that add to the elements of a box in tiles that are shifted inwards; lanes lie
        along one dimension, and unrolled copies along the other one. Some terms are of a part that
        some terms compute anew, as that of a window that slides.
        """
        rng = self.rng
        outer, inner, at, corner = [], [], [], []
        for (low, extent), kind in zip(
            box, rng.sample((LoopKind.VECTORIZED, LoopKind.UNROLLED), 2), strict=True
        ):
            tile, within, factor = self._var(), self._var(), rng.choice((2, 3, 4))
            tiles = (extent + (factor - 1)) / factor
            outer.append(For(tile, ZERO, tiles, LoopKind.SERIAL, block()))
            inner.append(For(within, ZERO, constant(factor, Int32), kind, block()))
            corner.append(low + fn.min(tile * factor, extent - factor))
            at.append(corner[-1] + within)
        again = For(self._var(), ZERO, TIMES, LoopKind.SERIAL, block())
        value = self._value(tuple(at), ["image"], MARGIN, 2)
        old = Call(self.types["sum"], "sum", tuple(at))
        value = value + Call(Int32, "part", tuple(at))
        body: Statement = Provide("sum", tuple(at), old + cast(self.types["sum"], value))
        for loop in rng.sample(inner, 2):
            body = For(loop.var, loop.min, loop.extent, loop.kind, body)
        if rng.random() < 0.5:
            part = Provide("part", tuple(corner), Call(Int32, "part", tuple(corner)) + 1)
            rows = rng.choice((again.var % 2, TIMES / 2, TIMES / 2))
            window = For(self._var(), ZERO, rows, LoopKind.SERIAL, part)
            body = block(window, body)
        for loop in (again, *outer):
            body = For(loop.var, loop.min, loop.extent, loop.kind, body)
        return body

    def _around(self, body: Statement) -> LoopProgram:
        """The program of some loops, with its parameters."""
        rng = self.rng
        buffers = (
            BufferParameter("image", self.types["image"], DIMENSIONS, is_output=False),
            BufferParameter(
                "out",
                self.types["out"],
                DIMENSIONS,
                is_output=True,
                likely_steps=(1, rng.choice((1, 1, 2, 3))),
            ),
        )
        return LoopProgram("drawn", buffers, (ScalarParameter(TIMES.name, Int32),), (), body)

    def _stages(self, sources: list[str], left: int) -> Statement:
        """The storage of a stage around the loops that compute it and all later stages."""
        if left == 0:
            self.types["out"] = self._type()
            return block(*self._parts("out", sources))
        name = f"s{left}"
        self.types[name] = self._type()
        if self.rng.random() < 0.4:
            return self._by_row(name, sources)
        parts = self._parts(name, sources)
        seen = sources if self.rng.random() < 0.15 else [*sources, name]
        inner = self._stages(seen, left - 1)
        return self._allocated(name, self._box(name), block(*parts, inner))

    def _by_row(self, name: str, sources: list[str]) -> Statement:
        """A stage that each row of the output computes as far as the row reads it."""
        self.types["out"] = self._type()
        rng = self.rng
        low, extent = size("out", "min", 1), size("out", "extent", 1)
        row = Variable(Int32, f"row{next(self._numbers)}")
        reads = [*sources, name]
        box = ((size("out", "min", 0) - MARGIN, size("out", "extent", 0) + 2 * MARGIN),
               (row - 1, constant(3, Int32)))  # fmt: skip
        made = self._loops(name, box, sources)
        line = ((size("out", "min", 0), size("out", "extent", 0)), (row, constant(1, Int32)))
        used = self._loops("out", line, reads, reach=1)
        kind = rng.choice((LoopKind.SERIAL, LoopKind.SERIAL, LoopKind.PARALLEL))
        inside = self._allocated(name, box, block(made, used))
        loop = For(row, low, extent, kind, inside, rng.choice(tuple(Partition)))
        if rng.random() < 0.3 and kind is LoopKind.SERIAL and isinstance(inside, Allocate):
            return self._hoisted(name, loop)
        return loop

    def _hoisted(self, name: str, loop: For) -> Statement:
        """A loop around storage that uses memory allocated before the loop."""
        inside = loop.body
        assert isinstance(inside, Allocate)
        extents = inside.extents
        pool = f"{name}.hoisted"
        placed = Allocate(
            buffer=inside.buffer, type=inside.type, memory=inside.memory, sizes=inside.sizes,
            body=inside.body, mins=inside.mins, extents=inside.extents, folds=(None, None),
            order=inside.order, within=pool,
        )  # fmt: skip
        around = For(loop.var, loop.min, loop.extent, loop.kind, placed, loop.partition)
        return Allocate(
            buffer=pool, type=inside.type, memory=MemoryType.AUTO, sizes=extents, body=around,
            mins=(ZERO, ZERO), extents=extents, folds=(None, None), order=(0, 1),
        )  # fmt: skip

    def _type(self) -> Type:
        return self.rng.choice((UInt8, UInt16, Int16, Int32, Int32))

    def _box(self, name: str) -> tuple[tuple[Expr, Expr], ...]:
        margin = 0 if name == "out" else MARGIN * (2 if name == "s2" else 1)
        return tuple(
            (size("out", "min", d) - margin, size("out", "extent", d) + 2 * margin)
            for d in range(DIMENSIONS)
        )

    def _allocated(
        self, name: str, box: tuple[tuple[Expr, Expr], ...], body: Statement
    ) -> Statement:
        rng = self.rng
        folded = rng.choice(((), (), (), (0,), (1,), (0, 1), (0, 1)))
        folds = tuple(constant(FOLD, Int32) if d in folded else None for d in range(DIMENSIONS))
        extents = tuple(
            extent if fold is None else fold for (_, extent), fold in zip(box, folds, strict=True)
        )
        return Allocate(
            buffer=name,
            type=self.types[name],
            memory=rng.choice(
                (MemoryType.AUTO, MemoryType.AUTO, MemoryType.HEAP, MemoryType.STACK)
            ),
            sizes=extents,
            body=body,
            mins=tuple(low for low, _ in box),
            extents=extents,
            folds=folds,
            order=rng.choice(((0, 1), (1, 0))),
        )

    def _parts(self, name: str, sources: list[str]) -> list[Statement]:
        """The loops that compute a stage, and maybe loops that update it."""
        parts = [self._loops(name, self._box(name), sources)]
        if self.rng.random() < 0.4:
            parts.append(self._loops(name, self._box(name), sources, updates=True))
        return parts

    def _loops(
        self,
        name: str,
        box: tuple[tuple[Expr, Expr], ...],
        sources: list[str],
        reach: int = MARGIN,
        updates: bool = False,
    ) -> Statement:
        rng = self.rng
        at: list[Expr] = []
        guards: list[Expr] = []
        loops: list[list[For]] = []
        vectorized = rng.choice((0, 1, None))
        for d, (low, extent) in enumerate(box):
            var = Variable(Int32, f"v{next(self._numbers)}")
            kind = rng.choice((LoopKind.SERIAL, LoopKind.SERIAL, LoopKind.PARALLEL))
            forms = ("split",) if d == vectorized else ("plain", "mirrored", "split")
            form = rng.choice(forms)
            policy = rng.choice(tuple(Partition))
            if form == "plain":
                at.append(var)
                loops.append([For(var, low, extent, kind, block(), policy)])
            elif form == "mirrored":
                at.append(low + extent - 1 - var)
                loops.append([For(var, ZERO, extent, kind, block(), policy)])
            else:
                inner = Variable(Int32, f"v{next(self._numbers)}")
                factor = rng.choice((1, 2, 3, 4))
                tiles = (extent + (factor - 1)) / factor
                outer = For(var, ZERO, tiles, kind, block(), policy)
                count_ = constant(factor, Int32)
                at_once = LoopKind.VECTORIZED if d == vectorized else LoopKind.UNROLLED
                loops.append([outer, For(inner, ZERO, count_, at_once, block())])
                offset = var * factor + inner
                guards.append(offset < extent)
                at.append(low + offset)
        body = self._body(name, tuple(at), sources, reach, updates)
        for guard in guards:
            body = If(guard, body)
        if updates and rng.random() < 0.5:
            body = For(self._var(), ZERO, TIMES, LoopKind.SERIAL, body)
        inner_loops = [pair[1] for pair in loops if len(pair) > 1]
        outer_loops = [pair[0] for pair in loops]
        rng.shuffle(outer_loops)
        rng.shuffle(inner_loops)
        for loop in (*inner_loops, *outer_loops):
            body = For(loop.var, loop.min, loop.extent, loop.kind, body, loop.partition)
        return body

    def _var(self) -> Variable:
        return Variable(Int32, f"v{next(self._numbers)}")

    def _body(
        self, name: str, at: Point, sources: list[str], reach: int, updates: bool
    ) -> Statement:
        rng, type = self.rng, self.types[name]
        value = cast(type, self._value(at, sources, reach, 3))
        if updates:
            operator = rng.choice(("add", "max", "min"))
            old = Call(type, name, at)
            update: Statement = Provide(name, at, fn.select(old > value, old + 1, value))
            if rng.random() < 0.5:
                update = Provide(name, at, value, Update(operator, shared=rng.random() < 0.5))
            return If(self._condition(at), update) if rng.random() < 0.5 else update
        store: Statement = Provide(name, at, value)
        form = rng.random()
        if form < 0.25:
            other = cast(type, self._value(at, sources, reach, 2))
            return If(self._condition(at), store, Provide(name, at, other))
        if form < 0.35:
            never = self._value(at, sources, reach, 1)
            failing = Assert(Message.of((text("too large"),)))
            return block(If(cast(Int32, never) * 0 > 3, failing), store)
        if form < 0.45:
            ahead = tuple(a + 8 for a in at)
            return block(Prefetch(rng.choice(sources), ahead), store)
        if form < 0.55:
            return TupleAssignment((Provide(name, at, value),))
        return store

    def _condition(self, at: Point) -> Expr:
        rng = self.rng
        d = rng.randrange(DIMENSIONS)
        low, extent = size("out", "min", d), size("out", "extent", d)
        return rng.choice(
            (
                at[d] > low + rng.randint(-1, 3),
                at[d] < low + extent - rng.randint(0, 3),
                (at[0] + at[1]) % 3 > 0,
                (at[d] > low) & (at[d] <= low + extent / 2),
            )
        )

    def _value(self, at: Point, sources: list[str], reach: int, depth: int) -> Expr:
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            if rng.random() < 0.8:
                return cast(Int32, self._read(at, rng.choice(sources), reach))
            return rng.choice((at[0] - at[1], constant(rng.randint(-9, 300), Int32)))
        a = self._value(at, sources, reach, depth - 1)
        b = self._value(at, sources, reach, depth - 1)
        if rng.random() < 0.25:
            condition = self._condition(at) if rng.random() < 0.6 else a > b
            return fn.select(condition, a, b)
        narrow = cast(rng.choice((UInt8, Int16)), a)
        return rng.choice((a + b, a - b, a * 3 + b, fn.min(a, b), fn.max(a, b), a / 3, a % 5 + b,
                           cast(Int32, narrow) + b))  # fmt: skip

    def _read(self, at: Point, source: str, reach: int) -> Expr:
        """Reads an element within ``reach``, mirrored about the middle, or at the edge of the
        output.
        """
        rng = self.rng
        place = [a + rng.randint(-reach, reach) for a in at]
        if reach == MARGIN and rng.random() < 0.3:
            d = rng.randrange(DIMENSIONS)
            low, extent = size("out", "min", d), size("out", "extent", d)
            mirrored = low * 2 + extent - 1 - at[d] + rng.randint(-1, 1)
            place[d] = rng.choice((mirrored, fn.clamp(place[d], low - 1, low + extent)))
        if source == "image" and rng.random() < 0.2:
            ends = (size("image", "min", 0), size("image", "extent", 0))
            place[0] = fn.clamp(at[0] * rng.choice((2, 3, -1)) - 1, ends[0], ends[0] + ends[1] - 1)
        return Call(self.types[source], source, tuple(place))
