"""Decisions about numbers: the factor of each split."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache, partial

from attrs import frozen

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.process.decision import DecisionOption
from spaces.enumerate.space.process.state import ProcessState
from spaces.model.algorithm.pipeline import Function
from spaces.model.schedules.domain_order import Split
from spaces.model.schedules.order_of import OrderOf, orders_of
from spaces.model.schedules.schedule import StageOf


def factor_menu(state: ProcessState, stage: StageOf, dimension: str) -> tuple[int, ...]:
    """The factors to choose from for a split along a dimension: small numbers, powers of two,
    multiples of a vector register, and the tile sizes of patterns, so that no narrower space has
    other ones. Divisors of the extent at the estimates belong to them, too, and what divides it
    into a few equal parts.
    """
    choices, extent = state.choices, state.sizes.extent(stage.func, dimension)
    found = _always(choices, state.device, state.function(stage.func))
    if extent is not None:
        found |= _divisors(extent)
        found |= {-(-extent // parts) for parts in range(2, choices.equal_parts + 1)}
    most = _largest(choices, extent)
    patterns = {*choices.row_tiles, *choices.tiles}
    return tuple(sorted({n for n in found if n <= most} | patterns))


def _largest(choices: Options, extent: int | None) -> int:
    """The largest factor but those of patterns: a tile may be larger than a small Func."""
    largest = choices.largest_factor
    return largest if extent is None else min(max(2 * extent, 64), largest)


def _always(choices: Options, device: Device, function: Function) -> set[int]:
    """The factors that do not depend on an extent, unless they are too large for it."""
    small = choices.small_factors
    found = {*range(1, small + 1), *range(4, 4 * small + 1, 4)}
    found |= {1 << power for power in range(1, choices.largest_factor.bit_length())}
    if isinstance(device, CpuDevice):
        natural = natural_lanes(device, function)
        found |= {natural * multiple for multiple in range(1, 9)}
    return found


def natural_lanes(device: CpuDevice, function: Function) -> int:
    """The lanes of a vector register for the widest element type of a Func."""
    bits = max(8, *(type.bits for type in function.types))
    return max(1, device.vector_bits // bits)


@lru_cache(maxsize=1024)
def _divisors(extent: int) -> frozenset[int]:
    """The divisors of an extent but 1."""
    small = [n for n in range(1, math.isqrt(extent) + 1) if extent % n == 0]
    return frozenset((*small, *(extent // n for n in small))) - {1}


@frozen
class FactorsTopic:
    """All numbers, in the order of Funcs and splits."""

    func: str = ""
    name: str = "factors"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        topics = [
            FactorTopic(place, number)
            for entry in reversed(state.entries)
            for place, order in orders_of(entry)
            for number, record in enumerate(order.splits)
            if isinstance(record, Split) and isinstance(record.factor, str)
        ]
        yield DecisionOption("numbers", {}, state.then(*topics))


@frozen
class FactorTopic:
    """The factor of one split.

    Attributes:
        place: the domain order.
        split: the place of the split in it.
    """

    place: OrderOf
    split: int

    @property
    def func(self) -> str:
        return self.place.func

    @property
    def name(self) -> str:
        return f"{self.place} factor {self.split}"

    def options(self, state: ProcessState) -> Iterator[DecisionOption]:
        func = self.func
        (entry,) = (entry for entry in state.entries if entry.name == func)
        record = self.place.order(entry).splits[self.split]
        origin = state.origins(self.place).taken[self.split]
        assert isinstance(record, Split)
        assert isinstance(record.factor, str)
        part = f"{self.place} factor {origin}"
        for number in state.menus[record.factor]:
            yield DecisionOption(
                f"{record.factor} = {number}",
                {part: number},
                state,
                change=partial(ProcessState.with_number, parameter=record.factor, number=number),
            )
