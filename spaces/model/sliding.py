"""Sliding windows and storage folding [RK13 4.3].

A Func that is stored outside a serial loop and computed inside it keeps what earlier iterations
computed: each iteration computes only what is new, and storage that no later iteration reads is
reused in a circle.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from spaces.model import functions as fn
from spaces.model.expr import Expr, constant
from spaces.model.monotone import never_decreases
from spaces.model.pipeline import Function
from spaces.model.regions import Box, Interval, Ranges, UnboundedError
from spaces.model.rewrite import substitute, variables
from spaces.model.schedule import FuncSchedule, LoopKind
from spaces.model.simplify import Simplifier
from spaces.model.splits import divided, factor_expr
from spaces.model.traversal import LoopVar, loop_ranges
from spaces.model.types import Int32

Widen = Callable[[Function, Box], Box]


@frozen
class Slide:
    """Dimension ``dimension`` of the Func slides along ``loop``: up, or down if not ``forward``."""

    dimension: str
    loop: LoopVar
    forward: bool = True


@frozen
class Storage:
    """What one Func computes at each visit of its compute level, and what it keeps.

    Attributes:
        target: the box that must be computed at a visit: what is required and not yet there.
        computed: ``target`` and what tails of its own splits compute beyond it.
        stored: the box its allocation covers.
        slides: the sliding windows, innermost loop first.
        least_folds: for each dimension that slides or is folded the smallest legal fold factor;
            for others all that is stored.
        folds: for each dimension the fold factor used, or None.
    """

    target: Box
    computed: Box
    stored: Box
    slides: tuple[Slide, ...]
    least_folds: tuple[Expr, ...]
    folds: tuple[Expr | None, ...]

    def needed(self, d: int) -> Expr:
        """How many values must be stored along dimension ``d``."""
        fold = self.folds[d]
        return _extent(self.stored[d]) if fold is None else fold


def slide(
    function: Function,
    schedule: FuncSchedule,
    required: Box,
    between: tuple[LoopVar, ...],
    simplify: Simplifier,
    widen: Widen,
) -> Storage:
    """What a Func computes and stores, given what one visit of its compute level requires."""
    widened = widen(function, required)
    slides = _windows(function, schedule, widened, between, simplify)
    remaining = list(required)
    for window in slides:
        d = function.args.index(window.dimension)
        remaining[d] = _remaining(required[d], window.loop, simplify)
    target = tuple(remaining)
    computed = widen(function, target) if slides else widened
    whole = Ranges(simplify, loop_ranges(between, simplify))
    stored = tuple(
        Interval(whole.of(i.min).min, whole.of(i.max).max)
        for i in widened
        if i.min is not None and i.max is not None
    )
    asked = {f.dimension for f in schedule.folds} | {s.dimension for s in slides}
    for name, interval in zip(function.args, stored, strict=True):
        if not interval.is_bounded:
            raise UnboundedError(
                f"No limits are found for what must be kept of {function.name} along {name} while "
                f"the loops between its store level and its compute level run; store it inside "
                f"more of them, or split and fuse fewer loops.",
                function.name,
            )
    least = _least_folds(function, widened, stored, slides, between, whole, asked)
    folds = _folds(function, schedule, least, stored, slides, simplify)
    return Storage(target, computed, stored, slides, least, folds)


def _windows(
    function: Function,
    schedule: FuncSchedule,
    box: Box,
    between: tuple[LoopVar, ...],
    simplify: Simplifier,
) -> tuple[Slide, ...]:
    """The innermost loops first: each slides the one dimension that moves with it."""
    if not function.is_pure:
        return ()
    split = divided(schedule.stages[0])
    slides: list[Slide] = []
    for loop in reversed(between):
        if loop.kind not in (LoopKind.SERIAL, LoopKind.UNROLLED):
            break
        moving = [name for name, i in zip(function.args, box, strict=True) if _moves(i, loop)]
        if not moving:
            continue
        dimension = moving[0]
        taken = {s.dimension for s in slides}
        if len(moving) > 1 or dimension in taken or dimension in split:
            break
        interval = box[function.args.index(dimension)]
        ends = [e for e in (interval.min, interval.max) if e is not None]
        if not all(never_decreases(e, loop.var, simplify) for e in ends):
            break
        slides.append(Slide(dimension, loop))
    return tuple(slides)


def _moves(interval: Interval, loop: LoopVar) -> bool:
    ends = [e for e in (interval.min, interval.max) if e is not None]
    return loop.var.name in variables(*ends)


def _remaining(interval: Interval, loop: LoopVar, simplify: Simplifier) -> Interval:
    """What an iteration still has to compute after all earlier ones."""
    low, high = interval.min, interval.max
    if low is None or high is None:
        return interval
    before = simplify(substitute(high, {loop.var.name: loop.var - 1}))
    rest = simplify(fn.max(low, before + 1))
    first = fn.select(loop.var == loop.min, low, rest)
    return Interval(simplify(first), high)


def _least_folds(
    function: Function,
    live: Box,
    stored: Box,
    slides: tuple[Slide, ...],
    between: tuple[LoopVar, ...],
    whole: Ranges,
    asked: set[str],
) -> tuple[Expr, ...]:
    """For each dimension ``asked`` for the fewest values whose storage may be reused in a circle.

    That is the window of one iteration, unless a window slides along another dimension and this
    one moves inside that loop: then what the next round reads again would be overwritten, and
    everything stored must be kept.
    """
    least = []
    for name, window, total in zip(function.args, live, stored, strict=True):
        extent = whole.simplify(_extent(total))
        if name not in asked:
            least.append(extent)
            continue
        loops = [w.loop for w in slides if w.dimension != name]
        revisited = any(
            _moves(window, inner)
            for outer in loops
            for inner in between[between.index(outer) + 1 :]
        )
        widest = None if revisited else _widest(window, whole)
        least.append(extent if widest is None else widest)
    return tuple(least)


def _widest(window: Interval, whole: Ranges) -> Expr | None:
    """The most values that a window holds in any iteration; None where that is not known."""
    extent = _extent(window)
    most = whole.simplify.lower(whole.simplify.polynomial(extent).scaled(-1))
    if most is not None:
        return constant(-most, Int32)
    widest = whole.of(extent).max
    varies = widest is None or any(n in whole.ranges for n in variables(widest))
    return None if varies else widest


def _folds(
    function: Function,
    schedule: FuncSchedule,
    least: tuple[Expr, ...],
    stored: Box,
    slides: tuple[Slide, ...],
    simplify: Simplifier,
) -> tuple[Expr | None, ...]:
    """The fold factor asked for; else, for a sliding dimension, the least one if it saves."""
    asked = {f.dimension: factor_expr(f.factor) for f in schedule.folds}
    sliding = {s.dimension for s in slides}
    factors: list[Expr | None] = []
    for name, fewest, total in zip(function.args, least, stored, strict=True):
        saves = name in sliding and not simplify.at_most(_extent(total), fewest)
        factors.append(asked.get(name, fewest if saves else None))
    return tuple(factors)


def _extent(interval: Interval) -> Expr:
    if interval.min is None or interval.max is None:
        raise ValueError("an unbounded interval has no extent")
    return interval.max - interval.min + 1
