"""A domain order applied to a box: the loops of one stage and the coordinates they visit."""

from __future__ import annotations

from attrs import frozen

from spaces.model import functions as fn
from spaces.model.expr import Const, Expr, Op, Variable, constant
from spaces.model.pipeline import Stage
from spaces.model.regions import Box, Interval, Ranges
from spaces.model.schedule import DomainOrder, Factor, Fuse, LoopKind, Split, Tail
from spaces.model.simplify import Simplifier
from spaces.model.types import Bool, Int32


@frozen
class LoopVar:
    """One loop: ``var`` runs from ``min`` to ``max``, which is ``extent`` iterations."""

    var: Variable
    func: str
    stage: int
    loop: str
    kind: LoopKind
    min: Expr
    max: Expr
    extent: Expr


@frozen
class Guard:
    """Iterations run only where ``condition`` holds, which keeps ``dimension`` inside its box."""

    dimension: str
    condition: Expr


@frozen
class Traversal:
    """The loops of one stage, outermost first, and what they visit.

    ``coordinates`` gives each pure Var and RVar of the stage as an expression of the loop
    variables; ``guards`` are the conditions of splits that do not divide. ``guarded`` are the
    coordinates where the guards hold, written so that their limits can be seen.
    """

    loops: tuple[LoopVar, ...]
    coordinates: dict[str, Expr]
    guards: tuple[Guard, ...]
    guarded: dict[str, Expr]


@frozen
class _Step:
    """A split or fuse with the ranges its loops had when it was applied.

    ``dimension`` is the Var or RVar that is split, or empty where a loop made from one is.
    """

    record: Split | Fuse
    dimension: str
    first: tuple[Expr, Expr]
    second: tuple[Expr, Expr]
    tail: Tail


def factor_expr(factor: Factor) -> Expr:
    """A split factor as an expression; a parameter's name stands for its value."""
    return Variable(Int32, factor) if isinstance(factor, str) else constant(factor, Int32)


def resolved_tails(stage: Stage, order: DomainOrder, is_update: bool) -> tuple[Tail, ...]:
    """The tail of each split and fuse of ``order``, with ``AUTO`` decided as Halide does.

    Splits of RVars (or of loops made from them) guard; in update stages other splits round up;
    in a pure stage splits shift inwards, unless an earlier such split of at least the same factor
    already covers the loop.
    """
    exact = {r.name for r in stage.rvars}
    covered: dict[str, Factor] = {}
    tails = []
    for record in order.splits:
        if isinstance(record, Fuse):
            if exact & {record.inner, record.outer}:
                exact.add(record.fused)
            tails.append(Tail.AUTO)
            continue
        tail = record.tail
        cover = covered.pop(record.old, None)
        if record.old in exact:
            exact |= {record.outer, record.inner}
        if tail is Tail.AUTO:
            tail = _automatic(record, record.old in exact, is_update, cover)
        tails.append(tail)
        if tail is Tail.SHIFT_INWARDS:
            covered[record.outer] = record.factor
        elif cover is not None:
            covered[record.outer] = covered[record.inner] = cover
    return tuple(tails)


def _automatic(record: Split, exact: bool, is_update: bool, cover: Factor | None) -> Tail:
    if exact:
        return Tail.GUARD_WITH_IF
    if is_update:
        return Tail.ROUND_UP
    known = isinstance(cover, int) and isinstance(record.factor, int)
    if cover is not None and (
        cover == record.factor or (known and int(cover) >= int(record.factor))
    ):
        return Tail.ROUND_UP
    return Tail.SHIFT_INWARDS


def divided(order: DomainOrder) -> set[str]:
    """Names of the Vars and RVars, and of loops made from some, that splits and fuses replace:
    only along these may a stage visit more than what is asked for.
    """
    replaced = set()
    for record in order.splits:
        replaced |= {record.inner, record.outer} if isinstance(record, Fuse) else {record.old}
    return replaced


