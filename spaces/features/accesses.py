"""The operations of one evaluation of a stage, and its reads as affine maps of coordinates.

These depend on a definition with its inlined producers alone, not on its loops. They are kept as
long as the definition exists.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import IntEnum
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias

import attrs
from attrs import define, field, frozen

from spaces.features.constant_ends import constant_ends
from spaces.features.histogram import NO_OPERATIONS, Histogram, histogram
from spaces.model.algorithm.foreign import ForeignCode, foreign_code
from spaces.model.algorithm.pipeline import Stage
from spaces.model.algorithm.undefined import is_nothing
from spaces.model.expressions.definitions import expanded
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Variable, walk
from spaces.model.expressions.intrinsics import FLOAT_FUNCTIONS
from spaces.model.expressions.types import Float32

Coefficients: TypeAlias = tuple[tuple[str, Fraction], ...]
"""How far a coordinate moves for one step of each Var or RVar that moves it."""

_ARITHMETIC = ("add", "sub", "mul", "div", "mod")
DIVISION_BY_LITERAL = 4
"""The instructions of an integer division by a literal: a multiplication and shifts."""

_NO_STEP = Fraction(0)


class Course(IntEnum):
    """How a coordinate depends on the Vars of its reader, the simplest kind first."""

    AFFINE = 0
    """An affine map of the Vars."""
    CLAMPED = 1
    """An affine map, except at the edges where min and max limit it."""
    ROUNDED = 2
    """An affine map with fractions, rounded: a quotient with a literal divisor."""
    BENT = 3
    """An affine map on average, or in pieces: a remainder, a mirror."""
    UNKNOWN = 4
    """A value, which loops do not determine."""


@frozen
class Index:
    """One coordinate of a read.

    Attributes:
        moves: steps along the Vars of the reader.
        spread: the distance between the lowest and the highest of the reads grouped together.
        course: how exactly ``moves`` describes the coordinate.
        moved_by: the Vars and RVars that may change it.
        most: the most elements that it can span, as for a remainder; None if there is no limit.
    """

    moves: Coefficients
    spread: int
    course: Course
    moved_by: frozenset[str]
    most: int | None = None

    @property
    def is_known(self) -> bool:
        """Whether ``moves`` describes the coordinate."""
        return self.course is not Course.UNKNOWN

    def may_move(self, dimensions: Collection[str]) -> bool:
        """Whether it may change along some Vars."""
        if self.is_known:
            return any(name in dimensions for name, _ in self.moves)
        return not self.moved_by.isdisjoint(dimensions)

    def step(self, var: str) -> Fraction:
        """How far one step of ``var`` moves the coordinate."""
        for name, step in self.moves:
            if name == var:
                return step
        return _NO_STEP

    @cached_property
    def strides(self) -> tuple[tuple[str, int, int], ...]:
        """Each Var that moves the coordinate, and its step without a sign, as a fraction."""
        return tuple((name, abs(step.numerator), step.denominator) for name, step in self.moves)


@frozen
class ReadGroup:
    """Reads of one buffer that move together: one index for each dimension, innermost first.

    Attributes:
        in_place: whether all read at the coordinates at which the stage writes.
        moved_by: the Vars and RVars that may change what is read.
    """

    buffer: str
    indices: tuple[Index, ...]
    reads: int
    in_place: bool
    moved_by: frozenset[str]


@frozen
class Operations:
    """Operations of one evaluation. A value used twice counts once. A value that is the same in
    every evaluation does not count: it is computed outside all loops.

    Attributes:
        arithmetic: ``+ - * / %`` [TOY].
        math: sin, cos, tan, sqrt, exp, log, pow, floor, ceil [TOY].
        other: comparisons, logic, min, max, select, abs and conversions.
        series: the part of ``math`` that sums a series, on all lanes at once.
        calls: the part of ``math`` that calls a library, for each lane.
        divisions: the part of ``arithmetic`` that divides integers by a value other than a literal.
        fractions: the divisions and square roots of floats.
        instructions: the instructions of all other operations: one each, and four for an integer
            division by a literal, which is a multiplication and shifts.
        bits: the bits of all results together, which a vector unit must produce.
    """

    arithmetic: int
    math: int
    other: int
    series: int
    calls: int
    divisions: int
    fractions: int
    instructions: int
    bits: int

    @property
    def total(self) -> int:
        """All operations."""
        return self.arithmetic + self.math + self.other


@frozen
class Work:
    """One evaluation of a stage.

    Attributes:
        accesses: its reads.
        written: the Vars and RVars that may change where it writes.
        place: where it writes, an index for each dimension.
        parts: its operations, by the Vars and RVars that change their results. So ``cos(x)``, for
            example, need not be computed again in each line.
        is_undefined: whether it leaves all values undefined, so that it takes no time.
        histogram: its operations by kind and type.
        code: the foreign code that computes it, if any.
    """

    accesses: tuple[ReadGroup, ...]
    written: frozenset[str]
    place: tuple[Index, ...]
    parts: tuple[tuple[frozenset[str], Operations], ...]
    is_undefined: bool = False
    histogram: Histogram = NO_OPERATIONS
    code: ForeignCode | None = None

    @cached_property
    def operations(self) -> Operations:
        """All operations of one evaluation."""
        return Operations(
            *(
                sum(getattr(part, a.name) for _, part in self.parts)
                for a in attrs.fields(Operations)
            )
        )

    @cached_property
    def buffers(self) -> tuple[str, ...]:
        """The names of the Funcs and images that the stage reads, each once."""
        return tuple(dict.fromkeys(access.buffer for access in self.accesses))

    def reads(self, buffer: str) -> int:
        """Distinct values of ``buffer`` that one evaluation reads."""
        return sum(access.reads for access in self.accesses if access.buffer == buffer)


@lru_cache(maxsize=4096)
def stage_work(stage: Stage) -> Work:
    """Operations and reads of one evaluation of ``stage``."""
    skipped, code = all(map(is_nothing, stage.values)), foreign_code(stage.values)
    stage = stage.mapped(expanded)
    reader = _AffineReader.of(stage)
    nodes = walk(*stage.values, *stage.args, *stage.predicates)
    # The components of a Tuple are one element: one read with the bytes of all components.
    calls = {(n.target, n.args): n for n in nodes if isinstance(n, Call) and n.args}
    groups: dict[frozenset[str], list[Cast | Op]] = {}
    for node in reader.find_computed((*stage.values, *stage.predicates)):
        if isinstance(node, Cast | Op) and reader.moved_by[node]:
            groups.setdefault(reader.moved_by[node], []).append(node)
    parts = tuple((moved_by, _operations(nodes)) for moved_by, nodes in groups.items())
    accesses = reader.group_reads(list(calls.values()), stage.args)
    repeated = [node for nodes in groups.values() for node in nodes]
    found = histogram(repeated, stage.values)
    place = reader.place(stage.args)
    return Work(accesses, reader.movers(stage.args), place, parts, skipped, found, code)


def loads_of_funcs(work: Work, is_image: Mapping[str, bool]) -> int:
    """Reads of stored Funcs in one evaluation: the "intermediate results loaded" of [TOY]."""
    return sum(a.reads for a in work.accesses if not is_image.get(a.buffer, False))


def _operations(nodes: list[Cast | Op]) -> Operations:
    counts = {"arithmetic": 0, "math": 0, "other": 0}
    series = calls = divisions = fractions = instructions = bits = 0
    for node in nodes:
        group = "other" if isinstance(node, Cast) else _group(node.name)
        counts[group] += 1
        bits += max(8, node.type.bits, *(child.type.bits for child in node.children))
        if isinstance(node, Op) and group == "math" and node.name != "sqrt":
            function = FLOAT_FUNCTIONS[node.name]
            has_series = function.has_series and node.type == Float32
            series += has_series
            calls += function.llvm is None and not has_series
            instructions += function.llvm is not None
        elif isinstance(node, Op) and node.type.is_float and node.name in ("div", "sqrt"):
            fractions += 1
        elif isinstance(node, Op) and _divides_integers(node):
            is_literal = isinstance(node.args[1], Const)
            divisions += not is_literal
            instructions += DIVISION_BY_LITERAL if is_literal else 0
        else:
            instructions += 1
    return Operations(
        **counts,
        series=series,
        calls=calls,
        divisions=divisions,
        fractions=fractions,
        instructions=instructions,
        bits=bits,
    )


def _divides_integers(node: Op) -> bool:
    return node.name in ("div", "mod") and not node.type.is_float


def _group(name: str) -> str:
    if name in _ARITHMETIC:
        return "arithmetic"
    return "math" if name in FLOAT_FUNCTIONS else "other"


@define
class _Slopes:
    """How steep the terms of a coordinate are along each Var, and how far rounding moves it.

    Attributes:
        exact: the slopes of terms that no division rounds.
        rounded: the slopes of quotients, on average.
        low: how far rounding may move the coordinate down, at most: zero or less.
        high: how far rounding may move it up, at most.
    """

    exact: dict[str, Fraction] = field(factory=dict)
    rounded: dict[str, Fraction] = field(factory=dict)
    low: Fraction = _NO_STEP
    high: Fraction = _NO_STEP

    def add(self, name: str, slope: Fraction) -> None:
        """Adds a term that grows by ``slope`` for each step of ``name``."""
        self.exact[name] = self.exact.get(name, _NO_STEP) + slope

    def inside_quotient(self) -> _Slopes:
        """The slopes to which the terms of a numerator are added."""
        return _Slopes(self.rounded, self.rounded)

    def round(self, numerator: _Slopes, most: Fraction) -> None:
        """Adds what rounds a quotient: by a number between 0 and ``most``."""
        self.low += numerator.low + min(most, _NO_STEP)
        self.high += numerator.high + max(most, _NO_STEP)

    @property
    def total(self) -> dict[str, Fraction]:
        """The slopes along the Vars over many steps, without those that cancel."""
        names = self.exact.keys() | self.rounded.keys()
        found = {n: self.exact.get(n, _NO_STEP) + self.rounded.get(n, _NO_STEP) for n in names}
        return {name: slope for name, slope in found.items() if slope}

    @property
    def between_jumps(self) -> dict[str, Fraction]:
        """The slopes that quotients cancel over many steps: ``x - x / 8 * 8`` grows with ``x``, and
        falls back to 0 at each multiple of 8.
        """
        total = self.total
        return {name: slope for name, slope in self.exact.items() if slope and name not in total}


@frozen
class _Coordinate:
    moves: Coefficients
    offset: Fraction
    course: Course
    moved_by: frozenset[str]
    ends: tuple[int, int] | None = None


@frozen
class _AffineReader:
    """Reads coordinates as affine maps of the Vars and RVars of one stage.

    Attributes:
        coordinates: the names of these Vars and RVars.
        reduced: the names of the RVars.
        moved_by: for each node of the stage the coordinates that change its value; empty for a
            value that is the same in every evaluation. Each RVar may change the value of a read:
            the stage may write there.
    """

    coordinates: frozenset[str]
    reduced: frozenset[str]
    moved_by: Mapping[Expr, frozenset[str]] = field(eq=False)

    @staticmethod
    def of(stage: Stage) -> _AffineReader:
        coordinates = frozenset(stage.dimensions)
        reduced = coordinates - {*stage.pure_vars}
        every = (*stage.values, *stage.args, *stage.predicates)
        return _AffineReader.of_nodes(every, coordinates, reduced)

    @staticmethod
    def of_nodes(
        nodes: tuple[Expr, ...], coordinates: frozenset[str], reduced: frozenset[str]
    ) -> _AffineReader:
        """The reader of some nodes and all that they are made of."""
        moved_by: dict[Expr, frozenset[str]] = {}
        for node in walk(*nodes):
            if isinstance(node, Variable):
                moved_by[node] = coordinates & {node.name}
            else:
                moved_by[node] = frozenset().union(*(moved_by[c] for c in node.children))
            if isinstance(node, Call) and node.args:
                moved_by[node] |= reduced
        return _AffineReader(coordinates, reduced, moved_by)

    def find_computed(self, values: tuple[Expr, ...]) -> Iterator[Expr]:
        """The nodes of computed values. Coordinates of reads that are affine are addresses, and are
        left out.
        """
        seen: set[Expr] = set()
        stack = list(values)
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            yield node
            if isinstance(node, Call):
                stack += (a for a in node.args if self._coordinate(a).course is Course.UNKNOWN)
            else:
                stack.extend(node.children)

    def movers(self, args: Iterable[Expr]) -> frozenset[str]:
        """The coordinates that may change one of ``args``."""
        return frozenset().union(*(self.moved_by[arg] for arg in args))

    def place(self, args: Iterable[Expr]) -> tuple[Index, ...]:
        """An index for each coordinate."""
        found = map(self._coordinate, args)
        return tuple(_index(coordinate.moves, [coordinate]) for coordinate in found)

    def group_reads(self, calls: list[Call], place: tuple[Expr, ...]) -> tuple[ReadGroup, ...]:
        """Merges reads of one buffer with the same moves into one access that spreads over them."""
        groups: dict[tuple[str, tuple[Coefficients, ...]], list[tuple[_Coordinate, ...]]] = {}
        places: dict[tuple[str, tuple[Coefficients, ...]], list[tuple[Expr, ...]]] = {}
        for call in calls:
            found = tuple(self._coordinate(arg) for arg in call.args)
            key = (call.target, tuple(c.moves for c in found))
            groups.setdefault(key, []).append(found)
            places.setdefault(key, []).append(call.args)
        return tuple(
            ReadGroup(
                buffer,
                tuple(
                    _index(moves[d], [member[d] for member in members]) for d in range(len(moves))
                ),
                len(members),
                all(args == place for args in places[buffer, moves]),
                self.movers(arg for args in places[buffer, moves] for arg in args),
            )
            for (buffer, moves), members in groups.items()
        )

    def _coordinate(self, arg: Expr) -> _Coordinate:
        return _coordinate_of(arg, self.coordinates, self.reduced)

    def find_coordinate(self, arg: Expr) -> _Coordinate:
        """``arg`` as an affine map; looks through clamps and mirrors."""
        slopes = _Slopes()
        affine = self._affine(arg, slopes, Fraction(1))
        moved_by = self.moved_by[arg]
        if affine is None:
            ends = constant_ends(arg, self.coordinates)
            return _Coordinate((), Fraction(0), Course.UNKNOWN, moved_by, ends)
        offset, course = affine
        total, jumping = slopes.total, slopes.between_jumps
        moves = tuple(sorted({**total, **jumping}.items()))
        # An affine map that moves has no ends.
        ends = None if course is Course.AFFINE else constant_ends(arg, self.coordinates)
        if jumping and ends is None and course is Course.ROUNDED and not total:
            ends = math.floor(offset + slopes.low), math.ceil(offset + slopes.high)
        course = max(course, Course.BENT) if jumping else course
        return _Coordinate(moves, offset, course, moved_by, ends)

    def _affine(
        self, expr: Expr, slopes: _Slopes, scale: Fraction
    ) -> tuple[Fraction, Course] | None:
        """Adds ``scale * expr`` to ``slopes``; returns its constant and course, None if unknown."""
        match expr:
            case Const(value=value):
                return scale * int(value), Course.AFFINE
            case Variable(name=name):
                if name in self.coordinates:
                    slopes.add(name, scale)
                return Fraction(0), Course.AFFINE
            case Cast(value=value) if not expr.type.is_float and not value.type.is_float:
                return self._affine(value, slopes, scale)
            case Op(name=name, args=args) if not expr.type.is_float:
                return self._operator(name, args, slopes, scale)
        return None

    def _operator(
        self, name: str, args: tuple[Expr, ...], slopes: _Slopes, scale: Fraction
    ) -> tuple[Fraction, Course] | None:
        if name in ("add", "sub"):
            left = self._affine(args[0], slopes, scale)
            right = self._affine(args[1], slopes, scale if name == "add" else -scale)
            if left is None or right is None:
                return None
            return left[0] + right[0], max(left[1], right[1])
        if name == "mul":
            for factor, other in ((args[0], args[1]), (args[1], args[0])):
                if isinstance(factor, Const):
                    return self._affine(other, slopes, scale * int(factor.value))
        if name == "div" and isinstance(args[1], Const) and args[1].value:
            # Rounding makes every other step longer; over many steps the slope is right.
            divisor, numerator = int(args[1].value), slopes.inside_quotient()
            divided = self._affine(args[0], numerator, scale / divisor)
            slopes.round(numerator, scale * (1 - abs(divisor)) / divisor)
            return _at_least(Course.ROUNDED, divided)
        if name in ("min", "max", "mod", "select", "abs"):
            moving = [a for a in args if self.moved_by[a] and not a.type.is_bool]
            if len(moving) == 1 or (name == "select" and moving):
                course = Course.CLAMPED if name in ("min", "max") else Course.BENT
                return _at_least(course, self._affine(moving[-1], slopes, scale))
        if not any(self.moved_by[a] for a in args):
            return Fraction(0), Course.AFFINE
        return None


@lru_cache(maxsize=1 << 14)
def _coordinate_of(arg: Expr, coordinates: frozenset[str], reduced: frozenset[str]) -> _Coordinate:
    """A coordinate of the stages with these Vars and RVars. A stage has most coordinates in common
    with itself before another Func was inlined.
    """
    return _AffineReader.of_nodes((arg,), coordinates, reduced).find_coordinate(arg)


def _at_least(
    course: Course, affine: tuple[Fraction, Course] | None
) -> tuple[Fraction, Course] | None:
    return affine if affine is None else (affine[0], max(course, affine[1]))


def _index(moves: Coefficients, members: list[_Coordinate]) -> Index:
    offsets = [member.offset for member in members]
    ends = [member.ends for member in members if member.ends is not None]
    is_limited = len(ends) == len(members)
    return Index(
        moves=moves,
        spread=int(max(offsets)) - int(min(offsets)),
        course=max(member.course for member in members),
        moved_by=frozenset().union(*(member.moved_by for member in members)),
        most=max(high for _, high in ends) - min(low for low, _ in ends) + 1
        if is_limited
        else None,
    )
