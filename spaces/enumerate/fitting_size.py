"""Loops for outputs that their first pattern does not fit, so that every space has a simple legal
schedule if plain loops are legal.

Tiles shift inwards at the end of an output, so it must be as large as a tile; where updates follow,
whole tiles write beyond it. Small outputs get loops that no size limits: vectors or guarded tiles
where these are legal, and the plain nest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from attrs import evolve, frozen

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.enumerate.pattern_builder import Orders
from spaces.enumerate.process.decided_part import decided_part
from spaces.enumerate.sizes_of_space import FurtherSize, JudgedSizes
from spaces.enumerate.structure import Structure
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.nest.nest_memo import NestMemo
from spaces.model.schedules.domain_order import Split, Tail
from spaces.model.schedules.parameters import parameters
from spaces.model.schedules.schedule import ROOT, FuncSchedule, Schedule


@frozen
class OutputLoops:
    """What judges the loops of one output.

    Attributes:
        part: the pipeline of the output alone, which reads the other Funcs as images.
        device: the device.
        sizes: the sizes beside the estimates.
    """

    part: Pipeline
    device: Device
    sizes: tuple[FurtherSize, ...]

    @staticmethod
    def of(
        pipeline: Pipeline, output: str, device: Device, sizes: tuple[FurtherSize, ...]
    ) -> OutputLoops:
        """The judge of an output of a pipeline."""
        return OutputLoops(decided_part(pipeline, frozenset((output,))), device, sizes)

    def fitting(
        self,
        known: Mapping[str, Orders],
        factors: Mapping[str, tuple[int, ...]],
        vectors: Orders,
        plain: Orders,
    ) -> dict[str, Orders]:
        """The orders of an output, by name: the known ones if any choice of the first of them is
        legal, or if plain loops are illegal, too. Otherwise, quick ones that are legal and plain
        ones come first.
        """
        first = next(iter(known.values()))
        if self._legal((first,), factors) or not self._legal((plain,), factors):
            return dict(known)
        quick = (vectors,) if isinstance(self.device, CpuDevice) else tuple(known.values())
        fitting = self._legal((*quick, *map(_guarded, quick)), factors)
        found = (
            {"serial": plain} if fitting in (None, plain) else {"fitting": fitting, "serial": plain}
        )
        return found | {name: one for name, one in known.items() if one not in found.values()}

    def _legal(
        self, orders: Iterable[Orders], factors: Mapping[str, tuple[int, ...]]
    ) -> Orders | None:
        """The first of some orders with a choice that is legal at all sizes; None if none has."""
        return next((one for one in orders if self._is_legal(one, factors)), None)

    def _is_legal(self, orders: Orders, factors: Mapping[str, tuple[int, ...]]) -> bool:
        (output,) = self.part.outputs
        entry = FuncSchedule(output, orders, ROOT, ROOT)
        names = parameters(Schedule((entry,)))
        return _has_legal_choice(self, entry, tuple((name, factors[name]) for name in names))


@lru_cache(maxsize=1024)
def _has_legal_choice(
    loops: OutputLoops, entry: FuncSchedule, menus: tuple[tuple[str, tuple[int, ...]], ...]
) -> bool:
    part = loops.part
    judged = JudgedSizes(part, loops.sizes, loops.device)
    whole = Structure(Schedule((entry,), part.derivations), dict(menus))
    masks = (judged.mask(part, one.schedule, one.columns, NestMemo()) for one in whole.parts())
    return any(mask.any() for mask in masks)


def _guarded(orders: Orders) -> Orders:
    """The orders with a guard around the iterations beyond the end of each split loop."""
    return tuple(
        evolve(
            order,
            splits=tuple(
                evolve(one, tail=Tail.GUARD_WITH_IF) if isinstance(one, Split) else one
                for one in order.splits
            ),
        )
        for order in orders
    )
