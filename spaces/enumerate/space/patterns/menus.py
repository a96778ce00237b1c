"""The options of each Func of a pipeline in a space."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from attrs import field, frozen

from spaces.constraints.devices.device import Device
from spaces.enumerate.space.atomic_stages import atomic_stages
from spaces.enumerate.space.further_sizes import FurtherSize
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.patterns.builder import Maker, Orders, Pattern, Shape
from spaces.enumerate.space.patterns.by_name import INNER_PATTERNS, ROOT_PATTERNS, make_pattern
from spaces.enumerate.space.patterns.fitting_size import OutputLoops
from spaces.enumerate.space.patterns.lanes import storage_along_lanes
from spaces.enumerate.space.patterns.stage_shapes import stage_shapes
from spaces.enumerate.space.patterns.tails import with_guarded_updates
from spaces.enumerate.space.places import NO_PLACES, FuncPlaces
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, OrderedLoop
from spaces.model.schedules.schedule import INLINE, FuncSchedule, LoopLevel, Schedule, StageOf


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
