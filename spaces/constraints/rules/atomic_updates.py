"""The rule about updates that change an element in one step."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.phrases import stage_name
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import VIOLATED, Check, own_rule
from spaces.model.schedules.accumulation import accumulation
from spaces.model.schedules.associative import IN_ONE_STEP

_FEWEST_BITS = 32
"""The shortest words that all GPUs compare and exchange in one step."""


@own_rule(
    "race.atomic",
    "What is changed in one step accumulates, each component by an operator whose order does not "
    "matter; on a GPU in values of 32 or 64 bits.",
    "Halide, Stage::atomic, which refuses compared values, too, and shorter words in CUDA.",
)
def atomic_update(records: Records, func: str) -> Iterator[Check]:
    """One check for each atomic stage that is none."""
    for stage in records.entry(func).atomic:
        reason = not_in_one_step(records, func, stage)
        if reason:
            yield Check(
                func,
                VIOLATED,
                "{stage_name}.atomic() changes each element in one step, {reason}.",
                "Leave atomic() out, and loops over RVars serial.",
                stage=stage,
                values={"stage_name": stage_name(func, stage), "reason": reason},
            )


def not_in_one_step(records: Records, func: str, stage: int) -> str:
    """Why an update cannot change each element in one step; empty where it can."""
    function = records.function(func)
    found = accumulation(function, stage) if stage < len(function.stages) else None
    small = [type for type in function.types if type.bits < _FEWEST_BITS]
    if found is not None and not found.operators:
        return f"but several values of {func} change together, or are compared"
    if found is None or not set(found.operators) <= set(IN_ONE_STEP):
        return (
            f"but it is not {func}(...) = {func}(...) op ... with one of the operators "
            f"{', '.join(IN_ONE_STEP)}"
        )
    if records.gpu is not None and small:
        return (
            f"but {func} has values of type {small[0]}, and kernels change words of 32 or 64 "
            "bits in one step"
        )
    return ""
