"""Entries of single Funcs as people write them: the schedule patterns of [RK13] section 5.

Each function gives an entry, or None if the Func lacks the dimensions for it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

from attrs import evolve, frozen

from spaces.constraints.devices.device import Device, GpuDevice
from spaces.enumerate.search.readers import computed_readers
from spaces.enumerate.space.patterns.builder import Maker, Pattern, Shape, serial
from spaces.enumerate.space.patterns.cpu import tiles, vectors
from spaces.enumerate.space.patterns.gpu import blocks, threads
from spaces.enumerate.space.patterns.menus import stage_patterns
from spaces.enumerate.space.patterns.stage_shapes import stage_shapes
from spaces.enumerate.space.process.state import ProcessState
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, OrderedLoop, made_from
from spaces.model.schedules.parameters import bind
from spaces.model.schedules.schedule import ROOT, FuncSchedule, LoopLevel, Schedule


@frozen
class _Loops:
    """The loops of the patterns on one kind of device.

    Attributes:
        tiles: those of a Func that is tiled over x and y, and then of one without two long
            dimensions.
        rows: those of a Func whose rows are computed at once.
        inside: those of a Func inside a loop of another one.
    """

    tiles: tuple[Maker, ...]
    rows: Maker
    inside: Maker


def tile_fully(state: ProcessState, func: str, chosen: random.Random) -> FuncSchedule | None:
    """Tiles over x and y at root, with vectors along x inside a tile, and the rows of tiles in
    parallel. On a GPU, tiles of blocks and threads. A Func without two long dimensions has
    vectors, in parallel.
    """
    made = (_make_entry(state, func, maker, chosen) for maker in _loops_of(state.device).tiles)
    return next((entry for entry in made if entry is not None), None)


def parallelize_rows(state: ProcessState, func: str, chosen: random.Random) -> FuncSchedule | None:
    """Row-major loops at root, with y in parallel. On a GPU, tiles."""
    return _make_entry(state, func, _loops_of(state.device).rows, chosen)


def parallelize_vectors(
    state: ProcessState, func: str, chosen: random.Random
) -> FuncSchedule | None:
    """Rows in parallel at root, with vectors along x."""
    return _make_entry(state, func, _parallel_vectors, chosen)


def vectorize_under_reader(
    state: ProcessState, func: str, chosen: random.Random, schedule: Schedule
) -> FuncSchedule | None:
    """Vectors along x, computed and stored inside the loop of a reader over x. On a GPU, threads.

    Args:
        state: a state of the pipeline of the Func.
        func: the Func.
        chosen: chooses a reader, x and the numbers.
        schedule: the loops of the readers.
    """
    inlined = {entry.name for entry in schedule.funcs if entry.compute.is_inline}
    readers = sorted(computed_readers(state.pipeline, func, inlined))
    if not readers:
        return None
    reader = chosen.choice(readers)
    shape = _choose_plane(
        stage_shapes(state.pipeline, state.device, state.choices)[reader][0], chosen
    )
    order = schedule.of(reader).stages[0]
    loop = find_loop_over(order, shape.free[0]) if shape.free else None
    return None if loop is None else vectorize_at(state, func, chosen, LoopLevel(reader, loop))


def vectorize_at(
    state: ProcessState, func: str, chosen: random.Random, level: LoopLevel
) -> FuncSchedule | None:
    """Vectors along x, computed and stored at a level. On a GPU, threads."""
    return _make_entry(state, func, _loops_of(state.device).inside, chosen, level)


def find_loop_over(order: DomainOrder, dimension: str) -> str | None:
    """The innermost loop over a dimension that is not inside vectors or unrolled loops; None if no
    such loop is left.
    """
    found, over = None, made_from((dimension,), order.splits)
    for loop in order.loops:
        if loop.kind.has_constant_extent:
            break
        if loop.name in over:
            found = loop.name
    return found


TEMPLATES: tuple[
    Callable[[ProcessState, str, random.Random, Schedule], FuncSchedule | None], ...
] = (
    vectorize_under_reader,
    lambda state, func, chosen, schedule: tile_fully(state, func, chosen),
    lambda state, func, chosen, schedule: parallelize_vectors(state, func, chosen),
)
"""The common patterns that a mutation chooses from. On a GPU the second one is the tile of [RK13]'s
fourth pattern.
"""


def _make_entry(
    state: ProcessState,
    func: str,
    maker: Maker,
    chosen: random.Random,
    level: LoopLevel = ROOT,
) -> FuncSchedule | None:
    """The Func in a pattern, with random numbers; x and y are random for each stage."""
    shapes = stage_shapes(state.pipeline, state.device, state.choices)[func]
    planes = tuple(_choose_plane(shape, chosen) for shape in shapes)
    patterns, fits = stage_patterns("of a search", maker, planes)
    if not fits:
        return None
    entry = FuncSchedule(func, tuple(one.order for one in patterns), level, level)
    menus = (menu for one in patterns for menu in one.menus)
    numbers = {name: chosen.choice(menu) for name, menu in menus}
    return bind(Schedule((entry,)), numbers).funcs[0]


def _choose_plane(shape: Shape, chosen: random.Random) -> Shape:
    """The shape in which x and y are the only dimensions to tile: two adjacent long ones at random.
    Short dimensions, such as channels, are not tiled.
    """
    pairs = [(x, y) for x, y in pairwise(shape.free) if {x, y} <= {*shape.long}]
    if not pairs:
        return shape
    x, y = chosen.choice(pairs)
    return evolve(shape, free=(x, *(name for name in shape.free if name != x)), long=(x, y))


def _parallelize_outermost(shape: Shape, maker: Maker) -> Pattern | None:
    """A pattern with y outermost, in parallel."""
    pattern = maker(shape)
    if pattern is None or not shape.long:
        return None
    along, order = shape.long[-1], pattern.order
    rest = (loop for loop in order.loops if loop.name != along)
    loops = (OrderedLoop(along, LoopKind.PARALLEL), *rest)
    return evolve(pattern, order=evolve(order, loops=loops))


def _parallel_rows(shape: Shape) -> Pattern | None:
    return _parallelize_outermost(shape, serial)


def _parallel_vectors(shape: Shape) -> Pattern | None:
    return _parallelize_outermost(shape, vectors)


_CPU_LOOPS = _Loops(tiles=(tiles, _parallel_vectors), rows=_parallel_rows, inside=vectors)
_GPU_LOOPS = _Loops(tiles=(blocks,), rows=blocks, inside=threads)


def _loops_of(device: Device) -> _Loops:
    """The loops of the patterns on a device."""
    return _GPU_LOOPS if isinstance(device, GpuDevice) else _CPU_LOOPS
