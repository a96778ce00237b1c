"""The splits and fuses of a domain order over a box: which loops remain, and how long each is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping

from attrs import evolve, frozen

from spaces.model.algorithm.pipeline import Stage
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Const, Expr, Op, Variable, constant, walk
from spaces.model.expressions.types import Int32
from spaces.model.formulas.counts import divides, extent_of, tiles_of
from spaces.model.formulas.interval import Interval
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.domain_order import DomainOrder, Factor, Fuse, Split, Tail, made_from


class OrderError(ValueError):
    """The splits, fuses or loops of a stage name a loop that it does not have, or has already."""


@frozen
class Step:
    """A split or fuse with the ranges, (min, extent), that its loops had when it was applied. For a
    split these are the loop that it takes and the two that it gives, for a fuse the inner and the
    outer loop that it takes.

    ``dimension`` is the Var or RVar that is split, or empty where a loop made from one is. A tail
    is dropped where the factor divides the extent. For a split whose numbers are open, ``dropped``
    is the condition for that. It is there only if it matters: if one of the two loops is split
    again, its rounds may go beyond the limits of the tail.
    """

    record: Split | Fuse
    dimension: str
    first: tuple[Expr, Expr]
    second: tuple[Expr, Expr]
    tail: Tail
    dropped: Expr | None = None

    def with_tail(self, tail: Tail) -> Step:
        """The same step with another tail."""
        return self if tail is self.tail else evolve(self, tail=tail)


@frozen
class Division:
    """The steps of a domain order, in order, and the ranges of the loops that remain."""

    steps: tuple[Step, ...]
    ranges: dict[str, tuple[Expr, Expr]]

    def with_tails(self, meaning: Callable[[Tail], Tail]) -> Division:
        """The same division with each tail replaced by its ``meaning``."""
        steps = tuple(step.with_tail(meaning(step.tail)) for step in self.steps)
        return Division(steps, self.ranges)


def where_kept(step: Step, free: Expr, kept: Expr) -> Expr:
    """``kept`` where a split keeps its tail, and ``free`` where the tail is dropped."""
    return kept if step.dropped is None else fn.select(step.dropped, free, kept)


def tail_of_reads(tail: Tail) -> Tail:
    """How far a split with this tail reads: as far as one with the tail returned."""
    return _READS.get(tail, tail)


def tail_of_writes(tail: Tail) -> Tail:
    """How far a split with this tail computes: as far as one with the tail returned."""
    return _WRITES.get(tail, tail)


# Predication of loads alone leaves room for whole tiles where values are stored, predication of
# stores alone where they are read. Blending leaves room for both [Halide's TailStrategy].
_READS = {
    Tail.PREDICATE: Tail.GUARD_WITH_IF,
    Tail.PREDICATE_LOADS: Tail.GUARD_WITH_IF,
    Tail.PREDICATE_STORES: Tail.ROUND_UP,
    Tail.SHIFT_INWARDS_AND_BLEND: Tail.SHIFT_INWARDS,
    Tail.ROUND_UP_AND_BLEND: Tail.ROUND_UP,
}
_WRITES = {
    Tail.PREDICATE: Tail.GUARD_WITH_IF,
    Tail.PREDICATE_LOADS: Tail.ROUND_UP,
    Tail.PREDICATE_STORES: Tail.GUARD_WITH_IF,
    Tail.SHIFT_INWARDS_AND_BLEND: Tail.SHIFT_INWARDS,
    Tail.ROUND_UP_AND_BLEND: Tail.ROUND_UP,
}

BLENDING = (Tail.SHIFT_INWARDS_AND_BLEND, Tail.ROUND_UP_AND_BLEND)
"""Tails whose last tile keeps the values beyond the end unchanged."""

GUARDED = (Tail.GUARD_WITH_IF, *_READS)
"""Tails under which iterations that lie beyond the end of a loop, or repeat others, do nothing."""


def factor_expr(factor: Factor) -> Expr:
    """A split factor as an expression; a parameter's name stands for its value."""
    return Variable(Int32, factor) if isinstance(factor, str) else constant(factor, Int32)


def exact_loops(stage: Stage, order: DomainOrder) -> Iterator[frozenset[str]]:
    """For each split and fuse of ``order``, the loops there whose iterations must each run once,
    and no others: RVars, loops without a dimension, Vars in several coordinates of what is written,
    and what is made from them. No region grows where more of their iterations run; the stage is
    computed again, or written beyond its region along another dimension.
    """
    found = frozenset((*(r.name for r in stage.rvars), *order.once, *repeated_vars(stage)))
    for record in order.splits:
        yield found
        found = made_from(found, (record,))


