"""A domain order applied to a box: the loops of one stage and the coordinates they visit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import evolve, field, frozen

from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Const, Expr, Variable, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.counts import last_of
from spaces.model.formulas.interval import Box, Interval
from spaces.model.formulas.regions import Ranges
from spaces.model.formulas.simplify import Simplifier
from spaces.model.nest.splits import (
    GUARDED,
    Division,
    Step,
    tail_of_reads,
    tail_of_writes,
    where_kept,
)
from spaces.model.schedules.domain_order import DomainOrder, Fuse, LoopKind, Partition, Split, Tail


@frozen(cache_hash=True)
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
    partition: Partition = Partition.AUTO


@frozen
class Guard:
    """Iterations run only where ``condition`` holds, which keeps ``dimension`` inside its box."""

    dimension: str
    condition: Expr


@frozen
class Joined:
    """A loop that is fused with others: its iterations, from ``min`` to ``max``, run ``shift``
    later in the fused one, which may have more.
    """

    loop: str
    shift: Expr
    min: Expr
    max: Expr


@frozen
class Traversal:
    """The loops of one stage, outermost first, and what they visit.

    Attributes:
        loops: the loops.
        steps: the splits and fuses that made them.
        coordinates: each pure Var and RVar of the stage as an expression of the loop variables.
        guarded: the coordinates that are read at, written so that the limits by guards can be seen.
        running: the conditions under which an iteration of fused loops is one of the stage's.
        guards: ``when``, ``running`` and the conditions of splits that do not divide.
        joined: the loops that are fused with loops of other stages.
        when: where these conditions do not hold nobody asks for anything.
    """

    loops: tuple[LoopVar, ...]
    steps: tuple[Step, ...]
    coordinates: Mapping[str, Expr] = field(eq=False, repr=False)
    guarded: Mapping[str, Expr] = field(eq=False, repr=False)
    running: tuple[Guard, ...] = field(eq=False, repr=False)
    guards: tuple[Guard, ...] = field(eq=False, repr=False)
    joined: tuple[Joined, ...] = ()
    when: tuple[Guard, ...] = ()

    @staticmethod
    def of(
        loops: tuple[LoopVar, ...],
        steps: tuple[Step, ...],
        simplify: Simplifier,
        joined: tuple[Joined, ...] = (),
        when: tuple[Guard, ...] = (),
    ) -> Traversal:
        """The traversal of loops that steps have made; ``simplify`` knows their ranges."""
        own = _own(loops, joined, simplify)
        running = tuple(_running(loops, joined, own, simplify))
        values = dict(own)
        undone = [_undo(step, values, simplify) for step in reversed(steps)]
        coordinates = {name: simplify(value) for name, value in values.items()}
        guarded = coordinates
        if any(guard and _ends(step) for guard, step in zip(undone, reversed(steps), strict=True)):
            guarded = _guarded(own, steps, simplify)
        guards = (*when, *running, *(guard for guard in undone if guard is not None))
        return Traversal(loops, steps, coordinates, guarded, running, guards, joined, when)

    def asked(self, condition: Expr) -> Traversal:
        """The traversal, asked for something only where ``condition`` holds."""
        when = Guard("", condition)
        return evolve(self, when=(when,), guards=(when, *self.guards))

    @property
    def read_limits(self) -> frozenset[str]:
        """The Vars and RVars whose guards keep reads in, too."""
        ending = {step.dimension for step in self.steps if _ends(step) and step.dropped is None}
        return frozenset(g.dimension for g in self.guards if g.dimension in ending)


def _own(
    loops: tuple[LoopVar, ...], joined: tuple[Joined, ...], simplify: Simplifier
) -> dict[str, Expr]:
    """The stage's own iteration number of each loop."""
    shifts = {one.loop: one.shift for one in joined}
    return {
        loop.loop: simplify(loop.var - shifts[loop.loop]) if loop.loop in shifts else loop.var
        for loop in loops
    }


