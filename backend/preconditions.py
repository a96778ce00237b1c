"""The conditions of a verified schedule on the sizes of a call, checked before the call."""

from __future__ import annotations

from collections.abc import Mapping

from spaces.backend.arguments import (
    ArgumentError,
    Arguments,
    Array,
    Scalars,
    Sizes,
    bind,
    whole_numbers,
)
from spaces.backend.ir.program import SizeCheck
from spaces.constraints.legality.preconditions import Precondition, size_preconditions, unmet
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.model.expressions.rewrite import variables


class SizeError(ArgumentError):
    """The schedule does not work for the sizes of the buffers."""


def check_sizes(preconditions: tuple[Precondition, ...], arguments: Arguments) -> None:
    """Refuses a call if the schedule is not legal for its sizes.

    Raises:
        SizeError: a precondition does not hold; the message names all that do not hold.
    """
    values = {**arguments.sizes(), **whole_numbers(arguments.scalars)}
    refusals = [precondition.refusal(values) for precondition in unmet(preconditions, values)]
    if refusals:
        raise SizeError("\n".join(refusals) + _as_estimated(arguments))


def check_run(
    schedule: CheckedSchedule,
    inputs: Mapping[str, Array],
    params: Scalars | None = None,
    sizes: Sizes | None = None,
) -> None:
    """Refuses arguments that a run of a verified schedule would refuse, before anything is
    compiled.

    Raises:
        ArgumentError: the arguments do not fit the pipeline.
        SizeError: they do not fit the schedule.
    """
    arguments = bind(schedule.pipeline, inputs, params, sizes)
    check_sizes(size_preconditions(schedule), arguments)


def size_error(check: SizeCheck, arguments: Arguments) -> SizeError:
    """The error for a size check that does not hold, with the sizes that the check names."""
    values = {**arguments.sizes(), **arguments.scalars}
    names = variables(check.condition)
    shown = ", ".join(f"{name} is {values[name]}" for name in names if name in values)
    needs = f" This needs {check.condition}, but {shown}." if shown else ""
    return SizeError(f"{check.message}{needs}{_as_estimated(arguments)}")


def _as_estimated(arguments: Arguments) -> str:
    """A sentence on the outputs whose size the call does not give."""
    if not arguments.estimated:
        return ""
    shown = ", ".join(f"{name} is {list(arguments.ranges[name])}" for name in arguments.estimated)
    return f" The call gives no sizes=, so those estimated count: {shown}."
