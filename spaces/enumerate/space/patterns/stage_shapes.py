"""What patterns read of the stages of a pipeline: their dimensions, long, short or of a reduction,
and the numbers that loops of each may have.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from functools import lru_cache

from spaces.constraints.dependences.hazards import racing_dimensions
from spaces.constraints.devices.device import CpuDevice, Device, GpuDevice
from spaces.enumerate.space.atomic_stages import may_change_in_one_step
from spaces.enumerate.space.estimated_boxes import rvar_extents, sizes_of
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.patterns.builder import Shape
from spaces.enumerate.space.patterns.lanes import funcs_off_rows, goes_along_rows
from spaces.model.algorithm.pipeline import Function, Pipeline, Stage

CHANNELS = 4
"""The largest extent that whole patterns unroll."""

_REGISTER_PARTS = (4, 2, 1)
"""Vectors whose lanes read other rows may have these parts of the lanes of a register."""


@lru_cache(maxsize=16)
def stage_shapes(
    pipeline: Pipeline, device: Device, options: Options
) -> Mapping[str, tuple[Shape, ...]]:
    """What patterns read of the stages of each Func, by the name of the Func."""
    extents = _extents(pipeline)
    off_rows = funcs_off_rows(pipeline)
    sums = {function.name for function in pipeline.functions if adds_up(function)}
    found: dict[str, tuple[Shape, ...]] = {}
    for function in pipeline.functions:
        reads_sums = function.is_pure and not sums.isdisjoint(function.callees)
        own = extents.get(function.name, {})
        found[function.name] = tuple(
            _shape(
                function,
                index,
                device,
                options,
                own | rvar_extents(pipeline, stage),
                reads_sums,
                function.name in off_rows,
            )
            for index, stage in enumerate(function.stages)
        )
    return found


def _shape(
    function: Function,
    index: int,
    device: Device,
    options: Options,
    extents: Mapping[str, int],
    reads_sums: bool,
    is_off_rows: bool,
) -> Shape:
    stage = function.stages[index]
    racing = racing_dimensions(function, index)
    pure = tuple(name for name in stage.pure_vars if name not in racing)
    free = _vectors_first(pure, options, extents)
    bound = tuple(name for name in stage.dimensions if name not in free)
    natural = 1
    narrow: tuple[int, ...] = ()
    long = tuple(n for n in free if extents.get(n, options.long) >= options.long)
    terms = tuple(r.name for r in stage.rvars if extents.get(r.name, options.long) >= options.long)
    is_shared = isinstance(device, GpuDevice) and may_change_in_one_step(
        function, index, exact=options.exact
    )
    if isinstance(device, CpuDevice):
        natural = max(1, device.vector_bits // max(8, *(t.bits for t in function.types)))
        row = extents.get(free[0], 0) if free else 0
        if row >= options.long:  # a shorter row is one vector
            natural = min(natural, 1 << (row.bit_length() - 1))
        narrow = (row,) if row > CHANNELS and free[0] not in long else ()
    parts = _REGISTER_PARTS if _reads_across(stage, free) else (1,)
    fewer = tuple(natural // part for part in parts if part <= natural)
    return Shape(
        func=function.name,
        stage=index,
        free=free,
        bound=bound,
        long=long,
        menus={
            "row": narrow or options.row_tiles,
            "tile": options.tiles,
            "lanes": narrow or (*fewer[:-1], *(natural * one for one in options.lanes)),
            "register": narrow or fewer,
            "block_row": narrow or tuple(natural * vectors for vectors in options.block_vectors),
            "block": options.blocks,
        },
        shares=_shares(function, stage, free),
        across=_across(function, long) if is_off_rows else "",
        outermost=next((name for name in reversed(pure) if extents.get(name) != 1), ""),
        is_narrow=bool(narrow),
        short=_channels(free, options, extents),
        sums=adds_up(function),
        reads_sums=reads_sums,
        scatters=any(coordinate.loads for coordinate in stage.args[:1]),
        scans=goes_along_rows(function, stage),
        terms=terms if is_shared else (),
        long_terms=terms,
    )


def _vectors_first(
    pure: tuple[str, ...], options: Options, extents: Mapping[str, int]
) -> tuple[str, ...]:
    """Dimensions in the order in which vectors may go along them. Rows of one value have no lanes.
    Those of a few, as the colours of a pixel that lie side by side, follow the first long one.
    """
    several = [name for name in pure if extents.get(name) != 1]
    short = _few_values(tuple(several), options, extents)
    after = next((name for name in several if name not in short), "")
    if several[:1] == list(short[:1]) and extents.get(after, options.long) >= options.long:
        several.sort(key=lambda name: name != after)
    return (*several, *(name for name in pure if name not in several))


def _across(function: Function, long: Collection[str]) -> str:
    """The first long dimension beside rows; empty without one."""
    return next((name for name in function.args[1:] if name in long), "")


def _reads_across(stage: Stage, free: tuple[str, ...]) -> bool:
    """Whether the lanes of a vector read other rows of a buffer while the loops inside go along
    them, as in sums over rows. Each lane then keeps a line of the cache, and all these lines may
    compete for the same few places: fewer lanes than a register has are faster.
    """
    rvars = {r.name for r in stage.rvars}
    return any(
        not rvars.isdisjoint(first.names) and free[0] not in first.names
        for call in stage.calls
        if free and any(free[0] in other.names for other in call.args[1:])
        for first in call.args[:1]
    )


def _shares(function: Function, stage: Stage, free: tuple[str, ...]) -> frozenset[str]:
    """The dimensions that a read of another buffer does not depend on."""
    moved = [
        frozenset().union(*(one.names for one in call.args))
        for call in stage.calls
        if call.target != function.name
    ]
    return frozenset(name for name in free if any(name not in names for names in moved))


def _channels(
    free: tuple[str, ...], options: Options, extents: Mapping[str, int]
) -> tuple[str, ...]:
    """The dimensions short enough to be unrolled around vectors along the innermost one."""
    short = _few_values(free, options, extents)
    return () if free[:1] == short[:1] else short


def _few_values(
    free: tuple[str, ...], options: Options, extents: Mapping[str, int]
) -> tuple[str, ...]:
    """The dimensions that whole patterns unroll."""
    return tuple(n for n in free if extents.get(n, math.inf) <= min(options.short, CHANNELS))


def adds_up(function: Function) -> bool:
    """Whether a Func adds up terms of a reduction domain."""
    return any(stage.rvars for stage in function.stages)


def _extents(pipeline: Pipeline) -> dict[str, dict[str, int]]:
    """The extents of each Func, by Var, at the estimates; empty without estimates."""
    boxes = sizes_of(pipeline).boxes
    return {
        function.name: {arg: boxes[function.name][arg][1] for arg in function.args}
        for function in pipeline.functions
        if set(function.args) <= boxes.get(function.name, {}).keys()
    }
