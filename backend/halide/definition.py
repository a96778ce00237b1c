"""A pipeline as Halide's objects: its Funcs, images and parameters, and their known sizes and
ranges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field

from spaces.backend.halide.errors import DirectiveError
from spaces.backend.halide.expressions import peer_expressions
from spaces.backend.halide.names import identifier
from spaces.backend.halide.peer import failing_as, hl, peer_type
from spaces.backend.halide.scalars import estimate_scalar, limit_scalar, peer_scalar, read_scalar
from spaces.model.algorithm.foreign import foreign_code
from spaces.model.algorithm.pipeline import Function, Pipeline, Stage
from spaces.model.algorithm.promises import Limit, limits
from spaces.model.expressions.expr import Call, Expr, Variable, cast
from spaces.model.expressions.types import Int32


@define
class PeerAlgorithm:
    """Halide's objects for a pipeline, by their names in this library.

    Raises:
        DirectiveError: Halide refuses a definition.
    """

    pipeline: Pipeline
    funcs: dict[str, Any] = field(init=False)
    images: dict[str, Any] = field(init=False)
    scalars: dict[str, Any] = field(init=False)
    vars: dict[str, dict[str, Any]] = field(init=False, factory=dict)
    rvars: dict[tuple[str, int], dict[str, Any]] = field(init=False, factory=dict)
    """For each stage the RVars of its RDom."""

    def __attrs_post_init__(self) -> None:
        self.funcs = {f.name: hl.Func(identifier(f.name)) for f in self.pipeline.functions}
        self.images = {
            i.name: hl.ImageParam(peer_type(i.type), i.dimensions, identifier(i.name))
            for i in self.pipeline.images
        }
        self.scalars = {s.name: peer_scalar(s) for s in self.pipeline.scalars}
        for function in self.pipeline.functions:
            with failing_as(DirectiveError, f"Halide refuses the definition of {function.name}"):
                for index, stage in enumerate(function.stages):
                    self._define(function, index, stage)
        self._constrain()

    def _constrain(self) -> None:
        """Tells Halide the known sizes, strides and ranges."""
        for strides in self.pipeline.strides:
            buffer = self._buffer_of(strides.buffer)
            for d, step in enumerate(strides.steps):
                if step is not None:
                    buffer.dim(d).set_stride(step)
        for limit in limits(self.pipeline.promises):  # the arguments are checked for the others
            self._limit(limit)

    def set_estimates(self) -> None:
        """Tells Halide the estimates of images and outputs; of parameters the default values."""
        for estimate in self.pipeline.estimates:
            of_buffer = [hl.Range(low, extent) for low, extent in estimate.ranges]
            buffer = self.images.get(estimate.buffer) or self.funcs[estimate.buffer]
            buffer.set_estimates(of_buffer)
        for scalar in self.pipeline.scalars:
            if scalar.default is not None:
                estimate_scalar(self.scalars[scalar.name], scalar.type, scalar.default)

    def _limit(self, limit: Limit) -> None:
        (value,) = self.expressions((limit.value,), {})
        if limit.name in self.scalars:
            low, high = limit.is_lower, limit.is_upper
            ends = (value if low else None, value if high else None)
            limit_scalar(self.scalars[limit.name], limit.value.type, *ends)
        elif limit.is_lower and limit.is_upper:  # Halide takes no inequalities of sizes
            buffer, part, dimension = limit.name.rsplit(".", 2)
            dim = self._buffer_of(buffer).dim(int(dimension))
            (dim.set_min if part == "min" else dim.set_extent)(value)

    def _buffer_of(self, name: str) -> Any:
        return self.images[name] if name in self.images else self.funcs[name].output_buffer()

    def _define(self, function: Function, index: int, stage: Stage) -> None:
        code = foreign_code(stage.values)
        if code is not None:
            given = (
                (self.images.get(one) or self.funcs[one])
                if isinstance(one, str)
                else self.expressions((one,), {})[0]
                for one in code.arguments
            )
            self.funcs[function.name].define_extern(
                code.symbol,
                [hl.ExternFuncArgument(one) for one in given],
                [peer_type(type) for type in function.types],
                [hl.Var(identifier(name)) for name in function.args],
                hl.NameMangling.C,
            )
            return
        coordinates = tuple(cast(Int32, a) for a in stage.args)
        vars = {name: hl.Var(identifier(name)) for name in function.args}
        rvars = self.rvars[function.name, index] = self._reduction(stage, vars)
        found = self.expressions((*stage.values, *coordinates), vars | rvars)
        values, indices = found[: len(stage.values)], found[len(stage.values) :]
        if not stage.rvars:  # there is no domain to restrict
            for test in self.expressions(stage.predicates, vars):
                values = [
                    hl.select(test, value, hl.undef(peer_type(type)))
                    for value, type in zip(values, function.types, strict=True)
                ]
        # A Var of the left side must be a Var object for Halide to see that it is pure.
        places = [
            vars[name] if isinstance(place, Variable) and place.name == name else at
            for name, place, at in zip(function.args, coordinates, indices, strict=True)
        ]
        self.funcs[function.name][tuple(places)] = values[0] if len(values) == 1 else tuple(values)

    def expressions(self, roots: Sequence[Expr], loops: Mapping[str, Any]) -> list[Any]:
        """Expressions as Halide's expressions; ``loops`` are the Vars and RVars."""

        def variable(node: Variable) -> Any:
            if node.name in loops:
                return hl.Expr(loops[node.name])
            if node.name in self.scalars:
                return read_scalar(self.scalars[node.name], node.type)
            buffer, part, dimension = node.name.rsplit(".", 2)
            owner = self.images.get(buffer) or self.funcs[buffer].output_buffers()[0]
            return getattr(owner.dim(int(dimension)), part)()

        def call(node: Call, at: list[Any]) -> Any:
            if node.target in self.images:
                return self.images[node.target][tuple(at)]
            read = self.funcs[node.target][tuple(at)]
            return hl.Expr(read if node.component is None else read[node.component])

        return peer_expressions(roots, variable, call)

    def _reduction(self, stage: Stage, vars: Mapping[str, Any]) -> dict[str, Any]:
        """The RVars of a stage by name, from a new RDom.

        Halide finds loops by name, so a level at ``r.x`` works for all stages with an RDom of that
        name.
        """
        if not stage.rvars:
            return {}
        bounds = self.expressions([e for r in stage.rvars for e in (r.min, r.extent)], {})
        name = identifier(stage.rvars[0].name.rsplit(".", 1)[0])
        domain = hl.RDom(list(zip(bounds[::2], bounds[1::2], strict=True)), name)
        rvars = {r.name: domain[i] for i, r in enumerate(stage.rvars)}
        for predicate in self.expressions(stage.predicates, {**vars, **rvars}):
            domain.where(predicate)
        return rvars
