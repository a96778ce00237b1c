"""The schedules that are compiled: plain ones, and those that ``verify`` has judged."""

from __future__ import annotations

from attrs import evolve

from spaces.constraints.devices import CpuDevice, GpuDevice
from spaces.constraints.given import check_given
from spaces.constraints.verdict import CheckedSchedule, Illegal, Verdict
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule


def plain_schedule(
    function: str,
    pipeline: Pipeline,
    schedule: Schedule | Verdict,
    kind: type[CpuDevice | GpuDevice],
) -> Schedule:
    """The schedule itself, which ``function`` is to compile with ``pipeline`` for devices of
    ``kind``. What a pipeline estimates is no part of what is compiled.

    Raises:
        TypeError: it is no schedule.
        ValueError: ``verify`` has found it illegal, or has judged it for a device of another kind
            or for another pipeline.
    """
    if isinstance(schedule, Illegal):
        raise ValueError(f"The schedule is not legal, so that nothing is compiled.\n{schedule}")
    if not isinstance(schedule, CheckedSchedule):
        check_given(function, schedule=schedule)
        return schedule
    if not isinstance(schedule.device, kind):
        raise ValueError(
            f"{function} is given a schedule that was verified for {schedule.device.name}; verify "
            f"it for {'a CPU' if kind is CpuDevice else 'a GPU'}."
        )
    verified, given = schedule.pipeline, derived(pipeline, schedule.schedule)
    if verified is not given and evolve(verified, estimates=given.estimates) != given:
        raise ValueError(
            f"{function} is given pipeline {pipeline.name}, and a schedule that was verified for "
            f"another one ({verified.name}); verify it for the pipeline that is compiled."
        )
    return schedule.schedule
