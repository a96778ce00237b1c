"""The schedules that are compiled: plain ones, and those that ``verify`` has judged."""

from __future__ import annotations

from spaces.constraints.devices import CpuDevice, GpuDevice
from spaces.constraints.given import check_given
from spaces.constraints.verdict import CheckedSchedule, Illegal, Verdict
from spaces.model.schedules.schedule import Schedule


def plain_schedule(
    function: str, schedule: Schedule | Verdict, kind: type[CpuDevice | GpuDevice]
) -> Schedule:
    """The schedule itself, which ``function`` is to compile for devices of ``kind``.

    Raises:
        TypeError: it is no schedule.
        ValueError: ``verify`` has found it illegal, or has judged it for a device of another kind.
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
    return schedule.schedule