def _running(
    loops: tuple[LoopVar, ...],
    joined: tuple[Joined, ...],
    own: Mapping[str, Expr],
    simplify: Simplifier,
) -> Iterator[Guard]:
    fused = {loop.loop: loop for loop in loops}
    for one in joined:
        loop = fused[one.loop]
        if not simplify.at_most(one.min + one.shift, loop.min):
            yield Guard("", one.min <= own[one.loop])
        if not simplify.at_most(loop.max, one.max + one.shift):
            yield Guard("", own[one.loop] <= one.max)


def _guarded(
    own: Mapping[str, Expr], steps: tuple[Step, ...], simplify: Simplifier
) -> dict[str, Expr]:
    """The coordinates that are read at, with the limits of guards."""
    values = dict(own)
    for step in reversed(steps):
        guard = _undo(step, values, simplify)
        if guard is not None and _ends(step) and isinstance(step.record, Split):
            low, extent = step.first
            old = step.record.old
            limited = fn.min(values[old], low + extent - 1)
            values[old] = simplify(where_kept(step, values[old], limited))
    return {name: simplify(value) for name, value in values.items()}


def _ends(step: Step) -> bool:
    """Whether reads end where the guard of a step does."""
    return tail_of_reads(step.tail) is Tail.GUARD_WITH_IF


def traverse(
    func: str, index: int, order: DomainOrder, division: Division, simplify: Simplifier
) -> Traversal:
    """The loops of stage ``index`` of ``func``, over a box that ``order`` has divided."""
    loops = []
    for loop in order.loops:
        low, extent = division.ranges[loop.name]
        var = Variable(Int32, f"{func}.s{index}.{loop.name}")
        last = last_of(low, extent, simplify)
        simplify.assume(var.name, low, last)
        loops.append(
            LoopVar(
                *(var, func, index, loop.name, loop.kind, low, last, extent),
                order.partition(loop.name),
            )
        )
    return Traversal.of(tuple(loops), division.steps, simplify)


def _undo(step: Step, values: dict[str, Expr], simplify: Simplifier) -> Guard | None:
    """Express the loops that a step replaced by those that replaced them; the guard it needs."""
    record = step.record
    if isinstance(record, Fuse):
        fused = values.pop(record.fused)
        (inner_low, inner_extent), (outer_low, _) = step.first, step.second
        divisor = inner_extent
        if not simplify.at_most(constant(1, Int32), inner_extent):
            divisor = fn.max(inner_extent, 1)  # in an iteration the extent is positive
        values[record.inner] = simplify(fused % divisor + inner_low)
        values[record.outer] = simplify(fused / divisor + outer_low)
        return None
    low, extent = step.first
    factor = step.second[1]
    outer, inner = values.pop(record.outer), values.pop(record.inner)
    base = outer * factor
    within = base + inner < extent
    if tail_of_writes(step.tail) is Tail.SHIFT_INWARDS:
        # What lies before the tile's own place has been visited by the tile before it.
        within = base - inner <= extent - factor
        base = where_kept(step, base, fn.min(base, extent - factor))
    values[record.old] = simplify(base + inner + low)
    if step.tail in GUARDED:
        condition = simplify(within if step.dropped is None else step.dropped | within)
        if not isinstance(condition, Const):
            return Guard(step.dimension, condition)
    return None


def box_of(names: tuple[str, ...], box: Box) -> dict[str, Interval]:
    """A box as a range for each named dimension."""
    return dict(zip(names, box, strict=True))


def loop_ranges(loops: tuple[LoopVar, ...], simplify: Simplifier) -> dict[str, Interval]:
    """The range of each loop variable while all of ``loops`` run, outer ones widening inner."""
    ranges: dict[str, Interval] = {}
    for loop in loops:
        analysis = Ranges(simplify, dict(ranges))
        low, high = analysis.least(loop.min), analysis.most(loop.max)
        ranges[loop.var.name] = Interval(low, high)
    return ranges
