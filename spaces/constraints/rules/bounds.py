"""Rules about regions: what is read and written lies inside the buffers there are.

Their formulas are over the sizes of outputs and images. They are decided at the estimates, where
a pipeline has some, and else are conditions on the sizes of a call.
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.nest_view import NestView
from spaces.constraints.rules.phrases import stage_name
from spaces.constraints.rules.rule import VIOLATED, Check, nest_rule
from spaces.model.expr import Expr, constant
from spaces.model.pipeline import size_variable
from spaces.model.placement import UnboundedError, inward_shifts
from spaces.model.regions import Box
from spaces.model.schedule import Tail
from spaces.model.splits import resolved_tails
from spaces.model.types import Int32

_ZERO = constant(0, Int32)


@nest_rule(
    "bounds.unbounded",
    "Funcs and images are read at coordinates that have limits.",
    "Bounds inference needs them [RK13 4.2]; Halide refuses unbounded reads.",
)
def unbounded(view: NestView, func: str) -> Iterator[Check]:
    """No checks: where it fails there is no loop nest, and :func:`unbounded_check` tells."""
    return iter(())


def unbounded_check(error: UnboundedError) -> Check:
    """The check that failed where building the loop nest raised ``error``."""
    return Check(error.func, VIOLATED, "{error}", values={"error": str(error)})


@nest_rule(
    "bounds.smaller-than-tile",
    "An output is at least as large as the factor of a split that shifts its last tile inwards.",
    "Halide refuses a smaller one when the pipeline runs.",
)
def smaller_than_tile(view: NestView, func: str) -> Iterator[Check]:
    """One check for each such split of an output."""
    if func not in view.nest.pipeline.outputs:
        return
    function = view.nest.pipeline.function(func)
    for shift in inward_shifts(function, view.nest.schedule.of(func)):
        size = size_variable(func, "extent", function.args.index(shift.dimension))
        yield Check(
            func,
            size - shift.factor >= _ZERO,
            "{stage_name} splits {dimension} by {factor} and shifts the last tile inwards, which "
            "needs an output at least {factor} wide along {dimension}; it is {size}.",
            "Split by at most {size}, or give the split the tail guard_with_if.",
            stage=shift.stage,
            loop=shift.dimension,
            values={
                "stage_name": stage_name(func, shift.stage),
                "dimension": shift.dimension,
                "factor": shift.factor,
                "size": size,
            },
        )


@nest_rule(
    "bounds.output-overrun",
    "Everything that is computed of an output lies inside the output.",
    "The caller's buffer ends there; Halide refuses the buffer when the pipeline runs.",
)
def output_overrun(view: NestView, func: str) -> Iterator[Check]:
    """One check for each dimension along which tails may reach over the end of an output."""
    if func not in view.nest.pipeline.outputs:
        return
    placement = view.placement(func)
    cause, remedy = _TAILS if _rounds_up(view, func) else _UPDATES
    for d, (low, high) in enumerate(_excess(view, func, placement.storage.computed)):
        for excess, side in ((low, "before its first"), (high, "beyond its last")):
            if excess is not None:
                yield Check(
                    func,
                    excess <= _ZERO,
                    "{func} is computed up to {excess} {side} {dimension}: {cause}.",
                    "{remedy}.",
                    loop=placement.function.args[d],
                    values={
                        "func": func,
                        "excess": excess,
                        "side": side,
                        "dimension": placement.function.args[d],
                        "cause": cause,
                        "remedy": remedy,
                    },
                )


_TAILS = (
    "a split by a factor that does not divide its loop computes whole tiles",
    "Choose factors that divide, or give the splits the tail guard_with_if",
)
_UPDATES = (
    "its update stages write there, whatever the size of the output",
    "Give an output that holds all that they write",
)


def _rounds_up(view: NestView, func: str) -> bool:
    """Whether a split of the Func computes whole tiles beyond the end of its loop."""
    stages = zip(
        view.nest.pipeline.function(func).stages, view.nest.schedule.of(func).stages, strict=True
    )
    return any(
        Tail.ROUND_UP in resolved_tails(stage, order, is_update=index > 0)
        for index, (stage, order) in enumerate(stages)
    )


@nest_rule(
    "bounds.image-overrun",
    "Everything that is read of an image lies inside the image.",
    "The caller's buffer ends there; Halide refuses the buffer when the pipeline runs.",
)
def image_overrun(view: NestView, func: str) -> Iterator[Check]:
    """One check for each side of each image, all asked with the first output."""
    if func != view.nest.pipeline.outputs[0]:
        return
    for image, box in view.nest.inputs.items():
        for d, (low, high) in enumerate(_excess(view, image, box)):
            for excess, side in ((low, "before its first"), (high, "beyond its last")):
                if excess is not None:
                    yield Check(
                        func,
                        excess <= _ZERO,
                        "Image {image} is read up to {excess} {side} coordinate in dimension "
                        "{dimension}.",
                        "Give a larger image, read it through a boundary condition, or choose "
                        "split factors that divide their loops.",
                        loop=image,
                        values={
                            "image": image,
                            "excess": excess,
                            "side": side,
                            "dimension": d,
                        },
                    )


def _excess(view: NestView, buffer: str, box: Box) -> list[tuple[Expr | None, Expr | None]]:
    """For each dimension how far ``box`` reaches over each end of a buffer; None where it
    certainly does not.
    """
    return [
        (
            _over(view, size_variable(buffer, "min", d), interval.min),
            _over(view, interval.max, _last(buffer, d)),
        )
        for d, interval in enumerate(box)
    ]


def _last(buffer: str, d: int) -> Expr:
    return size_variable(buffer, "min", d) + size_variable(buffer, "extent", d) - 1


def _over(view: NestView, larger: Expr | None, smaller: Expr | None) -> Expr | None:
    if larger is None or smaller is None:
        return None
    if view.nest.simplify.at_most(larger, smaller):
        return None
    return view.simplify(larger - smaller)


RULES = (unbounded, smaller_than_tile, output_overrun, image_overrun)