def repeated_vars(stage: Stage) -> Iterator[str]:
    """Vars that occur in several coordinates of what a stage writes, as ``rfactor`` makes them from
    RVars there: ``f_intm(u, y, u)``.
    """
    places = Counter(name for arg in stage.args for name in arg.names)
    return (name for name in stage.pure_vars if places[name] > 1)


def resolved_tails(stage: Stage, order: DomainOrder, is_update: bool) -> tuple[Tail, ...]:
    """The tail of each split and fuse of ``order``, with ``AUTO`` decided as Halide does.

    Splits of :func:`exact_loops` guard. In update stages other splits round up, but
    guard inside a tile, where rounds that go over its end would update its neighbor twice. In a
    pure stage splits shift inwards, unless an earlier such split of at least the same factor
    already covers the loop.
    """
    return tuple(tail for tail, _, _ in _tails(stage, order, is_update))


def automatic_tails(stage: Stage, order: DomainOrder, is_update: bool) -> tuple[Tail, ...]:
    """For each split and fuse of ``order`` the tail that it would have if it were automatic and all
    before it are as they are.
    """
    return tuple(automatic for _, automatic, _ in _tails(stage, order, is_update))


def undecided_tail(stage: Stage, order: DomainOrder, is_update: bool) -> tuple[int, Expr] | None:
    """The first split of ``order`` whose automatic tail depends on factors without a number: its
    index, and the condition under which it rounds up. Otherwise it shifts inwards, as
    :func:`resolved_tails` has it. None if all tails are decided.
    """
    made = {name for record in order.splits for name in record.made}
    if made.isdisjoint(name for record in order.splits for name in record.taken):
        return None
    for index, (_, _, cover) in enumerate(_tails(stage, order, is_update)):
        record = order.splits[index]
        if cover is None or not isinstance(record, Split) or cover == record.factor:
            continue
        if isinstance(cover, str) or isinstance(record.factor, str):
            return index, factor_expr(cover) >= factor_expr(record.factor)
    return None


def _tails(
    stage: Stage, order: DomainOrder, is_update: bool
) -> Iterator[tuple[Tail, Tail, Factor | None]]:
    """The tail of each split and fuse, and the one that it has if it is automatic; of an automatic
    one that rounds up where its factor is at most that of an earlier split, the earlier factor.
    """
    inside: set[str] = set()
    covered: dict[str, Factor] = {}
    for record, exact in zip(order.splits, exact_loops(stage, order), strict=True):
        if isinstance(record, Fuse):
            if inside & {record.inner, record.outer}:
                inside.add(record.fused)
            yield Tail.AUTO, Tail.AUTO, None
            continue
        tail, decisive = record.tail, None
        cover = covered.pop(record.old, None)
        is_inside = record.old in inside
        inside.discard(record.old)
        inside |= {record.inner, record.outer} if is_inside else {record.inner}
        guards = record.old in exact or (is_update and is_inside)
        automatic = _automatic(record, guards, is_update, cover)
        if tail is Tail.AUTO:
            tail = automatic
            decisive = None if guards or is_update else cover
        yield tail, automatic, decisive
        if tail is Tail.SHIFT_INWARDS:
            covered[record.outer] = record.factor
        elif cover is not None:
            covered[record.outer] = covered[record.inner] = cover


def _automatic(record: Split, guards: bool, is_update: bool, cover: Factor | None) -> Tail:
    if guards:
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
    return {name for record in order.splits for name in record.taken}


def loop_dimensions(
    stage: Stage, order: DomainOrder, count: int | None = None
) -> dict[str, tuple[str, ...]]:
    """The Vars and RVars that each final loop of ``order`` walks along; with ``count``, each loop
    that there is after that many splits and fuses.
    """
    walks: dict[str, tuple[str, ...]] = {name: (name,) for name in stage.dimensions}
    walks.update(dict.fromkeys(order.once, ()))
    for record in order.splits[:count]:
        if isinstance(record, Fuse):
            inner, outer = walks.pop(record.inner), walks.pop(record.outer)
            walks[record.fused] = tuple(dict.fromkeys(inner + outer))
        else:
            old = walks.pop(record.old)
            walks[record.outer] = walks[record.inner] = old
    return walks


