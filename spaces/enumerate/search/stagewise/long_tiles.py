"""Tiles that are longer than the dimension of a Func that they split.

They compute more than the Func needs, and so all that it reads is larger, too. A search that
decides consumers first does not see that: it knows the sizes of producers later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from spaces.enumerate.space.estimated_boxes import sizes_of
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, Split
from spaces.model.schedules.parameters import entry_parameters
from spaces.model.schedules.schedule import FuncSchedule

MOST_BEYOND = 1.1
"""Tiles that reach so far beyond a Func enlarge what it reads, and what that reads in turn."""


def fitting_menus(
    pipeline: Pipeline, entry: FuncSchedule, menus: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """The menus of the factors of a Func, without the factors that are longer than the dimension
    that they split first. If all of a menu are longer, its smallest factor stays. Blocks of threads
    keep all: threads leave out what is not needed.

    Args:
        pipeline: the pipeline of the Func.
        entry: its entry.
        menus: the menus of all factors.
    """
    found = {name: menus[name] for name in entry_parameters(entry)}
    sizes, args = sizes_of(pipeline), pipeline.function(entry.name).args
    for order in entry.stages:
        if any(loop.kind.is_gpu for loop in order.loops):
            continue
        whole = set(args)
        for record in order.splits:
            if isinstance(record, Split) and record.old in whole:
                extent, factor = sizes.extent(entry.name, record.old), record.factor
                if isinstance(factor, str) and extent is not None:
                    least = min(found[factor])
                    found[factor] = tuple(n for n in found[factor] if n <= max(extent, least))
            whole -= {*record.taken}
    return found


def may_reach_far(
    pipeline: Pipeline, entry: FuncSchedule, menus: Mapping[str, Sequence[int]]
) -> bool:
    """Whether tiles of a Func, with some of the numbers to choose from, may reach far beyond it; or
    nothing is known of its size. Tiles of a definition move inwards where they fit; those of an
    update may reach beyond by less than a tile.

    Args:
        pipeline: the pipeline of the Func.
        entry: its entry.
        menus: the numbers to choose from for each factor that is a name.
    """
    sizes, args = sizes_of(pipeline), pipeline.function(entry.name).args
    for index, order in enumerate(entry.stages):
        for arg, tiles in _tiles(order, args, menus):
            extent = sizes.extent(entry.name, arg)
            if extent is None:
                return True
            for tile in tiles:
                rounded = -(-extent // tile) * tile if index else max(extent, tile)
                if rounded > MOST_BEYOND * extent:
                    return True
    return False


def relative_length_of_updates(
    pipeline: Pipeline, entry: FuncSchedule, numbers: Mapping[str, int | NDArray[np.int64]]
) -> float | NDArray[np.float64]:
    """How many times as long as a Func its updates in blocks of threads are, along the dimension
    where this is most. Whole tiles compute more than the Func, and all that they read is larger.

    Args:
        pipeline: the pipeline of the Func.
        entry: its entry.
        numbers: the number or, for many choices, the numbers of each factor that is a name.
    """
    sizes, args = sizes_of(pipeline), pipeline.function(entry.name).args
    most: float | NDArray[np.float64] = 1.0
    for order in entry.stages[1:]:
        if not any(loop.kind is LoopKind.GPU_THREAD for loop in order.loops):
            continue
        lengths: dict[str, int | NDArray[np.int64]] = {}
        outer = {arg: arg for arg in args}
        for record in order.splits:
            if isinstance(record, Split) and record.old in outer:
                arg = outer[record.outer] = outer.pop(record.old)
                factor = record.factor
                number = numbers[factor] if isinstance(factor, str) else factor
                lengths[arg] = lengths.get(arg, 1) * number
        for arg, length in lengths.items():
            extent = sizes.extent(entry.name, arg)
            if extent:
                most = np.maximum(most, -(-extent // length) * length / extent)
    return most


def _tiles(
    order: DomainOrder, args: Sequence[str], menus: Mapping[str, Sequence[int]]
) -> Iterator[tuple[str, set[int]]]:
    """The lengths that tiles may have along each Var that is split."""
    outer = {arg: arg for arg in args}
    lengths: dict[str, set[int]] = {}
    for record in order.splits:
        if isinstance(record, Split) and record.old in outer:
            arg = outer.pop(record.old)
            outer[record.outer] = arg
            factor = record.factor
            numbers = menus[factor] if isinstance(factor, str) else (factor,)
            known = lengths.get(arg, {1})
            lengths[arg] = {length * number for length in known for number in numbers}
    yield from lengths.items()
