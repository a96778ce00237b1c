"""The reads of a stage as affine maps of the coordinates of its loops."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import IntEnum
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TypeAlias

from attrs import define, field, frozen

from spaces.features.constant_ends import constant_ends
from spaces.model.algorithm.pipeline import Stage
from spaces.model.expressions.expr import Call, Cast, Const, Expr, Op, Variable, walk

Coefficients: TypeAlias = tuple[tuple[str, Fraction], ...]
"""How far a coordinate moves for one step of each Var or RVar that moves it."""

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
class AffineReader:
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
    def of(stage: Stage) -> AffineReader:
        """The reader of a stage."""
        coordinates = frozenset(stage.dimensions)
        reduced = coordinates - {*stage.pure_vars}
        every = (*stage.values, *stage.args, *stage.predicates)
        return AffineReader.of_nodes(every, coordinates, reduced)

    @staticmethod
    def of_nodes(
        nodes: tuple[Expr, ...], coordinates: frozenset[str], reduced: frozenset[str]
    ) -> AffineReader:
        """The reader of some nodes and all that they are made of."""
        moved_by: dict[Expr, frozenset[str]] = {}
        for node in walk(*nodes):
            if isinstance(node, Variable):
                moved_by[node] = coordinates & {node.name}
            else:
                moved_by[node] = frozenset().union(*(moved_by[c] for c in node.children))
            if isinstance(node, Call) and node.args:
                moved_by[node] |= reduced
        return AffineReader(coordinates, reduced, moved_by)

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
    return AffineReader.of_nodes((arg,), coordinates, reduced).find_coordinate(arg)


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
