"""Sliding windows and storage folding [RK13 4.3].

A Func that is stored outside a serial loop and computed inside it keeps what earlier iterations
computed: each iteration computes only what is new, and storage that no later iteration reads is
reused in a circle. Which loops slide a window is decided in :mod:`spaces.model.nest.windows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce

from attrs import frozen

from spaces.model.algorithm.pipeline import Function
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Const, Expr, Op, constant, walk
from spaces.model.expressions.rewrite import rewrite, substitute
from spaces.model.expressions.types import Bool
from spaces.model.formulas.interval import Box, Interval, union
from spaces.model.formulas.regions import Ranges, UnboundedError
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.largest import largest_constant
from spaces.model.nest.splits import factor_expr
from spaces.model.nest.traversal import LoopVar, loop_ranges
from spaces.model.nest.windows import Slide, windows
from spaces.model.schedules.schedule import FuncSchedule

Widen = Callable[[Function, Box], Box]

_MOST_CONDITIONS = 4
"""Cases are enumerated only up to this many conditions; n conditions give 2**n cases."""


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
    path: tuple[LoopVar, ...],
    store_depth: int,
    simplify: Simplifier,
    widen: Widen,
) -> Storage:
    """What a Func computes and stores inside the loops of ``path``, the first ``store_depth`` of
    them around its storage, given what one visit of its compute level requires.
    """
    around, between = path[:store_depth], path[store_depth:]
    widened = widen(function, required)
    slides = windows(function, schedule, required, widened, between, simplify)
    target, computed, live = list(required), list(widened), list(widened)
    if slides:
        later = list(required)
        for window in slides:
            d = function.args.index(window.dimension)
            later[d] = _later(required[d], window, simplify)
        reached = widen(function, tuple(later))
        for window in slides:
            d = function.args.index(window.dimension)
            target[d] = _by_turns(window, required[d], later[d], simplify)
            computed[d] = _by_turns(window, widened[d], reached[d], simplify)
            live[d] = _live(window, widened[d], reached[d], simplify)
    whole = Ranges(simplify, loop_ranges(between, simplify))
    stored = tuple(
        Interval(whole.least(i.min), whole.most(i.max))
        for i in live
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
    least = _least_folds(function, tuple(live), stored, slides, between, whole, asked)
    folds = _folds(function, schedule, least, stored, slides, around, simplify)
    return Storage(tuple(target), tuple(computed), stored, slides, least, folds)


def _moves(interval: Interval, loop: LoopVar) -> bool:
    ends = (interval.min, interval.max)
    return any(loop.var.name in e.names for e in ends if e is not None)


def _later(interval: Interval, window: Slide, simplify: Simplifier) -> Interval:
    """What an iteration other than the first has to compute beyond what earlier ones computed."""
    low, high, loop = interval.min, interval.max, window.loop
    if low is None or high is None:
        return interval
    before = {loop.var.name: loop.var - 1}
    if window.forward:
        last = simplify(substitute(high, before))
        return Interval(simplify(fn.max(low, last + 1)), high)
    first = simplify(substitute(low, before))
    return Interval(low, simplify(fn.min(high, first - 1)))


def _by_turns(window: Slide, first: Interval, later: Interval, simplify: Simplifier) -> Interval:
    """``first`` in the first iteration of a window's loop, then ``later``."""
    is_first = simplify(window.loop.var == window.loop.min)

    def either(a: Expr | None, b: Expr | None) -> Expr | None:
        if a is None or b is None:
            return a
        # Windows that this one depends on slide along the same loop, so their first turn is known.
        a, b = (simplify(_known_to_be(is_first, turn, e)) for turn, e in ((True, a), (False, b)))
        return a if a is b else simplify(fn.select(is_first, a, b))

    return Interval(either(first.min, later.min), either(first.max, later.max))


def _known_to_be(condition: Expr, value: bool, expr: Expr) -> Expr:
    """``expr`` where a condition is known to hold, or not to."""
    known = constant(value, Bool)
    return rewrite(expr, lambda node: known if node is condition else node)


def _live(window: Slide, whole: Interval, later: Interval, simplify: Simplifier) -> Interval:
    """All that an iteration reads or computes: ``whole`` in the first, ``later`` after it.

    Tiles of a window that moves up reach no lower from a later first value, whatever their tails.
    So its lower end is that of ``whole``. Where a window moves down, its upper end is.
    """
    both = union(whole, later)
    if both.min is None or both.max is None:
        return both
    if window.forward:
        return Interval(whole.min, simplify(both.max))
    return Interval(simplify(both.min), whole.max)


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

    That is the window of one iteration, unless a window slides along another dimension and this one
    moves inside that loop. Then the storage keeps everything: else values that the next round reads
    again would be overwritten.
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
        widest = None if revisited else _widest(window, between, whole.simplify)
        least.append(extent if widest is None else widest)
    return tuple(least)


def _widest(window: Interval, between: tuple[LoopVar, ...], simplify: Simplifier) -> Expr | None:
    """The most values that a window holds in any iteration; None where that is not known."""
    widest: list[Expr] = []
    for extent in _turns(_extent(window), simplify):
        most = largest_constant(extent, between, simplify, lambda e: isinstance(e, Const))
        if any(loop.var.name in most.names for loop in between):
            return None
        widest.append(most)
    return simplify(reduce(fn.max, widest))


def _turns(expr: Expr, simplify: Simplifier) -> Iterator[Expr]:
    """What ``expr`` is in the first iteration of each loop that decides on it, and in later ones:
    all that it can be, whatever the conditions in it.
    """
    selects = (n for n in walk(expr) if isinstance(n, Op) and n.name == "select")
    conditions = list(dict.fromkeys(n.args[0] for n in selects))
    if not 0 < len(conditions) <= _MOST_CONDITIONS:
        yield expr
        return
    for turn in (True, False):
        yield from _turns(simplify(_known_to_be(conditions[0], turn, expr)), simplify)


def _folds(
    function: Function,
    schedule: FuncSchedule,
    least: tuple[Expr, ...],
    stored: Box,
    slides: tuple[Slide, ...],
    around: tuple[LoopVar, ...],
    simplify: Simplifier,
) -> tuple[Expr | None, ...]:
    """The fold factor asked for; else, for a sliding dimension, the least one if it saves memory
    and is the same for all sizes and in all iterations ``around`` the storage. Proofs decide little
    about other factors.
    """
    loops = {loop.var.name for loop in around}
    asked = {f.dimension: factor_expr(f.factor) for f in schedule.folds}
    sliding = {s.dimension for s in slides}
    factors: list[Expr | None] = []
    for name, fewest, total in zip(function.args, least, stored, strict=True):
        fixed = name in sliding and not any(one in loops or _is_size(one) for one in fewest.names)
        saves = fixed and not simplify.at_most(_extent(total), fewest)
        factors.append(asked.get(name, fewest if saves else None))
    return tuple(factors)


def _is_size(name: str) -> bool:
    return name.rsplit(".", 2)[1:2] in (["min"], ["extent"])


def _extent(interval: Interval) -> Expr:
    if interval.min is None or interval.max is None:
        raise ValueError("an unbounded interval has no extent")
    return interval.max - interval.min + 1
