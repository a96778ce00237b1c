"""Pipelines of ours in Halide and back."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from spaces import (
    HalideProgram,
    Pipeline,
    Schedule,
    from_halide,
)
from spaces.backend.halide import bridge
from spaces.backend.halide.names import identifier
from spaces.model.algorithm.pipeline import Function
from spaces.model.expressions.definitions import RANDOM, REQUIRE, expanded
from spaces.model.expressions.expr import Call, Expr, Op, Text, Variable
from spaces.model.expressions.rewrite import rewrite


def there_and_back(pipeline: Pipeline, schedule: Schedule | None = None) -> HalideProgram:
    """The program that a pipeline is when it has been in Halide."""
    peer = bridge.build(pipeline, schedule)
    peer.algorithm.set_estimates()
    return from_halide(peer._built, name=pipeline.name)


def as_halide_keeps_it(pipeline: Pipeline) -> Pipeline:
    """A pipeline with what changes on the way to Halide: Vars and images may have other names
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
