"""Checks that a compiler gets a verified schedule for a device of its kind."""

from __future__ import annotations

from spaces.constraints.devices.device import CpuDevice, GpuDevice
from spaces.constraints.legality.verdict import CheckedSchedule, Illegal
from spaces.model.articles import shown_kind
from spaces.model.schedules.schedule import Schedule


def require_verified(
    function: str, verdict: object, kind: type[CpuDevice | GpuDevice]
) -> CheckedSchedule:
    """Returns ``verdict`` if ``function`` can compile it for a device of ``kind``.

    Raises:
        TypeError: ``verdict`` is not a verdict.
        ValueError: ``verdict`` finds the schedule illegal, or is about a device of another kind.
    """
    example = "cpu" if kind is CpuDevice else "sm_80"
    if isinstance(verdict, Schedule):
        raise TypeError(
            f"{function} compiles verified schedules. This one is not verified yet; verify it "
            f'first: spaces.verify(pipeline, schedule, spaces.device("{example}")).'
        )
    if isinstance(verdict, Illegal):
        raise ValueError(f"{function} does not compile this schedule: it is not legal.\n{verdict}")
    if not isinstance(verdict, CheckedSchedule):
        raise TypeError(f"{function} takes what spaces.verify returns, not {shown_kind(verdict)}.")
    if not isinstance(verdict.device, kind):
        raise ValueError(
            f"{function} is given a schedule that was verified for {verdict.device.name}; verify "
            f"it for {'a CPU' if kind is CpuDevice else 'a GPU'}."
        )
    return verdict
