"""What a verified schedule asks of the sizes of a call, checked before the call."""

from __future__ import annotations

from collections.abc import Mapping

from backend.arguments import ArgumentError, Arguments, Array, Scalars, Sizes, bind
from spaces.constraints.preconditions import Precondition, size_preconditions, unmet
from spaces.constraints.verdict import CheckedSchedule


class SizeError(ArgumentError):
    """Buffers have sizes that the schedule cannot work on."""


def preconditions_of(schedule: object) -> tuple[Precondition, ...]:
    """The preconditions of a schedule that ``verify`` returned; none for any other, of which only
    what compiled code checks itself is known.
    """
    return size_preconditions(schedule) if isinstance(schedule, CheckedSchedule) else ()


def check_sizes(preconditions: tuple[Precondition, ...], arguments: Arguments) -> None:
    """Refuse a call under whose sizes the schedule is not legal.

    Raises:
        SizeError: a precondition does not hold; the message tells of all that do not.
    """
    whole = {n: int(v) for n, v in arguments.scalars.items() if v == v and v == v // 1}
    values = {**arguments.sizes(), **whole}
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
    check_sizes(preconditions_of(schedule), arguments)
