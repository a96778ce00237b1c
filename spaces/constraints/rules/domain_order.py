"""Rules about the domain order of one stage: its loops, their factors, tails and order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from spaces.constraints.dependences.hazards import racing_dimensions
from spaces.constraints.dependences.orders import OrderFault, OrderFaultKind
from spaces.constraints.rules.atomic_updates import not_in_one_step
from spaces.constraints.rules.directive_text import kind_directive, split_directive
from spaces.constraints.rules.meeting_iterations import MeetingIterations
from spaces.constraints.rules.phrases import listed, stage_name
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import Check, Quantity, check, own_rule, refuse
from spaces.model.algorithm.pipeline import Stage
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Bool, Int32
from spaces.model.nest.splits import (
    exact_loops,
    factor_expr,
    repeated_vars,
    resolved_tails,
    tail_of_writes,
)
from spaces.model.schedules.domain_order import LoopKind, Split, Tail, made_from
from spaces.model.suggestions import suggestion


def _faults(records: Records, func: str, kind: OrderFaultKind) -> Iterator[tuple[int, OrderFault]]:
    for index, (_, _, traced) in enumerate(records.stages(func)):
        for fault in traced.faults:
            if fault.kind == kind:
                yield index, fault


def _directive(records: Records, func: str, stage: int, fault: OrderFault) -> str:
    """The directive with a fault, as written."""
    if fault.record is not None:
        return split_directive(records, func, stage, fault.record)
    if records.entry(func).stages[stage].kind(fault.loop) is LoopKind.SERIAL:
        return f"A reorder or serial of {stage_name(func, stage)}"
    return kind_directive(records, func, stage, fault.loop)


@own_rule(
    "order.unknown-loop",
    "A directive that names a loop which the stage does not have at that point is illegal, "
    "because there is nothing to change.",
    "Halide's split, fuse and reorder refuse a Var that is not among the loops.",
)
def unknown_loop(records: Records, func: str) -> Iterator[Check]:
    """One check for each unknown loop name."""
    for index, fault in _faults(records, func, "unknown"):
        near = suggestion(fault.loop, fault.choices, most=3)
        became = f" ({fault.loop} has become {fault.became})" if fault.became else near
        yield refuse(
            func,
            "{directive} names {loop}, which is no loop of {stage_name} there{became}.",
            "The loops at that point are {legal}.",
            stage=index,
            loop=fault.loop,
            directive=_directive(records, func, index, fault),
            became=became,
            legal=listed(fault.choices),
        )


@own_rule(
    "order.duplicate-loop",
    "A directive that gives two loops of a stage one name, or names one loop twice, is illegal, "
    "because a name must mean one loop.",
    "Halide's split and fuse refuse a new Var that is already among the loops.",
)
def duplicate_loop(records: Records, func: str) -> Iterator[Check]:
    """One check for each name that two loops have, and for each loop that is named twice."""
    yield from _repeated_loop(records, func)
    for index, fault in _faults(records, func, "duplicate"):
        yield refuse(
            func,
            "{directive} uses the name {loop} for a second loop of {stage_name}.",
            "Choose a name other than {taken}.",
            stage=index,
            loop=fault.loop,
            directive=_directive(records, func, index, fault),
            taken=listed(fault.choices),
        )


def _repeated_loop(records: Records, func: str) -> Iterator[Check]:
    """One check for each loop that a fuse or the list of loops names twice."""
    for index, fault in _faults(records, func, "repeated"):
        in_list = fault.record is None
        yield refuse(
            func,
            "The order of the loops of {stage_name} names {loop} twice ({given}, outermost first)."
            if in_list
            else "{directive} names {loop} twice.",
            "Name each loop once in reorder."
            if in_list
            else "Fuse two different loops; the loops at that point are {legal}.",
            stage=index,
            loop=fault.loop,
            directive=_directive(records, func, index, fault),
            given=listed(records.entry(func).stages[index].names),
            legal=listed(fault.choices),
        )


@own_rule(
    "order.missing-loop",
    "A stage whose loops leave out a dimension is illegal, because part of its domain would not "
    "be computed.",
    "A domain order traverses the whole domain [RK13 3.2].",
)
def missing_loop(records: Records, func: str) -> Iterator[Check]:
    """One check for each loop that splits and fuses leave and the list of loops lacks."""
    for index, (_, order, traced) in enumerate(records.stages(func)):
        for fault in traced.faults:
            if fault.kind == "missing":
                yield refuse(
                    func,
                    "The loops of {stage_name} are {given}, outermost first; {loop} is not among "
                    "them, so part of the domain would not be visited.",
                    "Add {loop} where it should run; the loops to order are {legal}.",
                    stage=index,
                    loop=fault.loop,
                    given=listed(order.names),
                    legal=listed(fault.choices),
                )


_LARGEST_FACTOR = 2**31 - 1


@own_rule(
    "order.factor",
    "A split factor below 1 or above 2147483647 is illegal, because a loop needs an iteration and "
    "loop variables are int32.",
    "Halide refuses factors below 1 while lowering.",
    factor=Quantity("factor of the split", "iterations"),
)
def factor(records: Records, func: str) -> Iterator[Check]:
    """One check for each split."""
    for index, (_, order, _) in enumerate(records.stages(func)):
        for number, record in enumerate(order.splits):
            if isinstance(record, Split):
                yield check(
                    func,
                    factor_in_range(record.factor),
                    "{directive} splits loop {loop} by {factor}.",
                    "A factor is at least 1 and at most 2147483647.",
                    stage=index,
                    loop=record.old,
                    directive=partial(split_directive, records, func, index, number),
                    factor=record.factor,
                )


def factor_in_range(factor: int | str) -> Expr:
    """The condition that a factor, or the parameter of that name, is in range."""
    if isinstance(factor, int):
        return constant(1 <= factor <= _LARGEST_FACTOR, Bool)
    return factor_expr(factor) >= constant(1, Int32)


@own_rule(
    "order.partition-loop",
    "A `partition` directive that names a loop which the stage does not have is illegal, because "
    "there is nothing to partition.",
    "Halide's partition refuses a Var that is not among the loops.",
)
def partition_loop(records: Records, func: str) -> Iterator[Check]:
    """One check for each name that is not a final loop."""
    for index, (_, order, _) in enumerate(records.stages(func)):
        for one in order.partitions:
            if one.loop not in order.names:
                yield refuse(
                    func,
                    "{stage_name}.partition({loop}, Partition::{policy}) names {loop}, which is no "
                    "loop of {stage_name}.",
                    "Its loops are {legal}.",
                    stage=index,
                    loop=one.loop,
                    policy=one.policy.spelled,
                    legal=listed(order.names),
                )


_TWICE = "it would update values that must stay, or values twice"
_OVER_RVAR = ("runs over an RVar", _TWICE)
_SINGLE = ("runs over a loop of gpu_single_thread()", "all values would be computed again")
_REPEATED = (
    "runs over a Var in several coordinates of the write",
    "additional iterations would write beyond the region along another coordinate",
)
"""A loop that must not run additional iterations: its description, and the damage that they would
do.
"""


def legal_tails(stage: Stage, dimension: str, is_update: bool) -> tuple[Tail, ...]:
    """The tails that a split of a dimension of a stage may have."""
    reason = None
    if any(dimension == rvar.name for rvar in stage.rvars):
        reason = _OVER_RVAR
    elif dimension in repeated_vars(stage):
        reason = _REPEATED
    illegal = _illegal_tails(reason, False, is_update=is_update)
    return tuple(tail for tail in Tail if tail not in illegal)


@own_rule(
    "order.tail",
    "An unguarded tail is illegal over an RVar, over a Var in several coordinates of a write and "
    "over the loop of `gpu_single_thread`, `ShiftInwards` in an update, and `PredicateLoads` in a "
    "split of the inner loop of a split (of either loop if that split shifts inwards), because "
    "the stage would compute values that it must not compute, or compute them twice.",
    "Halide's split refuses these tails, except for the loops of gpu_single_thread() and for "
    "predicated loads in a split of a split; there its values are wrong.",
)
def tail(records: Records, func: str) -> Iterator[Check]:
    """One check for each tail that would apply an update at a wrong place, or twice."""
    for index, (stage, order, _) in enumerate(records.stages(func)):
        if not order.splits:
            continue
        inside = set[str]()
        tails = resolved_tails(stage, order, index > 0)
        for number, (record, exact) in enumerate(
            zip(order.splits, exact_loops(stage, order), strict=True)
        ):
            if not isinstance(record, Split):
                if inside & {record.inner, record.outer}:
                    inside.add(record.fused)
                continue
            is_inside = record.old in inside
            of_rvars = made_from((r.name for r in stage.rvars), order.splits[:number])
            inside.discard(record.old)
            shifts = tail_of_writes(tails[number]) is Tail.SHIFT_INWARDS
            inside |= {record.outer, record.inner} if is_inside or shifts else {record.inner}
            repeated = made_from(repeated_vars(stage), order.splits[:number])
            exact_reason = next(
                (
                    reason
                    for names, reason in ((of_rvars, _OVER_RVAR), (repeated, _REPEATED))
                    if record.old in names
                ),
                _SINGLE,
            )
            illegal = _illegal_tails(
                exact_reason if record.old in exact else None, is_inside, is_update=index > 0
            )
            if record.tail not in illegal:
                continue
            legal = tuple(t for t in Tail if t not in illegal)
            reason, effect = illegal[record.tail]
            yield refuse(
                func,
                "{directive} gives {stage_name} the tail {tail}, but {loop} {reason}: {effect}.",
                "Legal tails are {legal}.",
                stage=index,
                loop=record.old,
                directive=split_directive(records, func, index, number),
                tail=record.tail.spelled,
                reason=reason,
                effect=effect,
                legal=listed(tail.qualified for tail in legal),
            )


def _illegal_tails(
    exact_reason: tuple[str, str] | None, is_inside: bool, is_update: bool
) -> dict[Tail, tuple[str, str]]:
    """The illegal tails of a split, each with a description of the loop and of the damage."""
    if exact_reason is not None:
        guarded = (Tail.AUTO, Tail.GUARD_WITH_IF, Tail.PREDICATE)
        return {t: exact_reason for t in Tail if t not in guarded}
    found = {Tail.SHIFT_INWARDS: ("belongs to an update stage", _TWICE)} if is_update else {}
    if is_inside:
        stored = "whole tiles would be stored over the values of other tiles"
        found[Tail.PREDICATE_LOADS] = ("is made by a split", stored)
    return found


@own_rule(
    "order.reduction",
    "An order of loops that changes the order of dependent iterations is illegal unless the "
    "update's operator allows any order, because the result would change.",
    "Halide's reorder refuses to swap such RVars; its fuse does not, and gives wrong values.",
)
def reduction(records: Records, func: str) -> Iterator[Check]:
    """One check for each stage that would run its reduction in another order."""
    for index, (stage, order, traced) in enumerate(records.stages(func)):
        given = tuple(name for name in order.names if name in traced.sequence)
        fused = next((f for f in traced.faults if f.kind == "fuse-order"), None)
        wrong = traced.misplaced(given) if sorted(given) == sorted(traced.sequence) else None
        if fused is None and wrong is None:
            continue
        met = MeetingIterations.out_of_order(records, func, index, wrong)
        yield refuse(
            func,
            "{stage_name} computes `{value}`, whose result depends on the order of its iterations, "
            + (
                "and {where} runs them in another order."
                if fused is not None
                else "but its loops run them as {given}, outermost first."
            )
            + met.sentence,
            "Integer sums and products, min and max may run in any order; this one runs as "
            "{legal}, outermost first.",
            stage=index,
            loop=fused.loop if fused is not None else wrong[0] if wrong is not None else "",
            value=", ".join(map(str, stage.values)),
            where="" if fused is None else _directive(records, func, index, fused),
            given=listed(given),
            legal=listed(fused.choices if fused is not None else traced.sequence),
            **met.values,
        )


_AT_ONCE = {
    LoopKind.PARALLEL: "in parallel",
    LoopKind.VECTORIZED: "as vector lanes",
    LoopKind.GPU_BLOCK: "as GPU blocks",
    LoopKind.GPU_THREAD: "as GPU threads",
}


@own_rule(
    "race.update",
    "A parallel, vectorized or GPU loop is illegal if two of its iterations touch the same "
    "element of the updated Func, because one may read or overwrite the value of the other.",
    "Halide refuses a parallel or vectorized RVar unless it proves the absence of races [RK13 "
    "3.2].",
)
def update_race(records: Records, func: str) -> Iterator[Check]:
    """One check for each concurrent loop whose iterations depend on each other."""
    for index, (stage, order, traced) in enumerate(records.stages(func)):
        racing = racing_dimensions(records.function(func), index)
        if index in records.entry(func).atomic:
            continue
        for loop in order.loops:
            culprits = sorted(racing & traced.origins.get(loop.name, frozenset()))
            if loop.kind not in _AT_ONCE or not culprits:
                continue
            free = sorted(n for n, o in traced.origins.items() if not o & racing)
            steps = not not_in_one_step(records.function(func), index)
            met = MeetingIterations.along(records, func, index, culprits[0])
            yield refuse(
                func,
                "{directive} runs the iterations of loop {loop} of {stage_name} {at_once}, but for "
                "different values of {culprits} they may update the same element {func}({args})."
                + met.sentence,
                "Make {loop} serial or unrolled"
                + (", or let {stage_name} be atomic()" if steps else "")
                + "; loops whose iterations are independent: {legal}.",
                stage=index,
                loop=loop.name,
                directive=kind_directive(records, func, index, loop.name),
                at_once=_AT_ONCE[loop.kind],
                culprits=listed(culprits),
                args=", ".join(map(str, stage.args)),
                legal=listed(free),
                **met.values,
            )


RULES = (
    unknown_loop,
    duplicate_loop,
    missing_loop,
    factor,
    partition_loop,
    tail,
    reduction,
    update_race,
)
