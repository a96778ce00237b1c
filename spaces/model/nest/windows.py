"""Which loops slide a window.

An iteration computes only what the iteration before it did not require. So a window slides along a
loop only where the iteration before required all that is left out. Three facts show this for each
window. The loops inside run through the same iterations there, because their ranges do not depend
on the loop. The box there is the same but for the one dimension that slides. And along that
dimension neither end ever moves back. A window may slide upwards or downwards.

Tiles of a pure Func may compute more than the new values: they may repeat an old value, or compute
a later one early. Tiles of a Func with updates may not, because the values would start again or be
updated twice.
"""

from __future__ import annotations

from attrs import frozen

from spaces.model.algorithm.pipeline import Function
from spaces.model.expressions.expr import Expr, Variable
from spaces.model.expressions.rewrite import substitute
from spaces.model.formulas.interval import Box, Interval
from spaces.model.formulas.monotone import never_decreases, never_increases
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.splits import divided
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.domain_order import DomainOrder, Fuse
from spaces.model.schedules.schedule import FuncSchedule


@frozen
class Slide:
    """Dimension ``dimension`` of the Func slides along ``loop``: up, or down if not ``forward``."""

    dimension: str
    loop: LoopVar
    forward: bool = True


def windows(
    function: Function,
    schedule: FuncSchedule,
    required: Box,
    widened: Box,
    between: tuple[LoopVar, ...],
    simplify: Simplifier,
) -> tuple[Slide, ...]:
    """The windows of a Func that is stored outside the loops ``between`` and computed inside them,
    innermost loop first: each slides the one dimension that moves with it. One visit requires the
    box ``required``, and computes ``widened`` where no window slides, because of tails.
    """
    tiled = divided(schedule.stages[0])
    slides: list[Slide] = []
    for depth, loop in reversed(list(enumerate(between))):
        if loop.kind.is_concurrent:
            break
        ends = _moving_ends(function, required, widened, loop)
        if not ends:
            continue
        dimension = next(iter(ends))
        taken = {s.dimension for s in slides}
        if len(ends) > 1 or dimension in taken or not _may_slide(function, schedule, dimension):
            break
        if any(_is_reshaped(inner, loop) for inner in between[depth + 1 :]):
            break
        rises = all(never_decreases(e, loop.var, simplify) for e in ends[dimension])
        if not rises and not all(never_increases(e, loop.var, simplify) for e in ends[dimension]):
            break
        window = Slide(dimension, loop, rises)
        reach = widened[function.args.index(dimension)]
        if dimension in tiled and not _overlaps(reach, window, simplify):
            break
        slides.append(window)
    return tuple(slides)


def _moving_ends(
    function: Function, required: Box, widened: Box, loop: LoopVar
) -> dict[str, tuple[Expr, ...]]:
    """The ends along each dimension that moves with a loop, of what is required and of what tiles
    make of it.
    """
    found = {}
    for name, *intervals in zip(function.args, required, widened, strict=True):
        ends = dict.fromkeys(e for i in intervals for e in (i.min, i.max) if e is not None)
        if any(loop.var.name in e.names for e in ends):
            found[name] = tuple(ends)
    return found


def _is_reshaped(inner: LoopVar, outer: LoopVar) -> bool:
    """Whether a loop may run through other iterations in the next one of a loop around it."""
    return any(outer.var.name in e.names for e in (inner.min, inner.max, inner.extent))


def _overlaps(interval: Interval, window: Slide, simplify: Simplifier) -> bool:
    """Whether every iteration reads again what the one before has read. In tiles less than that is
    not worth it: they would only be cut where the last of a consumer's is shifted inwards.
    """
    low, high, loop = interval.min, interval.max, window.loop
    if low is None or high is None:
        return False
    before = {loop.var.name: loop.var - 1}
    if window.forward:
        return simplify.at_most(low, simplify(substitute(high, before)))
    return simplify.at_most(simplify(substitute(low, before)), high)


def _may_slide(function: Function, schedule: FuncSchedule, dimension: str) -> bool:
    """Whether each value along a dimension can be computed without those before it, and whether
    what tiles compute beyond what is new does no harm. One loop along two dimensions of unknown
    size would do none either, but that could seldom be proven.
    """
    d = function.args.index(dimension)
    if function.is_pure:
        return not _is_fused(schedule.stages[0], dimension)
    for stage, order in zip(function.stages, schedule.stages, strict=True):
        own = [c.args for c in stage.calls if c.target == function.name]
        if not all(_is_var(args[d], dimension) for args in (stage.args, *own)):
            return False
        if dimension in divided(order):
            return False
    return True


def _is_var(expr: Expr, name: str) -> bool:
    return isinstance(expr, Variable) and expr.name == name


def _is_fused(order: DomainOrder, dimension: str) -> bool:
    """Whether a loop along a dimension becomes part of a loop along others, too."""
    made = {dimension}
    for record in order.splits:
        if made.isdisjoint(record.taken):
            continue
        if isinstance(record, Fuse):
            return True
        made.update(record.made)
    return False
