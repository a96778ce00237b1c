"""The part of a pipeline that a half-decided schedule decides, as a pipeline of its own."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from attrs import evolve

from spaces.enumerate.space.estimated_boxes import sizes_of
from spaces.model.algorithm.pipeline import Estimate, Function, Image, Pipeline
from spaces.model.expressions.expr import Call, Expr
from spaces.model.expressions.rewrite import rewrite


@lru_cache(maxsize=256)
def decided_part(pipeline: Pipeline, decided: frozenset[str]) -> Pipeline:
    """The pipeline of some Funcs, which reads the other Funcs as images."""
    if len(decided) == len(pipeline.functions):
        return pipeline
    own = _in_order(pipeline, decided)
    functions = tuple(_reading_images(function, decided) for function in own)
    read = {name for function in functions for name in function.callees}
    images = tuple(
        Image(buffer, type, len(f.args))
        for f in _in_order(pipeline, {n for f in own for n in f.callees} - decided)
        for buffer, type in zip(f.buffers, f.types, strict=True)
        if buffer in read
    )
    used = tuple(image for image in pipeline.images if image.name in read)
    outputs = tuple(name for name in pipeline.outputs if name in decided)
    return evolve(pipeline, functions=functions, images=(*used, *images), outputs=outputs)


def _in_order(pipeline: Pipeline, names: Collection[str]) -> list[Function]:
    """The Funcs with some names, producers first."""
    places = sorted(pipeline.places[name] for name in names if name in pipeline.places)
    return [pipeline.functions[place] for place in places]


def may_stand_alone(pipeline: Pipeline, output: str) -> bool:
    """Whether :func:`part_alone` can size a Func. The Func has an estimate, or the estimates of
    other Funcs say what they read of the Func.
    """
    is_estimated = any(one.buffer == output for one in pipeline.estimates)
    return is_estimated or sizes_of(pipeline).knows(pipeline.function(output))


@lru_cache(maxsize=256)
def part_alone(pipeline: Pipeline, names: frozenset[str], outputs: frozenset[str]) -> Pipeline:
    """The pipeline of some Funcs with outputs of its own, as large as they are in the whole
    pipeline at its estimates.
    """
    part = decided_part(pipeline, names)
    boxes = sizes_of(pipeline).boxes
    known = {estimate.buffer for estimate in pipeline.estimates}
    own = (
        Estimate(name, tuple(boxes[name][arg] for arg in pipeline.function(name).args))
        for name in sorted(outputs - known)
    )
    return evolve(
        part,
        outputs=tuple(function.name for function in _in_order(pipeline, outputs)),
        estimates=(*pipeline.estimates, *own),
        promises=(),
    )


def _reading_images(function: Function, decided: frozenset[str]) -> Function:
    """A Func that reads each component of an undecided Tuple as an image of its own."""

    def read(node: Expr) -> Expr:
        if isinstance(node, Call) and node.component is not None and node.target not in decided:
            return Call(node.type, node.buffer, node.args)
        return node

    if all(call.component is None for stage in function.stages for call in stage.calls):
        return function
    stages = (stage.mapped(lambda expr: rewrite(expr, read)) for stage in function.stages)
    return evolve(function, stages=tuple(stages))
