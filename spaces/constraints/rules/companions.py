"""Rules about `compute_with`: which stages may share loops, and which loops."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.own_stages import why_not_in_step
from spaces.constraints.rules.phrases import listed, stage_name
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import VIOLATED, Check, call_rule
from spaces.model.nest.splits import loop_dimensions
from spaces.model.schedules.domain_order import DomainOrder
from spaces.model.schedules.fused_groups import (
    circle,
    companions,
    dependent,
    in_turn,
    leaders,
    turns,
)
from spaces.model.schedules.levels import LevelError
from spaces.model.schedules.schedule import Companion, StageOf
from spaces.model.writing.calls import call_of
from spaces.model.writing.text import format_call


def _check(func: str, one: Companion, reason: str, advice: str) -> Check:
    stage = StageOf(func, one.stage)
    return Check(
        func,
        VIOLATED,
        "{directive} cannot fuse the loops of {stage} with those of {other}: {reason}.",
        advice,
        stage=one.stage,
        loop=one.loop,
        values={
            "directive": f"{stage}.{format_call(call_of(one))}",
            "stage": str(stage),
            "other": str(one.other),
            "reason": reason,
        },
    )


@call_rule(
    "with.func",
    "A `compute_with` is illegal with the Func itself, with an inlined Func or in a circle, "
    "because two Funcs must have loops to share, one as the leader.",
    "Halide's compute_with refuses it.",
)
def partner(records: Records, func: str) -> Iterator[Check]:
    """At most one check a stage."""
    for one in records.entry(func).companions:
        reason = _no_partner(records, func, one.other)
        if not 0 <= one.stage < len(records.function(func).stages):
            reason = f"{func} has no update {one.stage - 1}"
        if reason:
            advice = "Compute it with a stage that has loops of its own."
            if inlined := _inlined(records, func, one.other.func):
                advice = f"Give {' and '.join(inlined)} a compute_root() or compute_at(...)."
            yield _check(func, one, reason, advice)


def _inlined(records: Records, *funcs: str) -> list[str]:
    known = {f.name for f in records.pipeline.functions}
    return [name for name in funcs if name in known and records.is_inlined(name)]


def _no_partner(records: Records, func: str, other: StageOf) -> str:
    known = {f.name: f for f in records.pipeline.functions}
    if other.func not in known:
        return f"there is no Func {other.func}"
    if other.func == func:
        return "it is the same Func"
    if not 0 <= other.stage < len(known[other.func].stages):
        return f"{other.func} has no update {other.stage - 1}"
    if inlined := _inlined(records, func, other.func):
        return f"{inlined[0]} is inlined and has no loops"
    if ring := circle(records.schedule, func):
        return f"{listed(ring)} are computed with each other in a circle"
    return ""


def _is_there(records: Records, stage: StageOf) -> bool:
    known = {f.name: len(f.stages) for f in records.pipeline.functions}
    return 0 <= stage.stage < known.get(stage.func, 0)


def _pairs(records: Records, func: str) -> Iterator[Companion]:
    """The `compute_with` directives of a Func whose partner stage exists."""
    for one in records.entry(func).companions:
        if _is_there(records, one.other) and _is_there(records, StageOf(func, one.stage)):
            yield one


def _order(records: Records, stage: StageOf) -> DomainOrder:
    return records.entry(stage.func).stages[stage.stage]


def _loops(records: Records, stage: StageOf, one: Companion) -> tuple[str, ...]:
    """The loops of a stage down to the innermost fused one; none if the stage lacks it."""
    names = _order(records, stage).names
    return names[: names.index(one.loop) + 1] if one.loop in names else ()


@call_rule(
    "with.loops",
    "A `compute_with` is illegal if the two stages differ in a loop from the outermost to the "
    "named one (in name, kind, order, or Var against RVar), because one loop must serve both.",
    "Halide's compute_with refuses it.",
)
def same_loops(records: Records, func: str) -> Iterator[Check]:
    """At most one check a stage."""
    for one in _pairs(records, func):
        stages = StageOf(func, one.stage), one.other
        mine, theirs = (_loops(records, stage, one) for stage in stages)
        if reason := _unlike(records, stages, mine, theirs):
            yield _check(func, one, reason, "Split, order and mark the loops of both alike.")


def _unlike(
    records: Records,
    stages: tuple[StageOf, StageOf],
    mine: tuple[str, ...],
    theirs: tuple[str, ...],
) -> str:
    orders = [_order(records, stage) for stage in stages]
    if not mine or mine != theirs:
        return (
            f"the loops of {stages[0]} are {listed(orders[0].names)}, those of {stages[1]} "
            f"{listed(orders[1].names)}, outermost first"
        )
    kinds = [[order.kind(n) for n in mine] for order in orders]
    if kinds[0] != kinds[1]:
        return f"their kinds are {listed(kinds[0])} and {listed(kinds[1])}"
    over = [_over_rvars(records, stage) for stage in stages]
    unlike = [name for name in mine if (name in over[0]) != (name in over[1])]
    return f"{unlike[0]} is a loop over RVars of one of them only" if unlike else ""


def _over_rvars(records: Records, stage: StageOf) -> frozenset[str]:
    """The loops of a stage over RVars; none if its splits are invalid."""
    definition, order, traced = records.stages(stage.func)[stage.stage]
    if traced.faults:
        return frozenset()
    rvars = {r.name for r in definition.rvars}
    walks = loop_dimensions(definition, order)
    return frozenset(loop for loop, names in walks.items() if not rvars.isdisjoint(names))


@call_rule(
    "with.level",
    "A `compute_with` of Funcs that have different compute levels is illegal, because the shared "
    "loops stand at one place.",
    "Halide's compute_with refuses it.",
)
def same_level(records: Records, func: str) -> Iterator[Check]:
    """At most one check a stage; none for inlined Funcs, which ``with.func`` refuses."""
    for one in _pairs(records, func):
        if _inlined(records, func, one.other.func):
            continue
        levels = [records.entry(name).compute for name in (func, one.other.func)]
        if levels[0] != levels[1]:
            reason = f"{func} is computed at {levels[0]} and {one.other.func} at {levels[1]}"
            yield _check(func, one, reason, "Compute both at the same level.")
        elif reason := _apart(records, func, one.other.func):
            yield _check(func, one, reason, "Compute both around that Func, or read both there.")


def _apart(records: Records, func: str, other: str) -> str:
    """The reason why two Funcs at the same compute level are computed in different loops; empty if
    they are not, or if another rule reports it.
    """
    try:
        paths = [records.levels.compute_path(name) for name in (func, other)]
    except LevelError:
        return ""
    if paths[0] == paths[1]:
        return ""
    first, second = (
        listed(dict.fromkeys(stage_name(*use) for use in records.levels.uses(name)))
        for name in (func, other)
    )
    return f"{func} is computed in the loops of {first}, and {other} in those of {second}"


def _group(records: Records, func: str) -> tuple[str, ...]:
    """The fused group of a Func; none if a member is missing or the group is a circle."""
    group = next((g for g in records.groups if func in g), ())
    names = {f.name for f in records.pipeline.functions}
    whole = set(group) <= names and not any(circle(records.schedule, name) for name in group)
    return group if whole else ()


@call_rule(
    "with.dependent",
    "A `compute_with` of two Funcs is illegal if one reads the other, directly or through other "
    "Funcs, because it would read values before they exist.",
    "Halide's compute_with refuses it.",
)
def independent(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    entry = records.entry(func)
    group = _group(records, func) if entry.companions else ()
    if not group:
        return
    one = entry.companions[0]
    if pair := dependent(records.pipeline, group):
        yield _check(func, one, f"{pair[0]} reads {pair[1]}", "Choose a Func that it does not.")
        return
    whole = {_group(records, name) for name in leaders(records.schedule)} - {()}
    if in_turn(records.pipeline.functions, whole) is None:
        reason = "what reads one of them is read by another"
        if in_turn(records.pipeline.functions, (group,)) is not None:
            reason = "others that are computed with each other read one and are read by another"
        yield _check(func, one, reason, "Choose a Func that it does not depend on.")


@call_rule(
    "with.order",
    "A `compute_with` is illegal if the shared loops force a stage to run before an earlier stage "
    "of its Func, because updates must follow in their order.",
    "Halide's compute_with refuses it.",
)
def in_order(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    entry = records.entry(func)
    group = _group(records, func) if entry.companions else ()
    if not group:
        return
    if not all(_is_there(records, stage) for stage in companions(records.schedule)):
        return
    if turns(records.schedule, group) is None:
        reason = f"the fused loops leave the stages of {listed(group)} no order"
        advice = "Compute earlier stages with earlier ones and later stages with later ones."
        yield _check(func, entry.companions[-1], reason, advice)


@call_rule(
    "with.stages",
    "A `compute_with` of two stages of one Func in the same shared loops is illegal if these "
    "loops are made or aligned differently, shift tiles, or run over an RVar that is not a "
    "coordinate of each access, because one iteration runs both stages and the later stage must "
    "find what the earlier one wrote.",
    "Halide does not check it.",
)
def own_stages(records: Records, func: str) -> Iterator[Check]:
    """At most one check for each two stages."""
    if len(records.entry(func).companions) < 2:
        return
    fused = records.levels.fused_groups
    mine = [one for one in _pairs(records, func) if StageOf(func, one.stage) in fused.depths]
    for number, one in enumerate(mine):
        for before in mine[:number]:
            earlier, later = StageOf(func, before.stage), StageOf(func, one.stage)
            shared = fused.shared(earlier, later)
            reason = shared and why_not_in_step(records, fused, earlier, later, shared)
            if reason:
                yield _check(func, one, reason, "Compute it with another stage, or with none.")


RULES = (partner, same_loops, same_level, independent, in_order, own_stages)
