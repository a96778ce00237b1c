"""Pipelines of ours in Halide and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import halide as hl
from attrs import evolve

from spaces import (
    HalideProgram,
    Pipeline,
    Schedule,
    from_halide,
    read_hlpipe,
)
from spaces.backend.halide import bridge
from spaces.backend.halide.names import identifier
from spaces.model.algorithm.pipeline import Function
from spaces.model.expressions.definitions import RANDOM, REQUIRE, expanded
from spaces.model.expressions.expr import Call, Expr, Op, Text, Variable
from spaces.model.expressions.rewrite import rewrite


def there_and_back(pipeline: Pipeline, schedule: Schedule | None = None) -> HalideProgram:
    """The program that a pipeline is when it has been in Halide. It is the same live and from a
    file.
    """
    peer = bridge.build(pipeline, schedule)
    peer.algorithm.set_estimates()
    return live_and_filed(peer._built, pipeline.name)


def live_and_filed(theirs: Any, name: str) -> HalideProgram:
    """The program of Funcs of Halide. Asserts that their file holds the same one, but for what no
    file has: limits of images and Params; and their usual sizes and values, which are given.
    """
    live = from_halide(theirs, name=name)
    made = live.pipeline
    usual: dict[str, Any] = {one.buffer: one.ranges for one in made.estimates}
    usual |= {one.name: one.default for one in made.scalars if one.default is not None}
    filed = read_hlpipe(bytes(hl.serialize_pipeline(theirs)), name=name, estimates=usual)
    kept = {"promises": filed.pipeline.promises, "strides": filed.pipeline.strides}
    assert evolve(live, pipeline=evolve(made, **kept)) == filed
    return live


def as_halide_keeps_it(pipeline: Pipeline) -> Pipeline:
    """A pipeline with what changes on the way to Halide. Vars and images may have other names
    there, our random numbers travel as their definitions, words of ``require`` stay behind, and
    estimates have no order.
    """
    images = {image.name: identifier(image.name) for image in pipeline.images}
    functions = tuple(_renamed(function, images) for function in pipeline.functions)
    buffers = (*images, *pipeline.outputs)
    estimates = sorted(pipeline.estimates, key=lambda one: buffers.index(one.buffer))
    return evolve(
        pipeline,
        functions=functions,
        images=tuple(evolve(image, name=images[image.name]) for image in pipeline.images),
        estimates=tuple(evolve(e, buffer=images.get(e.buffer, e.buffer)) for e in estimates),
    )


def _renamed(function: Function, images: Mapping[str, str]) -> Function:
    vars = {name: identifier(name) for name in function.args}

    def change(node: Expr) -> Expr:
        match node:
            case Variable(name=name) if name in vars:
                return Variable(node.type, vars[name])
            case Variable(name=name) if name.partition(".")[0] in images:
                image, _, size = name.partition(".")
                return Variable(node.type, f"{images[image]}.{size}")
            case Call(target=name) if name in images:
                return Call(node.type, images[name], node.args)
            case Op(name=name, args=(condition, value, *parts)) if name == REQUIRE:
                shown = (part for part in parts if not isinstance(part, Text))
                return Op(node.type, name, (condition, value, *shown))
        return node

    stages = tuple(
        stage.mapped(lambda expr: rewrite(expanded(expr, RANDOM), change))
        for stage in function.stages
    )
    return evolve(function, args=tuple(vars.values()), stages=stages)
