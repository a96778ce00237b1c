"""The rule about updates that change an element in one step."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.phrases import stage_name
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import VIOLATED, Check, own_rule
from spaces.model.accumulation import IN_ONE_STEP, accumulation


@own_rule(
    "race.atomic",
    "What is changed in one step is one value, which accumulates by an operator whose order does "
    "not matter, on a CPU.",
    "Halide, Stage::atomic.",
)
def atomic_update(records: Records, func: str) -> Iterator[Check]:
    """One check for each atomic stage that is none."""
    function, entry = records.function(func), records.entry(func)
    for stage in entry.atomic:
        found = accumulation(function, stage) if stage < len(function.stages) else None
        if records.gpu is not None:
            reason = "but kernels change no element in one step; leave the reduction to the CPU"
        elif len(function.types) > 1:
            reason = f"but {func} has a Tuple of values, which cannot be changed together"
        elif found is None or not set(found.operators) <= set(IN_ONE_STEP) or stage == 0:
            reason = (
                f"but it is not {func}(...) = {func}(...) op ... with one of the operators "
                f"{', '.join(IN_ONE_STEP)}"
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
