"""A pipeline and a schedule built in Halide's own Python package, and run there.

>>> peer = build(pipeline, schedule)
>>> peer.realize({"input": image})["output"]

Arrays follow :mod:`backend.arguments`: dimension 0 is the last axis.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from backend.arguments import Arguments, Array, Scalars, Sizes, bind
from backend.buffers import empty_with_steps
from backend.halide.calls import halide_calls, loops_made
from backend.halide.errors import DirectiveError, LoweringError, RealizationError
from backend.halide.expressions import peer_expressions
from backend.halide.names import identifier
from backend.halide.peer import failing_as, hl, peer_type
from backend.halide.scalars import limit_scalar, peer_scalar, read_scalar, set_scalar
from spaces.model.algorithm.pipeline import Function, Pipeline, Stage
from spaces.model.algorithm.promises import Limit, limits
from spaces.model.expressions.expr import Call, Expr, Variable, cast
from spaces.model.expressions.types import Int32
from spaces.model.schedules.derivations import Derivation, RFactor, Wrap
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import Partition, PrefetchBound, Tail
from spaces.model.schedules.schedule import LoopAlign, Memory, Schedule, StageOf
from spaces.model.writing.calls import Argument
from spaces.model.writing.chain import StageCalls
from spaces.model.writing.vocabulary import (
    ALIGNMENTS,
    LEVEL_DIRECTIVES,
    MEMORIES,
    PARTITIONS,
    PREFETCHES,
    TAILS,
)

HOST = "host"
STRICT = "host-strict_float"
"""The host, with floating-point arithmetic as written: nothing reassociated or contracted."""

CUDA = "x86-64-linux-cuda-cuda_capability_80"
"""A target for reading what Halide lowers GPU schedules to; nothing can run on it here."""


def build(pipeline: Pipeline, schedule: Schedule | None = None) -> HalidePipeline:
    """The same pipeline in Halide, with the directives of ``schedule`` (the default if None).

    Raises:
        DirectiveError: Halide refuses a definition or a directive.
        ValueError: ``schedule`` is not one of this pipeline.
    """
    peer = HalidePipeline(pipeline)
    for stage_calls in halide_calls(pipeline, schedule or Schedule.default(pipeline)):
        peer.apply(stage_calls)
    return peer


@define
class HalidePipeline:
    """Halide's objects for a pipeline, by the names they have here."""

    pipeline: Pipeline
    funcs: dict[str, Any] = field(init=False)
    images: dict[str, Any] = field(init=False)
    scalars: dict[str, Any] = field(init=False)
    _rvars: dict[tuple[str, int], dict[str, Any]] = field(init=False, factory=dict)
    """For each stage its RVars, of an RDom or made of those by splitting and fusing."""
    _vars: dict[str, dict[str, Any]] = field(init=False, factory=dict)
    """The Vars of each Func that a directive has added."""
    _known: Pipeline = field(init=False)
    """The pipeline with the Funcs that directives so far have added."""
    _built: Any = field(init=False)
    _held: dict[str, Array] = field(init=False, factory=dict)
    """The images it reads, of which Halide keeps the address only."""

    def __attrs_post_init__(self) -> None:
        self._known = self.pipeline
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
        self._built = hl.Pipeline([self.funcs[name] for name in self.pipeline.outputs])

    def realize(
        self,
        inputs: Mapping[str, Array],
        params: Scalars | None = None,
        sizes: Sizes | None = None,
        target: str = HOST,
    ) -> dict[str, Array]:
        """Compile and run; arguments and result as of :func:`backend.reference.evaluate`.

        Raises:
            ArgumentError: the arguments do not fit the pipeline.
            LoweringError: Halide refuses the schedule.
            RealizationError: Halide refuses the arguments, for instance an image too small.
        """
        return self.prepare(inputs, params, sizes, target)()

    def prepare(
        self,
        inputs: Mapping[str, Array],
        params: Scalars | None = None,
        sizes: Sizes | None = None,
        target: str = HOST,
    ) -> Callable[[], dict[str, Array]]:
        """Compile, and take the arguments of :meth:`realize`; each call of what is returned runs
        once more, into the same arrays.

        Raises:
            ArgumentError: the arguments do not fit the pipeline.
            LoweringError: Halide refuses the schedule.
        """
        arguments = bind(self.pipeline, inputs, params, sizes)
        chosen = self.compile(target)
        outputs, self._held = self._arrays(arguments)
        for name, array in self._held.items():
            self.images[name].set(_buffer(array, arguments.ranges[name]))
        for scalar in self.pipeline.scalars:
            value = arguments.scalars[scalar.name]
            set_scalar(self.scalars[scalar.name], scalar.type, value)
        buffers = [_buffer(array, arguments.ranges[name]) for name, array in outputs.items()]

        def run() -> dict[str, Array]:
            with failing_as(RealizationError, f"Halide fails to run {self.pipeline.name}"):
                self._built.realize(buffers, chosen)
            return outputs

        return run

    def _arrays(self, arguments: Arguments) -> tuple[dict[str, Array], dict[str, Array]]:
        """New arrays for the outputs, and the images, in the strides that the pipeline says."""
        functions = [self.pipeline.function(name) for name in self.pipeline.outputs]
        outputs = {
            buffer: empty_with_steps(
                arguments.shape(buffer), type, self.pipeline.steps(buffer, len(function.args))
            )
            for function in functions
            for buffer, type in zip(function.buffers, function.types, strict=True)
        }
        images = {}
        for image in self.pipeline.images:
            given = arguments.images[image.name]
            steps = self.pipeline.steps(image.name, image.dimensions)
            images[image.name] = empty_with_steps(given.shape, image.type, steps)
            images[image.name][...] = given
        return outputs, images

    def _constrain(self) -> None:
        """Tell Halide of sizes, strides and ranges that are known."""
        for strides in self.pipeline.strides:
            buffer = self._buffer_of(strides.buffer)
            for d, step in enumerate(strides.steps):
                if step is not None:
                    buffer.dim(d).set_stride(step)
        for limit in limits(self.pipeline.promises):  # others are asked of the arguments
            self._limit(limit)

    def _limit(self, limit: Limit) -> None:
        (value,) = self._expressions((limit.value,), {})
        if limit.name in self.scalars:
            low, high = limit.is_lower, limit.is_upper
            ends = (value if low else None, value if high else None)
            limit_scalar(self.scalars[limit.name], limit.value.type, *ends)
        elif limit.is_lower and limit.is_upper:  # of sizes Halide takes no inequalities
            buffer, part, dimension = limit.name.rsplit(".", 2)
            dim = self._buffer_of(buffer).dim(int(dimension))
            (dim.set_min if part == "min" else dim.set_extent)(value)

    def _buffer_of(self, name: str) -> Any:
        return self.images[name] if name in self.images else self.funcs[name].output_buffer()

    def compile(self, target: str = HOST) -> Any:
        """Lower and generate machine code, once for a target, and return Halide's target.

        Raises:
            LoweringError: Halide refuses the schedule.
        """
        chosen = hl.Target(target)
        with failing_as(LoweringError, f"Halide refuses the schedule of {self.pipeline.name}"):
            self._built.compile_jit(chosen)
        return chosen

    def loop_nest(self) -> str:
        """What Halide's ``print_loop_nest`` prints.

        It writes to the standard error of the process, which is redirected meanwhile.

        Raises:
            LoweringError: Halide refuses the schedule.
        """
        with tempfile.TemporaryFile() as file:
            with (
                failing_as(LoweringError, f"Halide refuses the schedule of {self.pipeline.name}"),
                _standard_error_to(file.fileno()),
            ):
                self._built.print_loop_nest()
            file.seek(0)
            return file.read().decode()

    def lowered(self, target: str = HOST) -> str:
        """Halide's lowered statement for a target, a GPU that is not there included.

        Raises:
            LoweringError: Halide refuses the schedule.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "lowered.stmt"
            with failing_as(LoweringError, f"Halide refuses the schedule of {self.pipeline.name}"):
                arguments = self._built.infer_arguments()
                text = hl.StmtOutputFormat.Text
                self._built.compile_to_lowered_stmt(str(path), arguments, text, hl.Target(target))
            return path.read_text()

    def apply(self, stage_calls: StageCalls) -> None:
        """Put directives on one stage.

        Raises:
            DirectiveError: Halide refuses one.
        """
        name, index = stage_calls.func, stage_calls.stage
        func = self.images.get(name) or self.funcs[name]
        stage = func.update(index - 1) if index else func
        rvars = self._rvars.get((name, index), {})
        for call in stage_calls.calls:
            for new in loops_made(call, rvars):
                rvars.setdefault(new, hl.RVar(identifier(new)))
            loops = self._vars.get(name, {}) | rvars
            args = [self._argument(a, loops) for a in call.args]
            if call.name == "compute_with":
                args = [*self._beside(call.args), *args[2:]]
            if call.name == "prefetch":
                target = str(call.args[0])
                args[0] = self.images[target] if target in self.images else self.funcs[target]
            if call.name == "specialize_fail":
                args = list(call.args)
            elif call.name in ("never_partition", "always_partition"):
                args = [args]
            if call.name in LEVEL_DIRECTIVES:
                args = self._level(call.args)
            shown = f"{call.name}({', '.join(map(str, call.args))})"
            with failing_as(DirectiveError, f"Halide refuses {name}.{shown}"):
                if stage_calls.adds is not None and call is stage_calls.calls[-1]:
                    self._add(stage, stage_calls.adds, args)
                else:
                    made = getattr(stage, call.name)(*args)
            if call.name == "specialize":
                stage = made  # what follows is about the specialization

    def _argument(self, value: Argument, rvars: Mapping[str, Any]) -> Any:
        if isinstance(value, Expr):
            return self._expressions([value], {})[0]
        if isinstance(value, tuple):
            return [(_argument(loop, rvars), _argument(align, rvars)) for loop, align in value]
        return _argument(value, rvars)

    def _beside(self, args: Sequence[Argument]) -> list[Any]:
        """The stage that another one is computed with, and its loop."""
        other, loop = args[:2]
        assert isinstance(other, StageOf)
        func, name = self._level((other.func, loop))
        return [func.update(other.stage - 1) if other.stage else func, name]

    def _add(self, owner: Any, step: Derivation, loops: Sequence[Any]) -> None:
        """Let Halide add a Func, by a directive on ``owner``."""
        given = Schedule((), (*self._known.derivations, step))
        before, self._known = self._known, derived(self._known, given)
        is_refused = self._known is before
        source, name = self.funcs.get(step.func), step.name
        if isinstance(step, RFactor):
            added = owner.rfactor(list(zip(loops[::2], loops[1::2], strict=True)))
        else:
            unknown = [consumer for consumer in step.consumers if consumer not in self.funcs]
            if unknown:
                raise DirectiveError(f"There is no Func {unknown[0]!r} that could read {name}.")
            consumers = [self.funcs[consumer] for consumer in step.consumers]
            add = owner.in_ if isinstance(step, Wrap) else owner.clone_in
            added = add(consumers) if consumers else add()
        self.funcs[name] = added
        if is_refused:
            return
        if isinstance(step, RFactor):
            self._adopt_rvars(step.func, source, step.update)
        function = self._known.function(name)
        self._vars[name] = dict(zip(function.args, added.args(), strict=True))
        self._rvars[name, 0] = {}
        for update in range(len(function.stages) - 1):
            self._adopt_rvars(name, added, update)

    def _adopt_rvars(self, name: str, func: Any, update: int) -> None:
        """Take the RVars of an update as Halide has made them."""
        own = self._known.function(name).stages[update + 1].rvars
        made = dict(zip((r.name for r in own), func.rvars(update), strict=True))
        self._rvars[name, update + 1] = made

    def _level(self, args: tuple[Argument, ...]) -> list[Any]:
        func, loop = str(args[0]), str(args[1])
        if not func and not loop:
            return [hl.LoopLevel.inlined()]
        if func not in self.funcs:
            raise DirectiveError(f"There is no Func {func!r} to compute or store anything at.")
        stages = [rvars for (name, _), rvars in self._rvars.items() if name == func]
        rvar = next((rvars[loop] for rvars in stages if loop in rvars), None)
        var = self._vars.get(func, {}).get(loop)
        return [self.funcs[func], rvar or var or hl.Var(identifier(loop))]

    def _define(self, function: Function, index: int, stage: Stage) -> None:
        coordinates = tuple(cast(Int32, a) for a in stage.args)
        vars = {name: hl.Var(identifier(name)) for name in function.args}
        rvars = self._rvars[function.name, index] = self._reduction(stage, vars)
        found = self._expressions((*stage.values, *coordinates), vars | rvars)
        values, indices = found[: len(stage.values)], found[len(stage.values) :]
        if not stage.rvars:  # there is no domain to restrict
            for test in self._expressions(stage.predicates, vars):
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

    def _expressions(self, roots: Sequence[Expr], loops: Mapping[str, Any]) -> list[Any]:
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
        """The RVars of a stage by name, of an RDom of its own.

        Halide finds loops by name, so a level over ``r.x`` is one in all stages over such an RDom.
        """
        if not stage.rvars:
            return {}
        bounds = self._expressions([e for r in stage.rvars for e in (r.min, r.extent)], {})
        name = identifier(stage.rvars[0].name.rsplit(".", 1)[0])
        domain = hl.RDom(list(zip(bounds[::2], bounds[1::2], strict=True)), name)
        rvars = {r.name: domain[i] for i, r in enumerate(stage.rvars)}
        for predicate in self._expressions(stage.predicates, {**vars, **rvars}):
            domain.where(predicate)
        return rvars


def _argument(value: Argument, rvars: Mapping[str, Any]) -> Any:
    if isinstance(value, Tail):
        return getattr(hl.TailStrategy, TAILS[value])
    if isinstance(value, LoopAlign):
        return getattr(hl.LoopAlignStrategy, ALIGNMENTS[value])
    if isinstance(value, PrefetchBound):
        return getattr(hl.PrefetchBoundStrategy, PREFETCHES[value])
    if isinstance(value, Partition):
        return getattr(hl.Partition, PARTITIONS[value])
    if isinstance(value, Memory):
        return getattr(hl.MemoryType, MEMORIES[value])
    if isinstance(value, int):
        return value
    return rvars.get(str(value)) or hl.Var(identifier(str(value)))


def _buffer(array: Array, ranges: tuple[tuple[int, int], ...]) -> Any:
    """Halide's view of an array whose coordinates begin at the mins of ``ranges``."""
    if array.dtype == np.uint64:
        array = array.view(np.ulonglong)  # the one of two equal types whose code Halide knows
    buffer = hl.Buffer(array)
    buffer.set_min([low for low, _ in ranges])
    return buffer


@contextmanager
def _standard_error_to(descriptor: int) -> Iterator[None]:
    saved = os.dup(2)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
