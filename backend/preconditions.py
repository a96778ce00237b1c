"""What a verified schedule asks of the sizes of a call, checked before the call."""

from __future__ import annotations

from collections.abc import Mapping

from backend.arguments import (
    ArgumentError,
    Arguments,
    Array,
    Scalars,
    Sizes,
    bind,
    whole_numbers,
)
from backend.ir.program import SizeCheck
from spaces.constraints.legality.preconditions import Precondition, size_preconditions, unmet
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.model.expressions.rewrite import variables


class SizeError(ArgumentError):
    """Buffers have sizes that the schedule cannot work on."""


def check_sizes(preconditions: tuple[Precondition, ...], arguments: Arguments) -> None:
    """Refuse a call under whose sizes the schedule is not legal.

    Raises:
        SizeError: a precondition does not hold; the message tells of all that do not.
    """
    values = {**arguments.sizes(), **whole_numbers(arguments.scalars)}
    refusals = [precondition.refusal(values) for precondition in unmet(preconditions, values)]
    if refusals:
        raise SizeError("\n".join(refusals))


def check_run(
    schedule: CheckedSchedule,
    inputs: Mapping[str, Array],
    params: Scalars | None = None,
    sizes: Sizes | None = None,
) -> None:
    """Refuse, before anything is compiled, what a run of a verified schedule would refuse.

    Raises:
        ArgumentError: the arguments do not fit the pipeline.
        SizeError: they do not fit the schedule.
    """
    arguments = bind(schedule.pipeline, inputs, params, sizes)
    check_sizes(size_preconditions(schedule), arguments)


def size_error(check: SizeCheck, arguments: Arguments) -> SizeError:
    """What to raise where a size check does not hold, with the sizes that it names."""
    values = {**arguments.sizes(), **arguments.scalars}
    names = variables(check.condition)
    shown = ", ".join(f"{name} is {values[name]}" for name in names if name in values)
    said = f"{check.message} Needed is {check.condition}, but {shown}."
    return SizeError(said)
