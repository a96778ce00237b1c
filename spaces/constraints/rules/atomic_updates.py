"""The rule about atomic updates, which change an element in one step."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import Check, own_rule, refuse
from spaces.model.algorithm.pipeline import Function
from spaces.model.schedules.reductions.accumulation import accumulation
from spaces.model.schedules.reductions.associative import IN_ONE_STEP


@own_rule(
    "race.atomic",
    "An `atomic` update is illegal unless each component accumulates by an operator whose "
    "operands may come in any order, because threads take turns in any order.",
    "Halide, Stage::atomic: it also refuses compared values unless the caller overrides its test; "
    "then it locks, for which it has no CUDA code.",
)
def atomic_update(records: Records, func: str) -> Iterator[Check]:
    """One check for each stage that cannot be atomic."""
    for stage in records.entry(func).atomic:
        reason = not_in_one_step(records.function(func), stage)
        if reason:
            yield refuse(
                func,
                "{stage_name}.atomic() changes each element in one step, {reason}.",
                _advice(records, func, stage),
                stage=stage,
                reason=reason,
            )


def not_in_one_step(function: Function, stage: int) -> str:
    """The reason why an update cannot change each element in one step; empty if it can."""
    func = function.name
    found = accumulation(function, stage) if stage < len(function.stages) else None
    if found is not None and not found.operators:
        if len(function.types) == 1:
            return f"but a value of {func} is compared with others, not combined with them"
        return (
            f"but the {len(function.types)} values of {func} change together, and each depends "
            "on all of them; no single step does that"
        )
    if found is None or not set(found.operators) <= set(IN_ONE_STEP):
        return (
            f"but it is not {func}(...) = {func}(...) op ... with one of the operators "
            f"{', '.join(IN_ONE_STEP)}"
        )
    return ""


def _advice(records: Records, func: str, stage: int) -> str:
    """The advice, with fields."""
    function = records.function(func)
    if stage < len(function.stages) and accumulation(function, stage) is not None:
        return (
            "Use {stage_name}.rfactor, which gives each part a place of its own so that loops "
            "over parts can run concurrently, and leave atomic() out."
        )
    return "Leave atomic() out, and loops over RVars serial."
