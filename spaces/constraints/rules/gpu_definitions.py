"""Rules about definitions that kernels cannot compute."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.devices.device import Device, GpuDevice
from spaces.constraints.rules.rule import Check, pipeline_rule, refuse
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.required import required


@pipeline_rule(
    "gpu.required-values",
    "A pipeline whose definitions use `require` is illegal on a GPU, because a kernel has no "
    "status to return.",
    "Halide's kernels stop the whole device.",
)
def required_values(subject: tuple[Pipeline, Device], name: str) -> Iterator[Check]:
    """One check for each condition that require() writes into the definitions of a Func."""
    pipeline, device = subject
    if not isinstance(device, GpuDevice):
        return
    for function in pipeline.functions:
        for index, stage in enumerate(function.stages):
            for one in required(*stage.values):
                yield refuse(
                    function.name,
                    "{stage_name} requires that {condition}, but kernels on {device} cannot stop.",
                    "Leave require() out, clamp the value, or require it of sizes and Params "
                    "alone.",
                    stage=index,
                    condition=str(one.condition),
                    device=device.name,
                )


RULES = (required_values,)
