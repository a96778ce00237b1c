"""The values that a stage keeps in registers."""

from __future__ import annotations

from attrs import frozen

from spaces.constraints.devices.device import CpuDevice
from spaces.features.features import Features
from spaces.features.records import FuncFeatures, LoopFeatures, StageFeatures, volume
from spaces.model.formulas.symbolic import (
    SymbolicCondition,
    SymbolicNumber,
    ceil,
    maximum,
    minimum,
    where,
)
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import AUTO_STACK_BYTES

_REGISTERS, _WIDE_REGISTERS = 16, 32
"""The vector registers of a core, and those of a core with vectors of 512 bits."""

WRITTEN_OUT = 8
"""Compilers write out a loop of up to this many iterations if they know their number. A loop of
fewer iterations costs less to enter.
"""


@frozen
class Registers:
    """The vector registers of one core of a CPU."""

    device: CpuDevice

    @property
    def count(self) -> int:
        """How many vector registers there are."""
        return _WIDE_REGISTERS if self.device.vector_bits >= 512 else _REGISTERS

    @property
    def bytes(self) -> int:
        """How many bytes they hold together."""
        return self.count * self.device.vector_bits // 8

    def of(self, lanes: SymbolicNumber, bits: float) -> SymbolicNumber:
        """The number of vector registers for ``lanes`` values, at least one."""
        return maximum(1.0, ceil(lanes * (bits / self.device.vector_bits)))

    def passes(self, lanes: SymbolicNumber, bits: float) -> SymbolicNumber:
        """How often a unit computes to get ``lanes`` values, at least once."""
        return maximum(1.0, ceil(lanes * (bits / self.device.unit_bits)))

    def stored_shares(
        self, features: Features, func: FuncFeatures, stage: StageFeatures
    ) -> tuple[SymbolicNumber, SymbolicNumber]:
        """The share of evaluations that store their value, and the share that do so because there
        are too few registers. Those that add to a value load it first.

        A register keeps a sum in a loop over its terms, if each loop inside is written out, runs
        once, or goes over terms, too. If the sums need more registers than there are, the surplus
        is stored after each term. A stage that reads other elements of its own Func stores each
        value at once. So does a stage that computes several lines of a Func at a time. That is so
        if the storage of the Func lies outside the loops around it or is too large for the stack.
        Compilers don't know how far apart the lines are, so they may overlap.
        """
        work = stage.work
        if not all(a.in_place for a in work.accesses if a.buffer == stage.func):
            return 1, 0
        held = self.of_results(func, stage)
        is_private = (0 < func.store_depth == func.depth) & (
            func.allocation_bytes <= AUTO_STACK_BYTES
        )
        kept: SymbolicNumber = 1
        needed = held
        is_straight: SymbolicCondition = True
        for loop in reversed(stage.own):
            if loop.kind is LoopKind.PARALLEL:
                break
            if loop.kind is LoopKind.VECTORIZED:
                continue
            if work.written.isdisjoint(loop.dimensions):
                kept = kept * where(is_straight, loop.positive_trips, 1)
                needed = where(is_straight, held, needed)
            else:
                written_out = is_written_out(features, loop)
                held = held * where(written_out, loop.positive_trips, 1)
                if set(loop.dimensions) != {*features.along_rows(func)}:
                    written_out = written_out & is_private
                is_straight = is_straight & (written_out | (loop.trips == 1))
        free = self.count - self._operands(func, stage)
        sums = minimum(1, free / maximum(needed, 1))
        return 1 / kept, (1 - sums) * (1 - 1 / kept)

    def of_results(self, func: FuncFeatures, stage: StageFeatures) -> SymbolicNumber:
        """The registers for the results of one evaluation of all lanes."""
        moves = stage.work.written & set(stage.vector_dimensions)
        return self.of(stage.lanes if moves else 1, 8 * func.bytes)

    def _operands(self, func: FuncFeatures, stage: StageFeatures) -> SymbolicNumber:
        """The registers that hold operands of a term for all copies of an unrolled body. The buffer
        with most operands takes one register, which its values use in turn. All together take at
        most half of the registers: beyond that, compilers load operands again.
        """
        copied = [
            loop
            for loop in stage.own
            if loop.kind is LoopKind.UNROLLED and set(loop.dimensions).isdisjoint(stage.reduced)
        ]
        along = set(stage.vector_dimensions)
        total: SymbolicNumber = 0
        most: SymbolicNumber = 0
        for access in stage.work.accesses:
            if access.buffer != stage.func:
                moving = [v.positive_trips for v in copied if access.moved_by & set(v.dimensions)]
                lanes = stage.lanes if access.moved_by & along else 1
                values = volume(tuple(moving)) * self.of(lanes, 8 * func.bytes)
                total, most = total + values, maximum(most, values)
        return minimum(total - most + 1, self.count / 2)


def is_written_out(features: Features, loop: LoopFeatures) -> SymbolicCondition:
    """Whether the code has a copy of a loop's body for each iteration: an unrolled loop, and one of
    few iterations if compilers know their number.
    """
    if loop.kind.has_constant_extent:
        return True
    if loop.kind is not LoopKind.SERIAL or loop.key not in features.constant_loops:
        return False
    return loop.trips <= WRITTEN_OUT
