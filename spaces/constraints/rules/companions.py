"""Rules about Funcs that are computed with others: which can be, and in which loops."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.phrases import listed
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import VIOLATED, Check, call_rule
from spaces.model.calls import companion_call
from spaces.model.schedule import Companion
from spaces.model.text import format_call
from spaces.model.together import chain, companions, depends, groups, in_turn


def _check(func: str, one: Companion, reason: str, advice: str) -> Check:
    return Check(
        func,
        VIOLATED,
        "{directive} cannot fuse the loops of {func} with those of {other}: {reason}.",
        advice,
        loop=one.loop,
        values={
            "directive": f"{func}.{format_call(companion_call(one))}",
            "func": func,
            "other": one.func,
            "reason": reason,
        },
    )


@call_rule(
    "with.func",
    "A Func is computed with another one, not in a circle, and neither is inlined or has "
    "specializations.",
    "Halide's compute_with refuses others. It fuses updates too; here their pure stages are.",
)
def partner(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    one = records.entry(func).companion
    if one is None:
        return
    known = {f.name: f for f in records.pipeline.functions}
    pairs = companions(records.schedule)
    if one.func not in known:
        reason = f"there is no Func {one.func}"
    elif one.func == func:
        reason = "it is the same Func"
    elif records.is_inlined(func) or records.is_inlined(one.func):
        reason = f"{func if records.is_inlined(func) else one.func} is inlined and has no loops"
    elif chain(pairs, func)[-1] in pairs:
        reason = f"{listed(chain(pairs, func))} are computed with one another in a circle"
    elif records.entry(func).specializations or records.entry(one.func).specializations:
        special = func if records.entry(func).specializations else one.func
        reason = f"{special} has specializations"
    else:
        return
    yield _check(func, one, reason, "Compute it with a Func that has loops of its own.")


def _loops(records: Records, func: str, one: Companion) -> tuple[str, ...]:
    """The loops of a Func down to the one that is fused last; none where it is not there."""
    names = records.entry(func).stages[0].names
    return names[: names.index(one.loop) + 1] if one.loop in names else ()


@call_rule(
    "with.loops",
    "Funcs that are computed with each other have the same loops, of the same kinds and in the "
    "same order, down to the one named; of three in a chain no two have more.",
    "Halide's compute_with refuses others.",
)
def same_loops(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    one = records.entry(func).companion
    if one is None or one.func not in {f.name for f in records.pipeline.functions}:
        return
    mine, theirs = _loops(records, func, one), _loops(records, one.func, one)
    orders = [records.entry(name).stages[0] for name in (func, one.func)]
    further = records.entry(one.func).companion
    kinds = [[order.kind(n) for n in mine] for order in orders]
    outside = () if further is None else _loops(records, one.func, further)
    if further is not None and len(outside) < len(mine) and mine == theirs:
        reason = f"{one.func} is computed with {further.func} in {listed(outside)} only"
        yield _check(func, one, reason, f"Name {further.loop}, or a loop around it.")
        return
    if mine and mine == theirs and kinds[0] == kinds[1]:
        return
    reason = (
        f"the loops of {func} are {listed(orders[0].names)}, those of {one.func} "
        f"{listed(orders[1].names)}, outermost first"
    )
    if mine and mine == theirs:
        reason = f"their kinds are {listed(kinds[0])} and {listed(kinds[1])}"
    yield _check(func, one, reason, "Split, order and mark the loops of both alike.")


@call_rule(
    "with.level",
    "Funcs that are computed with each other have the same compute level, and no Func is computed "
    "at one of their fused loops but the last.",
    "Halide's compute_with refuses different levels. What is computed at a loop in between would "
    "stand between loops that are fused.",
)
def same_level(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    one = records.entry(func).companion
    if one is None or one.func not in {f.name for f in records.pipeline.functions}:
        return
    levels = [records.entry(name).compute for name in (func, one.func)]
    if levels[0] != levels[1]:
        reason = f"{func} is computed at {levels[0]} and {one.func} at {levels[1]}"
        yield _check(func, one, reason, "Compute both at the same level.")
        return
    outer = _loops(records, func, one)[:-1]
    inside = [
        entry.name
        for entry in records.schedule.funcs
        for level in (entry.compute, entry.store, entry.hoist)
        if level.func in (func, one.func) and level.loop in outer
    ]
    if inside:
        reason = f"{inside[0]} is computed or stored at a loop around {one.loop}"
        yield _check(func, one, reason, "Move it inside, or fuse fewer loops.")


@call_rule(
    "with.dependent",
    "Of Funcs that are computed with each other neither reads the other, nor stands another one "
    "computed there between them.",
    "Halide's compute_with refuses them: one would be read before it is there.",
)
def independent(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    one = records.entry(func).companion
    names = [f.name for f in records.pipeline.functions]
    if one is None or one.func not in names or one.func == func:
        return
    group = next((g for g in groups(records.schedule) if func in g), ())
    if not set(group) <= set(names):
        return
    for other in group:
        for reader, read in ((func, other), (other, func)):
            if depends(records.pipeline, reader, read):
                yield _check(func, one, f"{reader} reads {read}", "Choose a Func that it does not.")
                return
    if group and in_turn(records.pipeline, names, group) is None:
        reason = "what reads one of them is read by the other"
        yield _check(func, one, reason, "Choose a Func that it does not depend on.")


@call_rule(
    "with.gpu",
    "No Funcs are computed with each other in pipelines for a GPU.",
    "Kernels are not fused.",
)
def on_gpu(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    one = records.entry(func).companion
    if one is not None and records.gpu is not None:
        yield _check(func, one, "kernels are not fused", "Leave it out.")


RULES = (partner, same_loops, same_level, independent, on_gpu)