def divide(
    name: str,
    stage: Stage,
    order: DomainOrder,
    is_update: bool,
    box: dict[str, Interval],
    simplify: Simplifier,
    parameters: Collection[str] = (),
) -> Division:
    """How ``order`` divides ``box``, a range for each Var and RVar of the stage called ``name``.
    The ``parameters`` stand for factors.

    Raises:
        OrderError: ``order`` names a loop that the stage does not have there, or has already.
    """
    ranges = {
        name: (i.min, extent_of(i.min, i.max, simplify))
        for name, i in box.items()
        if i.min is not None and i.max is not None
    }
    whole = set(ranges)
    for single in order.once:
        ranges[single] = (constant(0, Int32), constant(1, Int32))
    steps = []
    tails = resolved_tails(stage, order, is_update)
    for number, (record, tail) in enumerate(zip(order.splits, tails, strict=True)):
        _check_names(name, record, ranges)
        if isinstance(record, Split):
            dimension = record.old if record.old in whole else ""
            step = _split(record, dimension, tail, ranges, simplify)
            if any({*record.made}.intersection(one.taken) for one in order.splits[number + 1 :]):
                step = evolve(step, dropped=_dropped(step, simplify, parameters))
            steps.append(step)
            whole.discard(record.old)
        else:
            steps.append(_fuse(record, ranges, simplify))
            whole -= {record.inner, record.outer}
    if sorted(order.names) != sorted(ranges):
        raise OrderError(
            f"The loops of {name} are {', '.join(order.names)}, but the stage has "
            f"{', '.join(ranges)}; put each of these into its order once. verify(...) names all "
            "that is wrong with a schedule."
        )
    return Division(tuple(steps), ranges)


def _check_names(name: str, record: Split | Fuse, ranges: Mapping[str, object]) -> None:
    left = [loop for loop in ranges if loop not in record.taken]
    unknown = [loop for loop in record.taken if loop not in ranges]
    twice = [loop for loop in record.made if loop in left or record.made.count(loop) > 1]
    doubled = record.taken if len(set(record.taken)) < len(record.taken) else ()
    for loop in (*unknown, *twice, *doubled):
        wrong = "is no loop there" if loop in unknown else "would name two loops"
        raise OrderError(
            f"{type(record).__name__} of {', '.join(record.taken)} of {name}: {loop} {wrong}; the "
            f"loops are {', '.join(ranges)}. verify(...) names all that is wrong with a schedule."
        )


def _split(
    record: Split,
    dimension: str,
    tail: Tail,
    ranges: dict[str, tuple[Expr, Expr]],
    simplify: Simplifier,
) -> Step:
    low, extent = ranges.pop(record.old)
    factor = factor_expr(record.factor)
    zero = constant(0, Int32)
    # A factor that divides the extent needs no tail, whatever was asked for.
    if divides(extent, factor, simplify):
        tail = Tail.AUTO
    ranges[record.outer] = (zero, tiles_of(extent, factor, simplify))
    ranges[record.inner] = (zero, factor)
    return Step(record, dimension, (low, extent), (zero, factor), tail)


def _dropped(step: Step, simplify: Simplifier, parameters: Collection[str]) -> Expr | None:
    """Where the tail of a split may be dropped once all factors are numbers; None for nowhere.

    What divides an extent that is no number even then, such as ``2 * size + 2``, is seen only by
    its products. With a product, every factor that divides it counts, seen or not.
    """
    extent, factor = step.first[1], step.second[1]
    names = extent.names | factor.names
    if step.tail in (Tail.AUTO, Tail.ROUND_UP) or names.isdisjoint(parameters):
        return None
    is_number = names <= set(parameters)
    has_product = any(isinstance(node, Op) and node.name == "mul" for node in walk(extent))
    if not is_number and not has_product:
        condition = simplify(factor == 1)
    else:
        condition = simplify(extent % factor == 0)
    is_never = isinstance(condition, Const) and not condition.value
    return None if is_never else condition


def _fuse(record: Fuse, ranges: dict[str, tuple[Expr, Expr]], simplify: Simplifier) -> Step:
    inner, outer = ranges.pop(record.inner), ranges.pop(record.outer)
    ranges[record.fused] = (constant(0, Int32), simplify(inner[1] * outer[1]))
    return Step(record, "", inner, outer, Tail.AUTO)