def traverse(
    func: str,
    index: int,
    stage: Stage,
    order: DomainOrder,
    box: dict[str, Interval],
    simplify: Simplifier,
) -> Traversal:
    """The loops of stage ``index`` of ``func`` over ``box`` (a range for each of its Vars and
    RVars). The domain order must be well formed.
    """
    ranges = {
        name: (i.min, simplify(i.max - i.min + 1))
        for name, i in box.items()
        if i.min is not None and i.max is not None
    }
    whole = set(ranges)
    steps = []
    tails = resolved_tails(stage, order, is_update=index > 0)
    for record, tail in zip(order.splits, tails, strict=True):
        if isinstance(record, Split):
            dimension = record.old if record.old in whole else ""
            steps.append(_split(record, dimension, tail, ranges, simplify))
            whole.discard(record.old)
        else:
            steps.append(_fuse(record, ranges, simplify))
            whole -= {record.inner, record.outer}
    loops = []
    for loop in order.loops:
        low, extent = ranges[loop.name]
        var = Variable(Int32, f"{func}.s{index}.{loop.name}")
        last = simplify(low + extent - 1)
        simplify.assume(var.name, low, last)
        loops.append(LoopVar(var, func, index, loop.name, loop.kind, low, last, extent))
    values: dict[str, Expr] = {loop.loop: loop.var for loop in loops}
    guarded = dict(values)
    guards: list[Guard] = []
    for step in reversed(steps):
        guard = _undo(step, values, simplify)
        if guard is not None:
            guards.append(guard)
        _undo(step, guarded, simplify)
        if guard is not None and isinstance(step.record, Split):
            low, extent = step.first
            old = step.record.old
            guarded[old] = simplify(fn.min(guarded[old], low + extent - 1))
    coordinates = {name: simplify(value) for name, value in values.items()}
    limited = {name: simplify(value) for name, value in guarded.items()}
    return Traversal(tuple(loops), coordinates, tuple(guards), limited)


def _split(
    record: Split,
    dimension: str,
    tail: Tail,
    ranges: dict[str, tuple[Expr, Expr]],
    simplify: Simplifier,
) -> _Step:
    low, extent = ranges.pop(record.old)
    factor = factor_expr(record.factor)
    zero = constant(0, Int32)
    # A factor that divides the extent needs no tail, whatever was asked for.
    if simplify(extent % factor) is zero:
        tail = Tail.AUTO
    ranges[record.outer] = (zero, simplify((extent + factor - 1) / factor))
    ranges[record.inner] = (zero, factor)
    return _Step(record, dimension, (low, extent), (zero, factor), tail)


def _fuse(record: Fuse, ranges: dict[str, tuple[Expr, Expr]], simplify: Simplifier) -> _Step:
    inner, outer = ranges.pop(record.inner), ranges.pop(record.outer)
    ranges[record.fused] = (constant(0, Int32), simplify(inner[1] * outer[1]))
    return _Step(record, "", inner, outer, Tail.AUTO)


def _undo(step: _Step, values: dict[str, Expr], simplify: Simplifier) -> Guard | None:
    """Express the loops that a step replaced by those that replaced them; the guard it needs."""
    record = step.record
    if isinstance(record, Fuse):
        fused = values.pop(record.fused)
        (inner_low, inner_extent), (outer_low, _) = step.first, step.second
        values[record.inner] = simplify(fused % inner_extent + inner_low)
        values[record.outer] = simplify(fused / inner_extent + outer_low)
        return None
    low, extent = step.first
    factor = step.second[1]
    outer, inner = values.pop(record.outer), values.pop(record.inner)
    base = outer * factor
    if step.tail is Tail.SHIFT_INWARDS:
        base = fn.min(base, extent - factor)
    values[record.old] = simplify(base + inner + low)
    if step.tail is Tail.GUARD_WITH_IF:
        condition = simplify(base + inner < extent)
        if not isinstance(condition, Const):
            return Guard(step.dimension, condition)
    return None


def guard_condition(guards: tuple[Guard, ...]) -> Expr | None:
    """The conjunction of all guards, or None where there is none."""
    result: Expr | None = None
    for guard in guards:
        both = guard.condition if result is None else Op(Bool, "and", (result, guard.condition))
        result = both
    return result


def box_of(names: tuple[str, ...], box: Box) -> dict[str, Interval]:
    """A box as a range for each named dimension."""
    return dict(zip(names, box, strict=True))


def loop_ranges(loops: tuple[LoopVar, ...], simplify: Simplifier) -> dict[str, Interval]:
    """The range of each loop variable while all of ``loops`` run, outer ones widening inner."""
    ranges: dict[str, Interval] = {}
    for loop in loops:
        analysis = Ranges(simplify, dict(ranges))
        low, high = analysis.of(loop.min).min, analysis.of(loop.max).max
        ranges[loop.var.name] = Interval(low, high)
    return ranges
