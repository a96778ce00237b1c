"""The input of rules about the loop nest: the nest and the device, with cached facts."""

from __future__ import annotations

from functools import cached_property
from typing import Self

from attrs import define

from spaces.constraints.devices.device import Device, GpuDevice
from spaces.constraints.rules.records import Records
from spaces.constraints.sizes.kernels import Kernel, kernels
from spaces.model.expressions.expr import Expr
from spaces.model.nest.allocation import Allocation
from spaces.model.nest.bounds import Bounds
from spaces.model.nest.largest import largest
from spaces.model.nest.placement import Placement
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.parameters import parameters


@define
class NestView:
    """The bounds of the loop nest of a schedule that satisfies all rules about records.

    ``parameters`` are the names that stand for factors in a family of schedules.
    """

    nest: Bounds
    device: Device
    parameters: frozenset[str]

    @classmethod
    def of(cls, bounds: Bounds, device: Device) -> Self:
        """The view of the bounds of a schedule."""
        return cls(bounds, device, frozenset(parameters(bounds.schedule)))

    @property
    def gpu(self) -> GpuDevice | None:
        """The device if it is a GPU, else None."""
        return self.device if isinstance(self.device, GpuDevice) else None

    @cached_property
    def kernels(self) -> dict[str, list[Kernel]]:
        """The kernels by the Func whose block loops they have."""
        found: dict[str, list[Kernel]] = {}
        for kernel in kernels(self.nest) if self.gpu is not None else ():
            found.setdefault(kernel.func, []).append(kernel)
        return found

    @cached_property
    def records(self) -> Records:
        """The input of rules about records."""
        return Records(self.nest.pipeline, self.nest.schedule, self.device)

    @property
    def allocations(self) -> dict[str, Allocation]:
        """The allocations, by Func."""
        return self.nest.allocations

    def placement(self, func: str) -> Placement:
        """The site, boxes and loops of a computed Func."""
        return self.nest.placements[func]

    def paths(self, func: str) -> tuple[tuple[LoopVar, ...], ...]:
        """For each stage of a Func all loops around it, outermost first."""
        placement = self.placement(func)
        return tuple((*placement.path, *stage.loops) for stage in placement.stages)

    def outside(self, func: str, stage: int, loop: LoopVar) -> tuple[LoopVar, ...]:
        """The loops of a stage's path that lie outside ``loop``."""
        path = self.paths(func)[stage]
        return path[: path.index(loop)]

    @cached_property
    def loop_variables(self) -> frozenset[str]:
        """The names of the variables of all loops."""
        return frozenset(
            loop.var.name
            for func in self.nest.placements
            for path in self.paths(func)
            for loop in path
        )

    def largest(self, expr: Expr, loops: tuple[LoopVar, ...]) -> Expr:
        """The largest value of ``expr`` while ``loops`` run; ``expr`` itself if none is found."""
        return largest(expr, loops, self.nest.simplify)

    def is_constant(self, expr: Expr) -> bool:
        """Whether ``expr`` depends on factors alone: no sizes, no loop variables."""
        return self.parameters.issuperset(expr.names)

    def simplify(self, expr: Expr) -> Expr:
        """An equal expression without terms that cancel."""
        return self.nest.simplify(expr)
