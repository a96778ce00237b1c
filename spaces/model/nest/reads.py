"""Which coordinates a stage reads of each Func and image.

A stencil reads many coordinates that differ by numbers only, at a border inside of clamps; bounds
inference asks only for the first and the last of them. What is found here depends on the algorithm
alone, and is kept.
"""

from __future__ import annotations

from functools import lru_cache

from attrs import field, frozen

from spaces.model.algorithm.pipeline import Stage
from spaces.model.expressions.expr import Const, Expr, Op, Variable, walk
from spaces.model.expressions.types import Int32
from spaces.model.formulas.algebra import SHIFTS
from spaces.model.formulas.polynomial import Polynomial
from spaces.model.formulas.simplify import Simplifier


@frozen(cache_hash=True)
class Window:
    """Coordinates along one dimension, none below ``first + low`` or above ``last + high``, which
    are among them.

    ``written`` is one of them, as in the algorithm; ``first`` and ``last`` are in normal form, and
    often the same.
    """

    first: Expr
    low: int
    last: Expr
    high: int
    written: Expr


@frozen
class Reads:
    """What one stage reads.

    Attributes:
        windows: by Func or image, for each of its dimensions the distinct windows along it.
        forms: the normal forms of all coordinates, and of their parts, that mention the stage's own
            Vars or RVars. Only those are here that no promise of a schedule or a call makes
            simpler.
        at_values: the Funcs and images that it reads at coordinates which are values themselves.
    """

    windows: dict[str, tuple[tuple[Window, ...], ...]]
    forms: dict[Expr, Polynomial] = field(repr=False)
    at_values: frozenset[str]


@lru_cache(maxsize=4096)
def reads(stage: Stage) -> Reads:
    """What a stage reads, its own Func included."""
    simplify, own = Simplifier(), frozenset(stage.dimensions)
    calls: dict[str, list[tuple[Expr, ...]]] = {}
    for call in stage.calls:
        calls.setdefault(call.target, []).append(call.args)
    windows = {
        target: tuple(_windows(column, own, simplify) for column in zip(*accesses, strict=True))
        for target, accesses in calls.items()
    }
    every = [w for columns in windows.values() for column in columns for w in column]
    bases = [base for window in every for base in (window.first, window.last)]
    return Reads(
        windows,
        {
            node: simplify.polynomial(node)
            for node in walk(*bases)
            if isinstance(node, Op) and node.type is Int32 and not own.isdisjoint(node.names)
            if not _may_become_simpler(node)
        },
        frozenset(
            target
            for target, columns in windows.items()
            if any(window.written.loads for column in columns for window in column)
        ),
    )


def _may_become_simpler(node: Expr) -> bool:
    """Whether it has a shift, which is a product or quotient where a call promises its limits."""
    return any(isinstance(part, Op) and part.name in SHIFTS for part in walk(node))


def _windows(
    column: tuple[Expr, ...], own: frozenset[str], simplify: Simplifier
) -> tuple[Window, ...]:
    found: dict[tuple[Expr, Expr], list[tuple[int, Expr]]] = {}
    known: dict[Expr, tuple[Expr, Polynomial]] = {}
    for coordinate in dict.fromkeys(column):
        shape, core = _taken_apart(coordinate, own, simplify, known)
        base = core - Polynomial.of(core.offset)
        found.setdefault((shape, base.expr()), []).append((core.offset, coordinate))
    return tuple(_window(group, simplify) for group in found.values())


def _window(group: list[tuple[int, Expr]], simplify: Simplifier) -> Window:
    """The window of coordinates that grow with the number beside each."""
    order = sorted(group, key=lambda member: member[0])
    ends = [simplify.polynomial(coordinate) for _, coordinate in (order[0], order[-1])]
    first, last = ((form - Polynomial.of(form.offset)).expr() for form in ends)
    return Window(first, ends[0].offset, last, ends[1].offset, group[0][1])


_HOLE = Variable(Int32, "")
"""Stands for the core of a coordinate in its shape."""


def _taken_apart(
    coordinate: Expr,
    own: frozenset[str],
    simplify: Simplifier,
    known: dict[Expr, tuple[Expr, Polynomial]],
) -> tuple[Expr, Polynomial]:
    """A coordinate as ``(shape, core)``: a shape that never decreases with the core in its hole.
    ``known`` holds the results for parts of coordinates, which many coordinates have in common.

    As it is written: in normal form, clamps of neighbors differ in more than their cores.
    """
    found = known.get(coordinate)
    if found is not None:
        return found
    found = _HOLE, simplify.polynomial(coordinate)
    inner = [a for a in coordinate.children if not own.isdisjoint(a.names)]
    if isinstance(coordinate, Op) and len(inner) == 1 and _grows(coordinate, inner[0]):
        shape, core = _taken_apart(inner[0], own, simplify, known)
        if shape is not _HOLE or coordinate.name not in ("add", "sub", "mul"):
            others = (shape if a is inner[0] else simplify(a) for a in coordinate.args)
            found = coordinate.with_children(tuple(others)), core
    known[coordinate] = found
    return found


def _grows(node: Op, operand: Expr) -> bool:
    """Whether ``node`` never decreases where ``operand`` does not, the other one being fixed."""
    if node.name in ("mul", "div"):
        a, b = node.args
        return a is operand and isinstance(b, Const) and b.value > 0
    is_subtracted = node.name == "sub" and node.args[1] is operand
    return node.name in ("add", "sub", "min", "max") and not is_subtracted
