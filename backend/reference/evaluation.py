"""The box of each Func, consumers first, and the values of each Func on its box, producers first.

If a box depends on data, the evaluation computes that data on the way. Then the box of a Func may
grow; the Func is evaluated again on the larger box, which costs only time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from attrs import define, field

from spaces.backend.arguments import ArgumentError, Arguments, Array, Scalars, Sizes, bind
from spaces.backend.reference.boxes import (
    ImageBoundsError,
    IntegerBox,
    Values,
    box_of,
    checked,
    covers,
    shape,
    union,
)
from spaces.backend.reference.formula import Environment, Formula, Read
from spaces.backend.reference.requirements import Requirements
from spaces.backend.reference.updates import Domain, OutgrownError, UpdateRun, where
from spaces.model.algorithm.foreign import ForeignArray, callable_of, foreign_code
from spaces.model.algorithm.pipeline import Function, Pipeline, Stage
from spaces.model.expressions.expr import Call, Expr, Variable, cast, walk
from spaces.model.expressions.types import Int32


def evaluate(
    pipeline: Pipeline,
    inputs: Mapping[str, Array],
    params: Scalars | None = None,
    sizes: Sizes | None = None,
) -> dict[str, Array]:
    """The values of each output by its name. A Tuple has an array for each component, by the names
    ``f.0``, ``f.1`` and so on.

    Args:
        pipeline: the algorithm.
        inputs: an array for each image, dimension 0 as its last axis.
        params: values of scalar parameters; those left out take their default.
        sizes: for each output the extent, or the (min, extent), of each dimension, innermost
            first. An output left out has the size that the pipeline says, or else its estimate. An
            image may be named too, to give its first coordinates.

    Raises:
        ArgumentError: the arguments do not fit the pipeline.
        ImageBoundsError: an image is read outside of its array.
        RequirementError: a condition that the algorithm requires does not hold.
    """
    arguments = bind(pipeline, inputs, params, sizes)
    with np.errstate(all="ignore"):
        return _Evaluation(pipeline, arguments).outputs()


@define
class _Evaluation:
    """The state of one evaluation."""

    pipeline: Pipeline
    arguments: Arguments
    _functions: dict[str, Function] = field(init=False)
    _images: dict[str, Values] = field(init=False)
    _constants: dict[str, Array] = field(init=False)
    _wanted: dict[str, IntegerBox] = field(init=False, factory=dict)
    _done: dict[str, Values] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self._functions = {f.name: f for f in self.pipeline.functions}
        self._images = {
            name: Values(
                tuple((low, low + extent - 1) for low, extent in self.arguments.ranges[name]),
                (array,),
            )
            for name, array in self.arguments.images.items()
        }
        self._constants = {
            name: np.asarray(value, np.int32) for name, value in self.arguments.sizes().items()
        }
        self._constants |= {
            s.name: np.asarray(self.arguments.scalars[s.name], s.type.dtype)
            for s in self.pipeline.scalars
        }

    def outputs(self) -> dict[str, Array]:
        """The values of each output on its ranges."""
        asked: dict[str, IntegerBox] = {}
        for name in self.pipeline.outputs:
            ranges = self.arguments.ranges[name]
            if all(extent for _, extent in ranges):
                asked[name] = tuple((low, low + extent - 1) for low, extent in ranges)
        self._wanted.update(asked)
        self._find_boxes()
        for function in self.pipeline.functions:
            if function.name in self._wanted:
                self._values(function.name, self._wanted[function.name])
        return {
            buffer: array
            for name in self.pipeline.outputs
            for buffer, array in self._output(self._functions[name], asked.get(name))
        }

    def _output(self, function: Function, box: IntegerBox | None) -> Iterator[tuple[str, Array]]:
        """The array of each component."""
        if box is None:
            shape = self.arguments.shape(function.name)
            for buffer, type in zip(function.buffers, function.types, strict=True):
                yield buffer, np.empty(shape, type.dtype)
            return
        values = self._done[function.name]
        crop = tuple(
            slice(low - first, high - first + 1)
            for (low, high), (first, _) in zip(box, values.box, strict=True)
        )
        for buffer, array in zip(function.buffers, values.arrays, strict=True):
            yield buffer, np.array(array[tuple(reversed(crop))])

    def _find_boxes(self) -> None:
        """Visits consumers first. Each consumer extends the boxes of the Funcs that it reads."""
        for function in reversed(self.pipeline.functions):
            if function.name not in self._wanted:
                continue
            box = self._touched_by_updates(function, self._wanted[function.name])
            self._wanted[function.name] = box
            for name, needed in self._reads(function, box).items():
                self._wanted[name] = union(self._wanted.get(name), needed)

    def _values(self, name: str, box: IntegerBox) -> Values:
        """The values of a Func on ``box`` or a larger box."""
        known = self._done.get(name)
        if known is not None:
            if covers(known.box, box):
                return known
            box = union(known.box, box)
        box = union(self._wanted.get(name), box)
        function = self._functions[name]
        while True:
            box = checked(name, self._touched_by_updates(function, box))
            for target, needed in self._reads(function, box).items():
                self._values(target, needed)
            try:
                self._done[name] = self._computed(function, box)
                return self._done[name]
            except OutgrownError as outgrown:
                box = union(box, outgrown.box)

    def _computed(self, function: Function, box: IntegerBox) -> Values:
        """The values of a Func on ``box`` after all of its stages."""
        if function.is_opaque:
            return self._called(function, box)
        pure, *updates = function.stages
        domain = self._domain(function, pure, box)
        read = partial(self._read, function.name, None)
        own = Values(box, tuple(np.zeros(shape(box), type.dtype) for type in function.types))
        if pure.predicates:
            UpdateRun(function, pure, domain, own, self._constants, read).run()
        else:
            self._fill(own, pure, {**self._constants, **next(domain.meshes())}, read)
        read = partial(self._read, function.name, own)
        for stage in updates:
            domain = self._domain(function, stage, box)
            UpdateRun(function, stage, domain, own, self._constants, read).run()
        return own

    def _called(self, function: Function, box: IntegerBox) -> Values:
        """The values on ``box`` that foreign code computes."""
        code = foreign_code(function.stages[0].values)
        assert code is not None
        call = callable_of(code.symbol)
        if call is None:
            raise ArgumentError(
                f"The C function {code.symbol} computes Func {function.name}, and the reference "
                "calls only Python: make a callable known by this symbol (know_callable)."
            )
        own = Values(box, tuple(np.zeros(shape(box), type.dtype) for type in function.types))
        given: list[ForeignArray | bool | int | float] = []
        for one in (*code.arguments, own):
            if isinstance(one, Expr):
                (value,) = Formula((one,)).values(self._constants, partial(self._read, "", None))
                given.append(value.item())
                continue
            values = (self._images.get(one) or self._done[one]) if isinstance(one, str) else one
            low = tuple(first for first, _ in values.box)
            given += [ForeignArray(array, low) for array in values.arrays]
        call(*given)
        return own

    def _fill(self, own: Values, pure: Stage, env: Environment, read: Read) -> None:
        """Sets each element to the value of a definition."""
        Requirements.of(*pure.values).check(env, read)
        found = Formula(pure.values).values(env, read)
        for array, value in zip(own.arrays, found, strict=True):
            array[...] = value

    def _read(
        self, reader: str, own: Values | None, call: Call, coordinates: Sequence[Array]
    ) -> Array:
        box = box_of(coordinates)
        if box is None:
            return np.empty(np.broadcast_shapes(*(c.shape for c in coordinates)), call.type.dtype)
        if call.target in self._images:
            self._check_image(reader, call.target, box)
            return self._images[call.target].at(coordinates)
        if call.target != reader:
            return self._values(call.target, box).at(coordinates, call.component)
        if own is None:
            raise ArgumentError(
                f"The reduction domain of an update of Func {reader} depends on {reader} itself."
            )
        if not covers(own.box, box):
            raise OutgrownError(box)
        return own.at(coordinates, call.component)

    def _check_image(self, reader: str, image: str, box: IntegerBox) -> None:
        given = self._images[image].box
        for d, ((low, high), (first, last)) in enumerate(zip(box, given, strict=True)):
            if low < first or high > last:
                raise ImageBoundsError(
                    f"Func {reader} reads image {image} at {low} .. {high} in dimension {d}, "
                    f"but the array given has only {_shown(first, last)} there; pass a larger "
                    "image, ask for a smaller output, or add a boundary condition."
                )

    def _reads(self, function: Function, box: IntegerBox) -> dict[str, IntegerBox]:
        """The box that ``function`` on ``box`` reads of each other Func; images are checked."""
        needed: dict[str, IntegerBox] = {}
        for stage in function.stages:
            domain = self._domain(function, stage, box)
            for level in _nesting(stage, function.name):
                for inner in _calls_in(*(a for call in level for a in call.args)):
                    # A domain without points needs nothing.
                    if inner.target in self._functions and inner.target in needed:
                        self._values(inner.target, needed[inner.target])
                for call, found in self._boxes(function.name, stage, domain, level).items():
                    if call.target != function.name:
                        needed[call.target] = union(needed.get(call.target), found)
        for image in self._images:
            if image in needed:
                self._check_image(function.name, image, needed.pop(image))
        return needed

    def _boxes(
        self, reader: str, stage: Stage, domain: Domain, calls: Sequence[Call]
    ) -> dict[Call, IntegerBox]:
        """The box of coordinates of each call over a whole domain. Leaves out points that
        predicates exclude, if this is known without reading any value.
        """
        plain = [p for p in stage.predicates if not p.loads]
        formula = Formula(tuple(a for call in calls for a in call.args))
        read = partial(self._read, reader, None)
        found: dict[Call, IntegerBox] = {}
        for whole in domain.meshes():
            points = where(plain, whole, self._constants, read)
            if points is None:
                continue
            values = iter(formula.values({**self._constants, **points}, read))
            for call in calls:
                box = box_of([next(values) for _ in call.args])
                if box is not None:
                    found[call] = union(found.get(call), box)
        return found

    def _touched_by_updates(self, function: Function, box: IntegerBox) -> IntegerBox:
        """``box``, extended by all elements of the Func that its update stages touch."""
        for _ in range(1 + len(function.stages) * (1 + len(box))):
            grown = box
            for stage in function.stages[1:]:
                places = tuple(cast(Int32, a) for a in stage.args)
                left = Call(function.types[0], function.name, places)
                own = [c for c in (left, *stage.calls) if c.target == function.name]
                plain = [c for c in own if not _reads_func(function.name, *c.args)]
                domain = self._domain(function, stage, box)
                for touched in self._boxes(function.name, stage, domain, plain).values():
                    grown = checked(function.name, union(grown, touched))
            if grown == box:
                return box
            box = grown
        raise ArgumentError(
            f"The updates of Func {function.name} read more and more of {function.name}; "
            "it may read itself only with the same pure Vars in the same places."
        )

    def _domain(self, function: Function, stage: Stage, box: IntegerBox) -> Domain:
        """The points over which a stage runs to compute its Func on ``box``."""
        pure = tuple(
            (name, low, high)
            for arg, name, (low, high) in zip(stage.args, function.args, box, strict=True)
            if isinstance(arg, Variable) and arg.name == name
        )
        bounds = Formula(tuple(e for r in stage.rvars for e in (r.min, r.extent)))
        limits = bounds.values(self._constants, partial(self._read, function.name, None))
        reduction = tuple(
            (r.name, int(low), int(low) + int(extent) - 1)
            for r, low, extent in zip(stage.rvars, limits[::2], limits[1::2], strict=True)
        )
        return Domain(reduction, pure)


def _calls_in(*roots: Expr) -> list[Call]:
    return [n for n in walk(*roots) if isinstance(n, Call)]


def _reads_func(name: str, *roots: Expr) -> bool:
    return any(c.target == name for c in _calls_in(*roots))


def _nesting(stage: Stage, own: str) -> list[list[Call]]:
    """The calls of a stage by depth: those whose coordinates call nothing come first.

    Leaves out calls whose coordinates read the Func itself; the computation of the Func handles
    these.
    """
    depths: dict[Call, int] = {}
    bounds = [e for r in stage.rvars for e in (r.min, r.extent)]
    below: dict[Expr, int] = {}
    for node in walk(*stage.values, *stage.args, *bounds, *stage.predicates):
        below[node] = max((below[c] for c in node.children), default=0)
        if isinstance(node, Call):
            depths[node] = below[node]
            below[node] += 1
    calls = [c for c in depths if not _reads_func(own, *c.args)]
    return [
        [c for c in calls if depths[c] == level] for level in sorted({depths[c] for c in calls})
    ]


def _shown(first: int, last: int) -> str:
    return f"{first} .. {last}" if first <= last else "no elements"
