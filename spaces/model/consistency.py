"""Whether a Pipeline record that was not built by the definition language hangs together."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.model.pipeline import Function, Pipeline
from spaces.model.types import Type


def pipeline_problems(pipeline: Pipeline) -> list[str]:
    """What contradicts itself in ``pipeline``, one sentence each; empty for a sound one."""
    return list(_problems(pipeline))


def _problems(pipeline: Pipeline) -> Iterator[str]:
    signatures: dict[str, tuple[Type, int]] = {}
    for image in pipeline.images:
        signatures[image.name] = (image.type, image.dimensions)
    names = [
        *(f.name for f in pipeline.functions),
        *(i.name for i in pipeline.images),
        *(s.name for s in pipeline.scalars),
    ]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield f"The name {name!r} is used {names.count(name)} times."
    for function in pipeline.functions:
        # A Func may read itself in its updates.
        signatures[function.name] = (function.type, len(function.args))
        yield from _function_problems(function, signatures)
    computed = {f.name for f in pipeline.functions}
    if not pipeline.outputs:
        yield "There is no output."
    for output in pipeline.outputs:
        if output not in computed:
            yield f"The output {output!r} is not a Func of the pipeline."
    for estimate in pipeline.estimates:
        known = signatures.get(estimate.buffer)
        if known is None or known[1] != len(estimate.ranges):
            yield f"The estimate of {estimate.buffer!r} does not fit a buffer of the pipeline."


def _function_problems(
    function: Function, signatures: dict[str, tuple[Type, int]]
) -> Iterator[str]:
    name = function.name
    if not function.stages:
        yield f"Func {name} has no definition."
    for index, stage in enumerate(function.stages):
        if len(stage.args) != len(function.args):
            yield f"Stage {index} of Func {name} has {len(stage.args)} coordinates."
        if stage.value.type != function.type:
            yield f"Stage {index} of Func {name} gives {stage.value.type}, not {function.type}."
        if index == 0 and stage.dimensions != function.args:
            yield f"The first definition of Func {name} is not at its Vars."
        for call in stage.calls:
            known = signatures.get(call.target)
            if known is None:
                yield (
                    f"Func {name} calls {call.target!r}, which is neither an image nor a Func "
                    "before it."
                )
            elif known != (call.type, len(call.args)):
                yield f"Func {name} calls {call.target!r} with other dimensions or another type."
            elif call.target == name and index == 0:
                yield f"The pure definition of Func {name} calls {name} itself."
