"""Rules about regions: every read and write lies inside its buffer.

Their formulas are over the sizes of outputs and images. The estimates of a pipeline decide them;
without estimates they become conditions on the sizes of a call.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from attrs import frozen

from spaces.constraints.rules.directive_text import bound_directive, split_directive
from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import listed
from spaces.constraints.rules.rule import Check, CheckValue, Quantity, check, nest_rule, refuse
from spaces.model.algorithm.pipeline import size_variable
from spaces.model.expressions.expr import Const, Expr, Op, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.interval import Box
from spaces.model.formulas.regions import UnboundedError
from spaces.model.nest.float_limits import float_limits
from spaces.model.nest.inward_shifts import InwardShift, inward_shifts
from spaces.model.nest.splits import resolved_tails, tail_of_writes
from spaces.model.schedules.domain_order import Fuse, Split, Tail

_ZERO = constant(0, Int32)


@nest_rule(
    "bounds.unbounded",
    "A schedule is illegal if it computes a Func that is read at coordinates without limits, and "
    "a pipeline is if it so reads an image, because bounds inference finds no finite region.",
    "Halide refuses unbounded reads [RK13 4.2].",
)
def unbounded(view: NestView, func: str) -> Iterator[Check]:
    """No checks: a schedule that breaks this rule has no loop nest; :func:`unbounded_check` reports
    it.
    """
    return iter(())


def unbounded_check(error: UnboundedError) -> Check:
    """The failed check for the ``error`` that building the loop nest raised."""
    return refuse(error.func, "{error}", error=str(error))


@nest_rule(
    "bounds.fused-extent",
    "A fused loop of more than 2147483647 iterations is illegal, because its variable is int32.",
    "Halide's loop variable silently overflows.",
    count=Quantity("iterations of the fused loop", "iterations"),
    most=Quantity("most iterations of a loop", "iterations"),
)
def fused_extent(view: NestView, func: str) -> Iterator[Check]:
    """One check for each fuse."""
    placement = view.placement(func)
    for stage, traversal in enumerate(placement.stages):
        for index, step in enumerate(traversal.steps):
            if not isinstance(step.record, Fuse):
                continue
            path = placement.path
            inner, outer = (view.largest(e, path) for _, e in (step.first, step.second))
            if isinstance(inner, Const) and inner.value == 1:
                continue
            # Not simplified: a simplifier would wrap a number that does not fit.
            count = Op(Int32, "mul", (inner, outer))
            yield check(
                func,
                count <= constant(Int32.max_value, Int32),
                "{directive} makes a loop of {count} iterations; its variable counts to {most}.",
                "Fuse shorter loops.",
                stage=stage,
                loop=step.record.fused,
                directive=partial(split_directive, view.records, func, stage, index),
                count=count,
                most=Int32.max_value,
            )


@nest_rule(
    "bounds.smaller-than-tile",
    "An output smaller than a tile that shifts inwards is illegal, because the shifted tile would "
    "begin before the output.",
    "Halide refuses the buffer when the pipeline runs.",
    factor=Quantity("factor of the split", "values"),
    size=Quantity("extent of the output along that dimension", "values"),
)
def smaller_than_tile(view: NestView, func: str) -> Iterator[Check]:
    """One check for each such split of an output."""
    if func not in view.nest.pipeline.outputs:
        return
    function = view.nest.pipeline.function(func)
    for shift in inward_shifts(function, view.nest.schedule.of(func)):
        size = size_variable(func, "extent", function.args.index(shift.dimension))
        yield check(
            func,
            size - shift.factor >= _ZERO,
            "{directive} splits {dimension} by {factor} and shifts the last tile inwards, which "
            "needs {func} to be at least {factor} wide along {dimension}; it is {size}.",
            "Split by at most {size}, or give the split the tail TailStrategy::GuardWithIf.",
            stage=shift.stage,
            loop=shift.dimension,
            directive=partial(_inward_split, view, func, shift),
            dimension=shift.dimension,
            factor=shift.factor,
            size=size,
        )


def _inward_split(view: NestView, func: str, shift: InwardShift) -> str:
    splits = view.nest.schedule.of(func).stages[shift.stage].splits
    index = next(
        i for i, r in enumerate(splits) if isinstance(r, Split) and r.old == shift.dimension
    )
    return split_directive(view.records, func, shift.stage, index)


@nest_rule(
    "bounds.output-overrun",
    "A schedule that computes values of an output outside its buffer is illegal, because the "
    "caller's memory ends there.",
    "Halide refuses the buffer when the pipeline runs.",
    excess=Quantity("number of values beyond that end of the output", "values"),
    reached=Quantity("farthest coordinate that the loops compute", "coordinate"),
    end=Quantity("first or last coordinate of the output", "coordinate"),
)
def output_overrun(view: NestView, func: str) -> Iterator[Check]:
    """One check for each dimension along which tails may reach over the end of an output."""
    if func not in view.nest.pipeline.outputs:
        return
    placement = view.placement(func)
    for over in _overruns(view, func, placement.storage.computed):
        dimension = placement.function.args[over.dimension]
        yield check(
            func,
            over.excess <= _ZERO,
            "{func} is computed {side} {dimension} = {reached}, which is {excess} {beyond}, {end}: "
            "{cause}.",
            loop=dimension,
            dimension=dimension,
            stage=0,
            **over.values,
            cause=partial(_cause, view, func, dimension),
        )


def _cause(view: NestView, func: str, dimension: str) -> str:
    """The cause of computing beyond an output: splits that compute whole tiles, or updates; and
    what to change.
    """
    found = [
        (split_directive(view.records, func, stage, index), split)
        for stage in range(len(view.nest.schedule.of(func).stages))
        for index, split in _whole_tiles(view, func, stage, dimension)
    ]
    entry = view.nest.schedule.of(func)
    given = [bound_directive(func, b) for b in entry.bounds if b.dimension == dimension]
    if given and not found:
        return f"{listed(given)} makes it so. Give an output that holds all of it"
    if not found:
        readers = view.nest.pipeline.consumers(func)
        causes = [f"{listed(readers)} read{'s' * (len(readers) == 1)} it there"] if readers else []
        if not view.nest.pipeline.function(func).is_pure:
            causes.append("its update stages write there")
        cause = " and ".join(causes) or "the loops around it run there"
        return f"{cause}. Give an output that holds all of it"
    names = listed(dict.fromkeys(name for name, _ in found))
    return (
        f"whole tiles are computed where the factor of {names} does not divide. Choose factors "
        f"that do{_divisors(view, func, dimension, found[0][1])}, or the tail "
        "TailStrategy::GuardWithIf"
    )


def _whole_tiles(
    view: NestView, func: str, stage: int, dimension: str
) -> Iterator[tuple[int, Split]]:
    """The splits of a stage along a dimension, with their numbers, whose last tile may reach beyond
    the loop's end.
    """
    function, order = view.nest.pipeline.function(func), view.nest.schedule.of(func).stages[stage]
    tails = resolved_tails(function.stages[stage], order, is_update=stage > 0)
    along, is_whole = {dimension}, True
    for index, (record, tail) in enumerate(zip(order.splits, tails, strict=True)):
        if along.isdisjoint(record.taken):
            continue
        if isinstance(record, Split):
            reached = tail_of_writes(tail)
            if reached is Tail.ROUND_UP or (reached is Tail.SHIFT_INWARDS and not is_whole):
                yield index, record
        along = along.difference(record.taken).union(record.made)
        is_whole = False


def _divisors(view: NestView, func: str, dimension: str, split: Split) -> str:
    """`` (32 and 64 divide 64)``: the nearest divisors of a whole dimension with an estimated
    extent.
    """
    d = view.nest.pipeline.function(func).args.index(dimension)
    extent = view.nest.pipeline.sizes().get(size_variable(func, "extent", d).name)
    if extent is None or split.old != dimension or not isinstance(split.factor, int):
        return ""
    divisors = [n for n in range(1, extent + 1) if extent % n == 0]
    below = [n for n in divisors if n < split.factor][-1:]
    near = (*below, *[n for n in divisors if n > split.factor][:1])
    verb = "divide" if len(near) > 1 else "divides"
    return f" ({' and '.join(map(str, near))} {verb} {extent})" if near else ""


@nest_rule(
    "bounds.image-overrun",
    "A schedule that reads an image outside its buffer is illegal, because the caller's memory "
    "ends there.",
    "Halide refuses the buffer when the pipeline runs.",
    excess=Quantity("number of values beyond that end of the image", "values"),
    reached=Quantity("farthest coordinate that is read", "coordinate"),
    end=Quantity("first or last coordinate of the image", "coordinate"),
    dimension=Quantity("dimension of the image, 0 for the innermost", "index"),
)
def image_overrun(view: NestView, func: str) -> Iterator[Check]:
    """One check for each side of each image, all with the first output."""
    if func != view.nest.pipeline.outputs[0]:
        return
    for image, box in view.nest.inputs.items():
        for over in _overruns(view, image, box):
            yield check(
                func,
                over.excess <= _ZERO,
                "Image {image} is read {side} coordinate {reached} in dimension {dimension}, which "
                "is {excess} {beyond}, {end} (by {readers}).",
                "Give a larger image, ask for less, read it through a boundary condition, or "
                "choose split factors that divide their loops.",
                loop=image,
                image=image,
                dimension=over.dimension,
                stage=0,
                **over.values,
                readers=listed(view.nest.pipeline.consumers(image)),
            )


@nest_rule(
    "bounds.floats",
    "A region that is computed from floats of a call is illegal where these are not numbers or "
    "too large, because their arithmetic then gives no limits.",
    "Halide leaves the conversion of such a float to an integer undefined.",
)
def floats(view: NestView, func: str) -> Iterator[Check]:
    """One check for each float, with the Func whose region depends on it; those of images are with
    the first output.
    """
    for condition in float_limits(view.nest, func):
        yield check(
            func,
            condition,
            "The region of {func} is computed from a float that is out of its limits: {condition}.",
            "Call the pipeline with other parameters.",
            condition=str(condition),
        )


@frozen
class _Overrun:
    """A side of a buffer over which a region may reach by ``excess`` values."""

    dimension: int
    excess: Expr
    reached: Expr
    end: Expr
    is_start: bool

    @property
    def values(self) -> dict[str, CheckValue]:
        """The values for messages."""
        return {
            "excess": self.excess,
            "reached": self.reached,
            "end": self.end,
            "side": "from" if self.is_start else "up to",
            "beyond": "before its first" if self.is_start else "beyond its last",
        }


def _overruns(view: NestView, buffer: str, box: Box) -> Iterator[_Overrun]:
    """The sides of a buffer over which ``box`` may reach, the beginning of a dimension first."""
    for d, interval in enumerate(box):
        first = size_variable(buffer, "min", d)
        last = first + size_variable(buffer, "extent", d) - 1
        if interval.min is not None and not view.nest.simplify.at_most(first, interval.min):
            yield _Overrun(d, view.simplify(first - interval.min), interval.min, first, True)
        if interval.max is not None and not view.nest.simplify.at_most(interval.max, last):
            yield _Overrun(d, view.simplify(interval.max - last), interval.max, last, False)


RULES = (unbounded, fused_extent, smaller_than_tile, output_overrun, image_overrun, floats)
