"""What one evaluation of a stage does: operations, and reads as affine maps of its coordinates.

Everything here is a fact about a definition (with inlined producers substituted), before any loop
is chosen, and is kept for as long as the definition lives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import TypeAlias

from attrs import frozen

from spaces.model.expr import MATH, Call, Cast, Const, Expr, Op, Variable, walk
from spaces.model.pipeline import Stage

Coefficients: TypeAlias = tuple[tuple[str, Fraction], ...]
"""How far a coordinate moves for one step of each Var or RVar that moves it."""

_ARITHMETIC = ("add", "sub", "mul", "div", "mod")
_INSTRUCTIONS = ("sqrt", "floor", "ceil")


@frozen
class Index:
    """One coordinate of a read.

    Attributes:
        moves: steps along the Vars of the reader.
        spread: the distance between the lowest and the highest of the reads grouped together.
        is_affine: whether ``moves`` is the whole truth; not where a clamp, a fold of a mirror, or
            a value decides. Then ``moves`` describes the coordinate away from such edges.
        is_known: whether ``moves`` means anything; not for coordinates that are values.
    """

    moves: Coefficients
    spread: int
    is_affine: bool
    is_known: bool

    def step(self, var: str) -> Fraction:
        """How far one step of ``var`` moves it."""
        return next((step for name, step in self.moves if name == var), Fraction(0))


@frozen
class Access:
    """Reads of one buffer that move together: one index a dimension, the innermost first."""

    buffer: str
    indices: tuple[Index, ...]
    reads: int


@frozen
class Operations:
    """Operations of one evaluation; a value used twice is computed once, and one that is the same
    in every evaluation is computed outside of all loops and does not count.

    Attributes:
        arithmetic: ``+ - * /`` and their integer kin ``%`` [TOY].
        math: sin, cos, tan, sqrt, exp, log, pow, floor, ceil [TOY].
        other: comparisons, logic, min, max, select, abs and conversions.
        transcendental: the part of ``math`` that is a call of a library rather than an
            instruction.
        divisions: the part of ``arithmetic`` that divides integers by a number that is no literal.
        bits: the bits of all results together, which a vector unit has to produce.
    """

    arithmetic: int
    math: int
    other: int
    transcendental: int
    divisions: int
    bits: int

    @property
    def total(self) -> int:
        """All operations."""
        return self.arithmetic + self.math + self.other


@frozen
class Work:
    """One evaluation of a stage."""

    operations: Operations
    accesses: tuple[Access, ...]

    @property
    def buffers(self) -> tuple[str, ...]:
        """Names of the Funcs and images that are read, each once."""
        return tuple(dict.fromkeys(access.buffer for access in self.accesses))

    def reads(self, buffer: str) -> int:
        """Distinct values of ``buffer`` that one evaluation reads."""
        return sum(access.reads for access in self.accesses if access.buffer == buffer)


@cache
def stage_work(stage: Stage) -> Work:
    """Operations and reads of one evaluation of ``stage``."""
    reader = _Reader.of(stage)
    calls = [
        node for node in walk(stage.value, *stage.args) if isinstance(node, Call) and node.args
    ]
    return Work(_operations(stage, reader.varying), reader.grouped(calls))


def loads_of_funcs(work: Work, is_image: Mapping[str, bool]) -> int:
    """Reads of stored Funcs in one evaluation: the "intermediate results loaded" of [TOY]."""
    return sum(a.reads for a in work.accesses if not is_image.get(a.buffer, False))


def _operations(stage: Stage, varying: frozenset[Expr]) -> Operations:
    counts = {"arithmetic": 0, "math": 0, "other": 0}
    transcendental = divisions = bits = 0
    for node in _computed(stage.value):
        if node not in varying or not isinstance(node, Cast | Op):
            continue
        group = "other" if isinstance(node, Cast) else _group(node.name)
        counts[group] += 1
        bits += max(8, node.type.bits, *(child.type.bits for child in node.children))
        if isinstance(node, Op):
            transcendental += group == "math" and node.name not in _INSTRUCTIONS
            is_division = node.name in ("div", "mod") and not node.type.is_float
            divisions += is_division and not isinstance(node.args[1], Const)
    return Operations(**counts, transcendental=transcendental, divisions=divisions, bits=bits)


def _computed(value: Expr) -> Iterator[Expr]:
    """The nodes of a value that are computed: coordinates of reads are addresses instead."""
    seen: set[Expr] = set()
    stack = [value]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        if not isinstance(node, Call):
            stack.extend(node.children)


def _group(name: str) -> str:
    if name in _ARITHMETIC:
        return "arithmetic"
    return "math" if name in MATH else "other"


@frozen
class _Coordinate:
    moves: Coefficients
    offset: Fraction
    is_affine: bool
    is_known: bool = True


@frozen
class _Reader:
    """Reads coordinates as affine maps of the Vars and RVars of one stage.

    Attributes:
        coordinates: the names of those Vars and RVars.
        varying: the nodes of the stage that differ from one evaluation to the next.
    """

    coordinates: frozenset[str]
    varying: frozenset[Expr]

    @staticmethod
    def of(stage: Stage) -> _Reader:
        coordinates = frozenset(stage.dimensions)
        varying: set[Expr] = set()
        for node in walk(stage.value, *stage.args):
            moves = isinstance(node, Variable) and node.name in coordinates
            if moves or isinstance(node, Call) or any(c in varying for c in node.children):
                varying.add(node)
        return _Reader(coordinates, frozenset(varying))

    def grouped(self, calls: list[Call]) -> tuple[Access, ...]:
        """Reads of one buffer with the same moves become one access that spreads over them."""
        groups: dict[tuple[str, tuple[Coefficients, ...]], list[tuple[_Coordinate, ...]]] = {}
        for call in calls:
            found = tuple(self._coordinate(arg) for arg in call.args)
            key = (call.target, tuple(c.moves for c in found))
            groups.setdefault(key, []).append(found)
        return tuple(
            Access(
                buffer,
                tuple(
                    _index(moves[d], [member[d] for member in members]) for d in range(len(moves))
                ),
                len(members),
            )
            for (buffer, moves), members in groups.items()
        )

    def _coordinate(self, arg: Expr) -> _Coordinate:
        """``arg`` as an affine map, looking through clamps and mirrors."""
        terms: dict[str, Fraction] = {}
        affine = self._affine(arg, terms, Fraction(1))
        if affine is None:
            return _Coordinate((), Fraction(0), is_affine=False, is_known=False)
        offset, is_affine = affine
        moves = tuple(sorted((name, step) for name, step in terms.items() if step))
        return _Coordinate(moves, offset, is_affine)

    def _affine(
        self, expr: Expr, terms: dict[str, Fraction], scale: Fraction
    ) -> tuple[Fraction, bool] | None:
        """Add ``scale * expr`` to ``terms``; its numeric part and whether that is all, or None."""
        match expr:
            case Const(value=value):
                return scale * int(value), True
            case Variable(name=name):
                if name in self.coordinates:
                    terms[name] = terms.get(name, Fraction(0)) + scale
                return Fraction(0), True
            case Cast(value=value) if not expr.type.is_float and not value.type.is_float:
                return self._affine(value, terms, scale)
            case Op(name=name, args=args) if not expr.type.is_float:
                return self._operator(name, args, terms, scale)
        return None

    def _operator(
        self, name: str, args: tuple[Expr, ...], terms: dict[str, Fraction], scale: Fraction
    ) -> tuple[Fraction, bool] | None:
        if name in ("add", "sub"):
            left = self._affine(args[0], terms, scale)
            right = self._affine(args[1], terms, scale if name == "add" else -scale)
            if left is None or right is None:
                return None
            return left[0] + right[0], left[1] and right[1]
        if name == "mul":
            for factor, other in ((args[0], args[1]), (args[1], args[0])):
                if isinstance(factor, Const):
                    return self._affine(other, terms, scale * int(factor.value))
        if name == "div" and isinstance(args[1], Const) and args[1].value:
            # Rounding makes every other step a long one; over many steps the slope is right.
            return _inexact(self._affine(args[0], terms, scale / int(args[1].value)))
        if name in ("min", "max", "mod", "select", "abs"):
            moving = [a for a in args if a in self.varying and not a.type.is_bool]
            if len(moving) == 1 or (name == "select" and moving):
                return _inexact(self._affine(moving[-1], terms, scale))
        if not any(a in self.varying for a in args):
            return Fraction(0), True
        return None


def _inexact(affine: tuple[Fraction, bool] | None) -> tuple[Fraction, bool] | None:
    return affine if affine is None else (affine[0], False)


def _index(moves: Coefficients, members: list[_Coordinate]) -> Index:
    offsets = [member.offset for member in members]
    return Index(
        moves=moves,
        spread=int(max(offsets)) - int(min(offsets)),
        is_affine=all(member.is_affine for member in members),
        is_known=all(member.is_known for member in members),
    )
