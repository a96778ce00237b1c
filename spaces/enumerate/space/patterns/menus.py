"""The options of each Func of a pipeline in a space."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from functools import lru_cache, partial

from attrs import field, frozen

from spaces.constraints.dependences.hazards import racing_dimensions
from spaces.constraints.devices.device import CpuDevice, Device, GpuDevice
from spaces.enumerate.space.atomic_stages import atomic_stages, may_change_in_one_step
from spaces.enumerate.space.estimated_boxes import sizes_of
from spaces.enumerate.space.further_sizes import FurtherSize
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.patterns.builder import Maker, Orders, Pattern, Shape
from spaces.enumerate.space.patterns.by_name import INNER_PATTERNS, ROOT_PATTERNS, make_pattern
from spaces.enumerate.space.patterns.fitting_size import OutputLoops
from spaces.enumerate.space.patterns.lanes import (
    funcs_off_rows,
    goes_along_rows,
    storage_along_lanes,
)
from spaces.enumerate.space.patterns.tails import with_guarded_updates
from spaces.enumerate.space.places import NO_PLACES, FuncPlaces
from spaces.model.algorithm.pipeline import Function, Pipeline, Stage
from spaces.model.formulas.algebra import evaluate
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, OrderedLoop
from spaces.model.schedules.schedule import INLINE, FuncSchedule, LoopLevel, Schedule, StageOf

CHANNELS = 4
"""The largest extent that whole patterns unroll."""


_REGISTER_PARTS = (4, 2, 1)
"""Vectors whose lanes read other rows may have these parts of the lanes of a register."""


@frozen
class FuncMenu:
    """The options of one Func.

    Attributes:
        function: the Func.
        places: where it may be computed and stored.
        root: domain orders at root, by the name of their pattern.
        inner: domain orders at a loop, by the name of their pattern.
        factors: the menu of each parameter of these orders.
        stores_along_lanes: whether the values of a vector are neighbors in storage.
    """

    function: Function
    places: FuncPlaces
    root: Mapping[str, Orders] = field(eq=False)
    inner: Mapping[str, Orders] = field(eq=False)
    factors: Mapping[str, tuple[int, ...]] = field(eq=False)
    stores_along_lanes: bool

    @property
    def inlined(self) -> FuncSchedule:
        """The entry of the inlined Func, with the domain order of the default schedule."""
        orders = tuple(_default_order(stage.dimensions) for stage in self.function.stages)
        return self.scheduled(orders, INLINE, INLINE)

    def scheduled(self, orders: Orders, compute: LoopLevel, store: LoopLevel) -> FuncSchedule:
        """The entry of the Func with these domain orders at these levels."""
        return FuncSchedule(
            self.function.name,
            orders,
            compute,
            store,
            storage_orders=() if compute.is_inline else self.storage_of(orders),
            atomic=atomic_stages(self.function, orders),
        )

    def storage_of(self, orders: Orders) -> tuple[tuple[str, ...], ...]:
        """The orders of storage for these domain orders; none where it is as written."""
        if not self.stores_along_lanes:
            return ()
        return storage_along_lanes(self.function.args, orders)

    @property
    def may_reorder_storage(self) -> bool:
        """Whether a domain order has another storage than the Func is written with."""
        return any(map(self.storage_of, (*self.root.values(), *self.inner.values())))


@frozen
class FixedMenu(FuncMenu):
    """The menu of a Func with a given schedule: only this schedule, wherever its uses are."""

    entry: FuncSchedule

    @staticmethod
    def of(function: Function, entry: FuncSchedule) -> FixedMenu:
        """The menu that offers ``entry`` alone."""
        return FixedMenu(
            function=function,
            places=NO_PLACES,
            root={"given": entry.stages},
            inner={},
            factors={},
            stores_along_lanes=False,
            entry=entry,
        )


def func_menus(
    pipeline: Pipeline,
    device: Device,
    options: Options,
    fixed: Schedule,
    sizes: tuple[FurtherSize, ...] = (),
) -> dict[str, FuncMenu]:
    """The menu of each Func, consumers first; a Func of ``fixed`` has only its entry. ``sizes`` are
    those beside the estimates that the loops of outputs fit.
    """
    shapes = stage_shapes(pipeline, device, options)
    given = {entry.name: entry for entry in fixed.funcs}
    return {
        function.name: FixedMenu.of(function, given[function.name])
        if function.name in given
        else _func_menu(pipeline, function, options, shapes[function.name], device, sizes)
        for function in reversed(pipeline.functions)
    }


def loops_of(menus: Mapping[str, FuncMenu]) -> dict[StageOf, tuple[str, ...]]:
    """The names of the loops that each stage may have."""
    loops: dict[StageOf, dict[str, None]] = {}
    for name, menu in menus.items():
        for orders in (*menu.root.values(), *menu.inner.values()):
            for index, order in enumerate(orders):
                found = loops.setdefault(StageOf(name, index), {})
                found |= dict.fromkeys(sorted(order.all_names))
    return {stage: tuple(found) for stage, found in loops.items()}


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


def _func_menu(
    pipeline: Pipeline,
    function: Function,
    options: Options,
    shapes: tuple[Shape, ...],
    device: Device,
    sizes: tuple[FurtherSize, ...],
) -> FuncMenu:
    factors: dict[str, tuple[int, ...]] = {}
    is_output = function.name in pipeline.outputs
    if function.is_opaque:
        usual = _orders(("serial",), ROOT_PATTERNS, shapes, factors)
        places = FuncPlaces.of(pipeline, options, function.name)
        inner = {} if is_output else usual
        return FuncMenu(function, places, usual, inner, factors, stores_along_lanes=False)
    guard = partial(with_guarded_updates, pipeline, function, options.long)
    root = guard(_orders(options.root, ROOT_PATTERNS, shapes, factors))
    if is_output:
        (in_vectors,) = _orders(("vectors",), ROOT_PATTERNS, shapes, factors).values()
        (plain,) = _orders(("serial",), ROOT_PATTERNS, shapes, factors).values()
        loops = OutputLoops.of(pipeline, function.name, device, sizes)
        root = loops.fitting(root, factors, in_vectors, plain)
    inner = {} if is_output else guard(_orders(options.inner, INNER_PATTERNS, shapes, factors))
    return FuncMenu(
        function=function,
        places=FuncPlaces.of(pipeline, options, function.name),
        root=root,
        inner=inner,
        factors=factors,
        stores_along_lanes=not is_output and "reorder_storage" not in options.directives,
    )


def _orders(
    names: tuple[str, ...],
    makers: Mapping[str, Maker],
    shapes: tuple[Shape, ...],
    factors: dict[str, tuple[int, ...]],
) -> dict[str, Orders]:
    """The orders of each pattern; a stage without the dimensions of a pattern runs serially.

    Keeps equal orders once; the result has at least one order.
    """
    found: dict[Orders, str] = {}
    for name in (*(name for name in names if name in makers), "serial"):
        if name == "serial" and name not in names and found:
            continue
        made, fits_first = stage_patterns(name, makers[name], shapes)
        if not fits_first and found:
            continue
        orders = tuple(pattern.order for pattern in made)
        if orders not in found:
            found[orders] = name
            factors.update(menu for pattern in made for menu in pattern.menus)
    return {name: orders for orders, name in found.items()}


def stage_patterns(
    name: str, maker: Maker, shapes: tuple[Shape, ...]
) -> tuple[tuple[Pattern, ...], bool]:
    """The pattern of each stage of a Func, and whether the first stage has the dimensions of the
    pattern. A stage without them runs serially.
    """
    patterns = [make_pattern(name, maker, shape) for shape in shapes]
    made = tuple(_or_serial(p, s) for p, s in zip(patterns, shapes, strict=True))
    return made, patterns[0] is not None


def _or_serial(pattern: Pattern | None, shape: Shape) -> Pattern:
    if pattern is not None:
        return pattern
    order = _default_order((*shape.bound, *shape.free))
    return Pattern(order, ())


def _default_order(dimensions: tuple[str, ...]) -> DomainOrder:
    return DomainOrder(loops=tuple(OrderedLoop(name) for name in reversed(dimensions)))


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


def rvar_extents(pipeline: Pipeline, stage: Stage) -> dict[str, int]:
    """The extents of the RVars of a stage that the estimates tell."""
    sizes = pipeline.sizes()
    known = (r for r in stage.rvars if r.extent.names <= sizes.keys() and not r.extent.loads)
    return {r.name: int(evaluate(r.extent, sizes)) for r in known}


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


def fits(orders: Orders, kinds: Collection[LoopKind]) -> bool:
    """Whether thread loops would be inside a block and outside other thread loops. In a kernel,
    unrolled loops must be inside a thread loop.

    Args:
        orders: domain orders of a Func.
        kinds: the kinds of the loops around it.
    """
    own = {loop.kind for order in orders for loop in order.loops}
    if LoopKind.GPU_THREAD in own:
        return LoopKind.GPU_BLOCK in kinds and LoopKind.GPU_THREAD not in kinds
    if LoopKind.UNROLLED in own and LoopKind.GPU_BLOCK in kinds:
        return LoopKind.GPU_THREAD in kinds
    return True
