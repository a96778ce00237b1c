"""The tile sizes of a segment: Algorithm 3 of [S19], with the constraints of its section 4.2."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import ArrayLike, NDArray

from spaces.constraints.devices.device import CpuDevice
from spaces.enumerate.search.papers.reuse_analysis.fusion import (
    Nest,
    StagePlaces,
    greatest_overlaps,
    inline_trivial_funcs,
    move_where_possible,
    nest_of,
    stage_fusion,
)
from spaces.enumerate.search.papers.reuse_analysis.overlap import origins
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.estimated_boxes import sizes_of
from spaces.enumerate.space.patterns.builder import Orders
from spaces.enumerate.space.patterns.menus import FuncMenu
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import PART, Structure
from spaces.features.features import Features
from spaces.features.input_loads import input_loads
from spaces.model.deadline import ask_clock
from spaces.model.formulas.symbolic import SymbolicNumber, as_array
from spaces.model.schedules.domain_order import LoopKind, Split
from spaces.model.schedules.parameters import bind, entry_parameters
from spaces.model.schedules.schedule import ROOT, Bound, FuncSchedule, LoopLevel

Menus: TypeAlias = Mapping[str, FuncMenu]

LOAD_WEIGHT = 40.0
"""The cost of a load relative to one computed value, w of [S19]. The paper gives no number; 40 is
that of Halide's autoscheduler, whose place the paper's tool takes.
"""


@frozen
class Tiling:
    """A segment with its tile sizes.

    Attributes:
        entries: the entries of its Funcs, with parameters.
        numbers: the numbers of the parameters.
        cost: the cost of the segment by [S19].
        footprint: the bytes of the buffers of its producers.
    """

    entries: tuple[FuncSchedule, ...]
    numbers: Mapping[str, int] = field(eq=False)
    cost: float
    footprint: float


def tilings(segment: Pricer, menus: Menus, output: str, load_weight: float) -> list[Tiling]:
    """The best tile sizes for each loop permutation, cheapest first: Algorithm 3 of [S19]. The
    permutations are the patterns of the output.

    Args:
        segment: the pricer of the space of the segment; Funcs that read it are its outputs.
        menus: the menu of each Func.
        output: the last Func of the segment.
        load_weight: w of [S19].
    """
    patterns = menus[output].root.values()
    found = (_tiling(segment, menus, output, orders, load_weight) for orders in patterns)
    return sorted((one for one in found if one is not None), key=lambda one: one.cost)


def _tiling(
    pricer: Pricer, menus: Menus, output: str, orders: Orders, load_weight: float
) -> Tiling | None:
    """The best tile sizes for one loop permutation; None if none satisfies all constraints."""
    ask_clock()
    segment = pricer.space
    pipeline, device = segment.pipeline, segment.device
    assert isinstance(device, CpuDevice)
    function = pipeline.function(output)
    nests = {i: nest_of(function, i, order) for i, order in enumerate(orders)}
    places = stage_fusion(pipeline, output, nests)
    places = inline_trivial_funcs(pipeline, output, places)
    places = move_where_possible(pipeline, output, places, nests)
    entries = tuple(_entries(segment, menus, output, orders, nests, places))
    fixed, structure = _structure(segment, menus, output, entries)
    allowed = _find_valid(segment, output, orders, structure)
    if not allowed.any():
        return None
    allowed = allowed & pricer.find_legal(structure)
    if not allowed.any():
        return None
    features = pricer.read_features(structure)
    if features is None:
        return None
    if device.l2_bytes:
        allowed = allowed & (as_array(unfolded_bytes(features)) <= device.l2_bytes)
    if not allowed.any():
        return None
    costs = np.where(allowed, as_array(segment_cost(features, output, load_weight)), np.inf)
    # Of tiles that cost the same, the largest has the fewest loops to enter.
    index = costs.size - 1 - int(np.argmin(costs.ravel()[::-1]))
    footprint = np.broadcast_to(as_array(buffer_bytes(features, output)), structure.shape)
    numbers = {**fixed, **structure.numbers(index)}
    own = tuple(e for e in entries if e.name == output or e.name not in pipeline.outputs)
    return Tiling(own, numbers, float(costs.flat[index]), float(footprint.flat[index]))


def segment_cost(features: Features, output: str, load_weight: float) -> SymbolicNumber:
    """The cost of a segment: C_total of Algorithm 3 of [S19]. The sum over its producers of
    ``w * loads + computed values - computed values at root``, and the loads of the output from
    outside the segment.
    """
    cost: SymbolicNumber = 0
    for func in features.funcs:
        if func.name in features.pipeline.outputs and func.name != output:
            continue  # a reader of the segment
        for stage in func.stages:
            for buffer in stage.work.buffers:
                is_outside = features.is_image.get(buffer, False)
                if buffer != func.name and (func.name != output or is_outside):
                    cost = cost + load_weight * input_loads(features, stage, buffer)
        if func.name != output:
            cost = cost + func.redundant
    return cost


def buffer_bytes(features: Features, output: str) -> SymbolicNumber:
    """The footprint of a segment [S19 4.3]: all buffers of its producers, after folding."""
    sizes: SymbolicNumber = 0
    for func in features.funcs:
        if func.name != output:
            sizes = sizes + func.allocation_bytes
    return sizes


def unfolded_bytes(features: Features) -> SymbolicNumber:
    """The bytes of the buffers that no window slides over, which must stay in the L2 cache
    [S19 4.2].
    """
    sizes: SymbolicNumber = 0
    for func in features.funcs:
        if func.depth and not func.slides:
            sizes = sizes + func.allocation_bytes
    return sizes


def fills_lines(width: ArrayLike, element_bytes: int, device: CpuDevice) -> NDArray[np.bool_]:
    """Whether a tile of this width is a multiple of a cache line and of a vector [S19 4.2]."""
    bits = np.asarray(width) * element_bytes * 8
    whole: NDArray[np.bool_] = bits % np.lcm(device.cache_line_bytes * 8, device.vector_bits) == 0
    return whole


def keeps_threads_busy(extent: int, tile: ArrayLike, threads: float) -> NDArray[np.bool_]:
    """Whether there are as many tiles as threads: [S19] (14)."""
    return extent / np.asarray(tile) >= threads


def covers_overlap(tile: ArrayLike, overlap: int) -> NDArray[np.bool_]:
    """Whether a tile is at least as large as the greatest overlap: [S19] (15)."""
    return np.asarray(tile) >= overlap


def _find_valid(
    segment: ScheduleSpace,
    output: str,
    orders: Orders,
    structure: Structure,
) -> NDArray[np.bool_]:
    """Which tile sizes satisfy the constraints of [S19] 4.2, but for that on the L2 cache.

    Where the image is too short for (14) with any tile, the smallest tiles satisfy it.
    """
    device = segment.device
    assert isinstance(device, CpuDevice)
    function, columns = segment.pipeline.function(output), structure.columns
    boxes = sizes_of(segment.pipeline).boxes.get(output, {})
    overlaps = greatest_overlaps(segment.pipeline, output)
    valid = np.ones(structure.shape, dtype=np.bool_)
    for number, order in enumerate(orders):
        nest = nest_of(function, number, order)
        tiles = {s.outer: s.factor for s in order.splits if isinstance(s, Split)}
        for position, loop in enumerate(nest):
            tile = columns.get(str(tiles.get(loop.level.loop)))
            if not loop.is_between or tile is None:
                continue
            valid &= covers_overlap(tile, overlaps.get(loop.dimension, 0))
            if loop.dimension == function.args[0]:
                valid &= fills_lines(tile, function.bytes, device)
            if position == 0 and loop.dimension in boxes:
                extent = boxes[loop.dimension][1]
                threads = min(device.cores, extent / int(np.min(tile)))
                valid &= keeps_threads_busy(extent, tile, threads)
    return valid


def _structure(
    segment: ScheduleSpace, menus: Menus, output: str, entries: tuple[FuncSchedule, ...]
) -> tuple[dict[str, int], Structure]:
    """The structure of a segment with the tile sizes of its output as parameters, and the numbers
    of all other parameters. These are the fewest lanes of a vector, and the middle of each menu of
    tiles. If an output with many updates has too many choices, the tiles of its first stages are
    among them.
    """
    numbers: dict[str, int] = {}
    choices: dict[str, tuple[int, ...]] = {}
    for entry in entries:
        factors = menus[entry.name].factors
        for parameter in entry_parameters(entry):
            menu = factors[parameter]
            if parameter in _lanes(entry):
                numbers[parameter] = menu[0]
            elif entry.name != output:
                numbers[parameter] = menu[len(menu) // 2]
            else:
                choices[parameter] = menu
    while math.prod(map(len, choices.values())) > PART:
        parameter, menu = next(iter(choices.items()))
        numbers[parameter] = menu[len(menu) // 2]
        del choices[parameter]
    return numbers, Structure(bind(segment.schedule(entries), numbers), choices)


def _lanes(entry: FuncSchedule) -> set[str]:
    """The parameters of an entry that are numbers of lanes."""
    return {
        str(split.factor)
        for order in entry.stages
        for split in order.splits
        if isinstance(split, Split)
        for loop in order.loops
        if loop.name == split.inner and loop.kind is LoopKind.VECTORIZED
    }


def _entries(
    segment: ScheduleSpace,
    menus: Menus,
    output: str,
    orders: Orders,
    nests: Mapping[int, Nest],
    places: StagePlaces,
) -> Iterator[FuncSchedule]:
    """The entries of all Funcs of a segment, producers first."""
    found = origins(segment.pipeline, output)
    for function in segment.pipeline.functions:
        name, menu = function.name, menus[function.name]
        place = places.get(name)
        if name == output:
            yield _add_bounds(segment, FuncSchedule(name, orders, ROOT, ROOT))
        elif name in segment.pipeline.outputs:
            yield evolve(menu.inlined, compute=ROOT, store=ROOT)
        elif place is None:
            yield menu.inlined
        else:
            (stage,) = found[name].stages
            compute, store = (_level(nests[stage], d) for d in (place.compute, place.store))
            if not menu.places.outside:
                store = compute
            made = FuncSchedule(name, _orders(menu, compute), compute, store)
            yield _add_bounds(segment, made)


def _orders(menu: FuncMenu, compute: LoopLevel) -> Orders:
    """The loops of a producer: vectors along rows if the space has them [S19 4.4]."""
    if compute.is_root:
        return next(iter(menu.root.values()))
    return menu.inner.get("vectors") or next(iter(menu.inner.values()))


def _add_bounds(segment: ScheduleSpace, entry: FuncSchedule) -> FuncSchedule:
    """The entry with a bound for each dimension that it unrolls whole, if the space has bounds."""
    if "bound" not in segment.options.directives:
        return entry
    boxes = sizes_of(segment.pipeline).boxes.get(entry.name, {})
    unrolled = dict.fromkeys(
        loop.name
        for order in entry.stages
        for loop in order.loops
        if loop.kind is LoopKind.UNROLLED and loop.name in boxes
    )
    args = segment.pipeline.function(entry.name).args
    bounds = tuple(Bound(name, *boxes[name]) for name in unrolled if name in args)
    return evolve(entry, bounds=bounds)


def _level(nest: Nest, depth: int) -> LoopLevel:
    return nest[depth - 1].level if depth else ROOT
