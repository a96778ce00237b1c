"""What a search decides in one way for CPUs and in another way for GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from spaces.constraints.devices.device import Device, GpuDevice
from spaces.enumerate.search.stagewise.cpu_policy import CpuPolicy
from spaces.enumerate.search.stagewise.gpu_policy import GpuPolicy
from spaces.enumerate.search.stagewise.state import HalfDecided, OpenWay, PricedWay
from spaces.enumerate.space.frontier import ResidualPath
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.schedules.schedule import FuncSchedule, Schedule


class DevicePolicy(Protocol):
    """The part of a search that depends on the device.

    Attributes:
        quick_width: how many half-decided schedules a search keeps while it is quick.
        compared: the share of the compute levels of a Func that are compared by more than one way.
        doubts_repeats: whether a decision that recurs must cost about as much as before.
        edits_dear_funcs_first: whether edits of Funcs with a large share of the cost come first.
    """

    quick_width: ClassVar[int]
    compared: ClassVar[float]
    doubts_repeats: ClassVar[bool]
    edits_dear_funcs_first: ClassVar[bool]

    def keeps_more_at_end(self, pipeline: Pipeline) -> bool:
        """Whether a search keeps more states than one after the last Func, for rewrites."""
        ...

    def loses_nothing_inlined(
        self, state: HalfDecided, name: str, part: Pipeline, nests: Schedule
    ) -> bool:
        """Whether a Func whose values are each read once runs as well within its readers.

        Args:
            state: the state before the Func.
            name: the Func.
            part: the Funcs of the nests that read it.
            nests: their schedule.
        """
        ...

    def counted_entries(
        self, entries: Mapping[str, FuncSchedule], around: ResidualPath, function: Function
    ) -> Sequence[FuncSchedule]:
        """The entries whose numbers may be chosen together, as far as they are not too many.

        Args:
            entries: those of all decided Funcs.
            around: the loops around the Func decided last.
            function: this Func.
        """
        ...

    def choose_usual(self, way: OpenWay) -> OpenWay:
        """The way with the numbers by which it is compared."""
        ...

    def leave_out_far(self, priced: PricedWay) -> PricedWay:
        """The way without the choices that make its producers much larger."""
        ...

    def needs_verdict(self, way: OpenWay) -> bool:
        """Whether a way is often illegal on the device."""
        ...


def policy_of(device: Device) -> DevicePolicy:
    """The policy of a device."""
    return GpuPolicy() if isinstance(device, GpuDevice) else CpuPolicy()
