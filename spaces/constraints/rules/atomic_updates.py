"""The rule about updates that change an element in one step."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.phrases import stage_name
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import VIOLATED, Check, own_rule
from spaces.model.schedules.accumulation import IN_ONE_STEP, accumulation

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
    function, entry = records.function(func), records.entry(func)
    for stage in entry.atomic:
        found = accumulation(function, stage) if stage < len(function.stages) else None
        small = [type for type in function.types if type.bits < _FEWEST_BITS]
        if found is not None and not found.operators:
            reason = f"but the values of {func} are compared, and change together"
        elif found is None or not set(found.operators) <= set(IN_ONE_STEP):
            reason = (
                f"but it is not {func}(...) = {func}(...) op ... with one of the operators "
                f"{', '.join(IN_ONE_STEP)}"
            )
        elif records.gpu is not None and small:
            reason = (
                f"but {func} has values of type {small[0]}, and kernels change words of 32 or 64 "
                "bits in one step"
            )
        else:
            continue
        yield Check(
            func,
            VIOLATED,
            "{stage_name}.atomic() changes each element in one step, {reason}.",
            "Leave atomic() out, and loops over RVars serial.",
            stage=stage,
            values={"stage_name": stage_name(func, stage), "reason": reason},
        )
