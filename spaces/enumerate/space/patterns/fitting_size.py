"""Loops for outputs that their first pattern does not fit, so that every space has a simple legal
schedule if plain loops are legal.

Tiles shift inwards at the end of an output, so it must be as large as a tile; where updates follow,
whole tiles write beyond it. Small outputs get loops that no size limits: vectors or guarded tiles
where these are legal, and the plain nest. Likewise on GPUs where all tiles that fit leave threads
of each warp idle.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from spaces.constraints.devices.device import CpuDevice, Device, GpuDevice
from spaces.constraints.sizes.kernels import kernels
from spaces.enumerate.space.decided_part import decided_part
from spaces.enumerate.space.further_sizes import FurtherSize
from spaces.enumerate.space.judged_sizes import JudgedSizes
from spaces.enumerate.space.patterns.builder import Orders
from spaces.enumerate.space.patterns.tails import guard_tails
from spaces.enumerate.space.structure import Structure
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.formulas.algebra import ARRAYS, read_all
from spaces.model.nest.nest_memo import NestMemo
from spaces.model.schedules.parameters import parameters
from spaces.model.schedules.schedule import ROOT, FuncSchedule, Schedule


class Fit(IntEnum):
    """How well loops fit the size of an output.

    Attributes:
        ILLEGAL: no choice of their numbers is legal.
        LEGAL: a choice is legal, and on a GPU each legal one leaves threads of a warp idle.
        WHOLE_WARPS: a choice is legal, and on a GPU its blocks have whole warps.
    """

    ILLEGAL = 0
    LEGAL = 1
    WHOLE_WARPS = 2


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
        """The orders of an output, by name. They are the known ones if a choice of the first of
        them is legal, with whole warps on a GPU, or if plain loops are illegal. Otherwise a quick
        order that is legal comes first, one with whole warps if there is one. Then come plain
        loops, and then the known ones.
        """
        first = next(iter(known.values()))
        if self._first((first,), factors, Fit.WHOLE_WARPS) or not self._first((plain,), factors):
            return dict(known)
        quick = (vectors,) if isinstance(self.device, CpuDevice) else tuple(known.values())
        function = self.part.function(*self.part.outputs)
        every = {name for stage in function.stages for name in stage.dimensions}
        ways = (*quick, *(guard_tails(function, one, every) for one in quick))
        fitting = self._first(ways, factors, Fit.WHOLE_WARPS) or self._first(ways, factors)
        found = (
            {"serial": plain} if fitting in (None, plain) else {"fitting": fitting, "serial": plain}
        )
        return found | {name: one for name, one in known.items() if one not in found.values()}

    def _first(
        self,
        orders: Iterable[Orders],
        factors: Mapping[str, tuple[int, ...]],
        least: Fit = Fit.LEGAL,
    ) -> Orders | None:
        """The first of some orders that fit at least so well; None if none does."""
        return next((one for one in orders if self._fit(one, factors) >= least), None)

    def _fit(self, orders: Orders, factors: Mapping[str, tuple[int, ...]]) -> Fit:
        (output,) = self.part.outputs
        entry = FuncSchedule(output, orders, ROOT, ROOT)
        names = parameters(Schedule((entry,)))
        return _best_fit(self, entry, tuple((name, factors[name]) for name in names))


@lru_cache(maxsize=1024)
def _best_fit(
    loops: OutputLoops, entry: FuncSchedule, menus: tuple[tuple[str, tuple[int, ...]], ...]
) -> Fit:
    part = loops.part
    judged = JudgedSizes(part, loops.sizes, loops.device)
    whole = Structure(Schedule((entry,), part.derivations), dict(menus))
    best = Fit.ILLEGAL
    for one in whole.parts():
        mask = judged.mask(part, one.schedule, one.columns, NestMemo())
        if mask.any():
            best = Fit.LEGAL
            if (mask & _has_whole_warps(part, one, loops.device)).any():
                return Fit.WHOLE_WARPS
    return best


def _has_whole_warps(part: Pipeline, structure: Structure, device: Device) -> NDArray[np.bool_]:
    """For each choice whether the blocks of each kernel have whole warps, or all values of the
    kernel are fewer than a warp; always true on a CPU.
    """
    found = np.ones(structure.shape, dtype=np.bool_)
    if isinstance(device, GpuDevice):
        nest = NestMemo().bounds(part, structure.schedule, sizes=part.sizes())
        numbers: dict[str, Any] = {**part.scalar_defaults(), **part.sizes(), **structure.columns}
        for kernel in kernels(nest):
            (threads,) = read_all((kernel.threads_per_block,), numbers, ARRAYS)
            found &= threads % device.warp_threads == 0
        found |= _values(part) < device.warp_threads
    return found


def _values(part: Pipeline) -> int:
    """The number of values of the only output of a pipeline."""
    return math.prod(extent for _, extent in part.estimate(*part.outputs) or ())
