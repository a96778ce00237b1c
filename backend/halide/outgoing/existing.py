"""The objects of a pipeline that is in Halide already, by their names in this library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import define, field

from spaces.backend.halide.expressions import peer_expressions
from spaces.backend.halide.file.contents import Contents
from spaces.backend.halide.incoming.program import HalideProgram
from spaces.backend.halide.incoming.roles import Roles
from spaces.backend.halide.incoming.serializing import parameters_of
from spaces.backend.halide.peer import hl
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import Call, Expr, Variable


@define
class ExistingObjects:
    """The Funcs of a ``halide.Pipeline``. Images are the Funcs that Halide makes of ImageParams.

    Attributes:
        pipeline: the pipeline as it has come in.
        funcs: the Funcs by their names here.
        images: the same of images.
        parameters: the ``halide.Parameter`` of each image and Param, by its name here.
        vars: the Vars of each Func.
        rvars: the RVars of each stage.
    """

    pipeline: Pipeline
    funcs: dict[str, Any]
    images: dict[str, Any]
    parameters: Mapping[str, Any]
    vars: dict[str, dict[str, Any]] = field(init=False, factory=dict)
    rvars: dict[tuple[str, int], dict[str, Any]] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        for function in self.pipeline.functions:
            func = self.funcs[function.name]
            self.vars[function.name] = dict(zip(function.args, func.args(), strict=True))
            for number, stage in enumerate(function.stages):
                made = func.rvars(number - 1) if number else ()
                names = (rvar.name for rvar in stage.rvars)
                self.rvars[function.name, number] = dict(zip(names, made, strict=True))

    def expressions(self, roots: Sequence[Expr], loops: Mapping[str, Any]) -> list[Any]:
        """Conditions over Params and sizes of images and outputs as Halide's expressions."""

        def variable(node: Variable) -> Any:
            name, *size = node.name.split(".")
            if name in self.parameters:
                return value_of_parameter(self.parameters[name], size)
            part, dimension = size
            owner = self.funcs[name].output_buffers()[0]
            return getattr(owner.dim(int(dimension)), part)()

        def call(node: Call, at: list[Any]) -> Any:
            raise TypeError(f"A condition reads no values, but {node} does.")

        return peer_expressions(roots, variable, call)


def existing_objects(pipeline: Any, contents: Contents, program: HalideProgram) -> ExistingObjects:
    """The objects of a ``halide.Pipeline``, which ``contents`` and ``program`` describe."""
    there = {func.name(): func for func in _funcs(pipeline)}
    functions = (function.name for function in program.pipeline.functions)
    funcs = {name: there[program.names.get(name, name)] for name in functions}
    image_funcs = Roles(contents).images
    theirs = {image: contents.funcs[place].name for place, image in image_funcs.items()}
    images = {}
    for image in program.pipeline.images:
        func = there.get(theirs.get(program.names.get(image.name, image.name), ""))
        if func is not None:
            images[image.name] = func
    parameters = parameters_of(pipeline)
    ours = {theirs: name for name, theirs in program.names.items()}
    named = {ours.get(name, name): one for name, one in parameters.items()}
    return ExistingObjects(program.pipeline, funcs, images, named)


def value_of_parameter(parameter: Any, size: Sequence[str]) -> Any:
    """Halide's expression of a Param, or of a ``size`` of an ImageParam, such as ("extent", "0").

    Halide's Python makes expressions only of its own Params, not of a ``halide.Parameter``. So the
    expression of a new Param travels to a file, and comes back with the given one in its place.
    """
    name, type = parameter.name(), parameter.type()
    if size:
        part, dimension = size
        image = hl.ImageParam(type, parameter.dimensions(), name)
        value = getattr(image.dim(int(dimension)), part)()
    else:
        value = hl.Param(type, name)
    carrier = hl.Func("carrier")
    carrier[()] = value
    sent = hl.serialize_pipeline(hl.Pipeline([carrier]))
    (found,) = hl.deserialize_pipeline(sent, {name: parameter}).outputs()
    return found.value()


def _funcs(pipeline: Any) -> Iterator[Any]:
    """All Funcs that the outputs need. Halide tells the end of the list by an error."""
    index = 0
    while True:
        try:
            func = pipeline.get_func(index)
        except hl.HalideError:
            return
        yield func
        index += 1
