"""Bounds inference: for each computed Func its site, its boxes and its loops [RK13 4.2].

Works consumers first. The box that a Func must provide at its compute level is a union over the
stages that read it. Each stage adds the intervals of the coordinates that it reads while all loops
inside that level range over their bounds.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property, lru_cache, reduce

from attrs import define, evolve, field, frozen

from spaces.model.algorithm.pipeline import Function, Image, Pipeline, Stage, size_variable
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr, constant
from spaces.model.expressions.types import Int32
from spaces.model.formulas.boxes import united_boxes
from spaces.model.formulas.interval import Box, Interval
from spaces.model.formulas.known_forms import KnownForms
from spaces.model.formulas.regions import UnboundedError
from spaces.model.formulas.simplify import Simplifier
from spaces.model.memo import Memo, MemoEntry
from spaces.model.nest.allocation import Allocation, allocated
from spaces.model.nest.demand import ALWAYS, Demand, demanded
from spaces.model.nest.fused_loops import joined
from spaces.model.nest.inward_shifts import inward_shifts
from spaces.model.nest.largest import largest
from spaces.model.nest.placement import DemandSite, Placement
from spaces.model.nest.read_boxes import ReadBoxes
from spaces.model.nest.reads import Reads, Window, reads
from spaces.model.nest.sliding import slide
from spaces.model.nest.stage_visits import StageVisits
from spaces.model.nest.traversal import LoopVar
from spaces.model.nest.values import ValueBounds
from spaces.model.schedules.conditions import assume
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import Split
from spaces.model.schedules.explicit_bounds import declared
from spaces.model.schedules.fused_groups import Fused, dependent, in_turn, turns
from spaces.model.schedules.levels import LevelError, Levels, LoopOf, Path
from spaces.model.schedules.schedule import Schedule


@frozen
class KnownBounds:
    """Parts of the bounds of recent nests. Different readers often demand the same, so what is
    placed below them is the same, too.

    Attributes:
        placements: placements of Funcs, by their readers and by the regions that readers demand.
        demanded: the same without loops of the Func.
        images: regions that are read of images.
        allocations: storage of Funcs, by the numbers of placements.
        forms: normal forms of formulas.
        sites: the reads and writes that demand a region.
        largest: the largest sizes that loops in kernels reach.
        surroundings: gives a number to what is known of sizes.
    """

    placements: Memo[MemoEntry[Placement]] = field(factory=lambda: Memo(4096))
    demanded: Memo[Placement] = field(factory=lambda: Memo(4096))
    images: Memo[Box] = field(factory=lambda: Memo[Box](4096))
    allocations: Memo[Allocation] = field(factory=lambda: Memo[Allocation](4096))
    forms: KnownForms = field(factory=KnownForms)
    sites: Memo[DemandSite] = field(factory=lambda: Memo[DemandSite](4096))
    largest: Memo[Expr] = field(factory=lambda: Memo[Expr](4096))
    surroundings: Memo[None] = field(factory=lambda: Memo[None](64))


@define
class Bounds:
    """All placements of a well-formed (pipeline, schedule), and the regions that follow from them;
    ``pipeline`` becomes what derivations of the schedule make of it. Where the schedule is followed
    only in some calls, ``assumptions`` hold of their sizes.

    With a ``memo``, what it knows is not found again; ``numbers`` are the numbers that it gives to
    placements. ``given`` is the pipeline before derivations. Where ``sizes`` are given, the regions
    are those at these sizes of outputs and images: shorter formulas, found sooner.

    Raises:
        LevelError: a compute or store level does not enclose the uses of its Func.
        UnboundedError: something is read at coordinates without limits.
        KeyError: the schedule does not cover the pipeline, or a domain order names unknown loops
            (``verify`` says so in words).
    """

    pipeline: Pipeline
    schedule: Schedule
    assumptions: tuple[Expr, ...] = ()
    memo: KnownBounds | None = None
    sizes: Mapping[str, int] = field(factory=dict)
    simplify: Simplifier = field(init=False)
    given: Pipeline = field(init=False)
    levels: Levels = field(init=False)
    values: ValueBounds = field(init=False)
    visits: StageVisits = field(init=False)
    placements: dict[str, Placement] = field(init=False, factory=dict)
    numbers: dict[str, int] = field(init=False, factory=dict)
    _boxes: ReadBoxes = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.given = self.pipeline
        self.simplify = Simplifier(shared=None if self.memo is None else self.memo.forms)
        for name, value in self.sizes.items():
            self.simplify.fix_value(name, constant(value, Int32))
        self.pipeline = derived(self.given, self.schedule)
        self.levels = Levels(self.pipeline, self.schedule)
        self.values = ValueBounds(self.pipeline, self.assumptions)
        self.visits = StageVisits(self.schedule, self.simplify)
        self._boxes = ReadBoxes(
            self.schedule, self.simplify, self.values, self.visits, self.placements
        )
        self._assume_factors()
        self._assume_output_sizes()
        for condition in (*(p.condition for p in self.pipeline.promises), *self.assumptions):
            assume(self.simplify, condition)
        whole = {group[0]: group for group in self._groups()}
        for function in reversed(self.levels.functions):
            self.placements[function.name] = self._placed(function)
            if function.name in whole:
                self._fuse(whole[function.name])

    @cached_property
    def inputs(self) -> dict[str, Box]:
        """The box of each image that is read; found when asked for, which features never do."""
        boxes = {}
        for image in self.pipeline.images:
            readers = list(self.levels.uses(image.name))
            if readers:  # an inlined Func may ignore the coordinate that reads an image
                boxes[image.name] = self._image_box(image, readers)
        return boxes

    def _image_box(self, image: Image, readers: list[tuple[str, int]]) -> Box:
        """The box of an image, from the memo if it is known there."""
        if self.memo is None:
            return self._boxes.read(image.name, image.dimensions, readers, 0)
        reading = self._reading(image.name)
        context = (self.surroundings, self._algorithm(image.name), image, reading)
        known = self.memo.images.find(context)
        if known is None:
            box = self._boxes.read(image.name, image.dimensions, readers, 0)
            known = self.memo.images.keep(context, box)
        return known.value

    @cached_property
    def hoisted(self) -> dict[str, tuple[Expr, ...]]:
        """The extents of the memory of each Func that is hoisted out of loops: the most that it
        takes in any of their iterations. Where no such limit is known, the extents in one
        iteration.
        """
        return {
            name: self._hoisted_extents(name, allocation.extents)
            for name, allocation in self.allocations.items()
            if self.schedule.of(name).is_hoisted
        }

    def _hoisted_extents(self, name: str, extents: tuple[Expr, ...]) -> tuple[Expr, ...]:
        placement, depth = self.placements[name], len(self.levels.hoist_path(name))
        loops = placement.path[depth : placement.store_depth]
        return tuple(largest(e, loops, self.simplify) for e in extents)

    def memory_of(self, name: str) -> tuple[Expr, ...]:
        """The extents of the memory of a Func that is stored; last the places of a ring buffer."""
        extents = self.hoisted.get(name, self.allocations[name].extents)
        slots = self.schedule.of(name).ring
        return extents if slots is None else (*extents, constant(slots, Int32))

    @cached_property
    def allocations(self) -> dict[str, Allocation]:
        """What is allocated for each Func that is computed and no output."""
        names = (name for name in self.placements if name not in self.pipeline.outputs)
        return {name: self._allocation(name) for name in names}

    def _allocation(self, name: str) -> Allocation:
        """What is allocated for a Func, from the memo if it is known there."""
        number = None if self.memo is None else self.numbers[name]
        known = None if self.memo is None else self.memo.allocations.find(number)
        if known is not None:
            return known.value
        placed = self.placements[name]
        entry = self.schedule.of(name)
        found = allocated(placed.function, entry, placed.storage, self.simplify)
        return found if self.memo is None else self.memo.allocations.keep(number, found).value

    def _assume_factors(self) -> None:
        """Every factor that is a parameter is at least 1."""
        for func in self.schedule.funcs:
            records = [r for order in func.stages for r in order.splits if isinstance(r, Split)]
            for factor in [r.factor for r in records] + [f.factor for f in func.folds]:
                if isinstance(factor, str):
                    self.simplify.assume(factor, constant(1, Int32), None)

    def _assume_output_sizes(self) -> None:
        """An output is at least as large as the factors that shift its tiles inwards; a smaller
        one is refused when the pipeline is called.
        """
        for name in self.pipeline.outputs:
            function = self.pipeline.function(name)
            for shift in inward_shifts(function, self.schedule.of(name)):
                size = size_variable(name, "extent", function.args.index(shift.dimension))
                if size.name in self.sizes:
                    continue
                known, _ = self.simplify.known(size.name)
                least = shift.factor if known is None else fn.max(known, shift.factor)
                self.simplify.assume(size.name, self.simplify(least), None)

    def _placed(self, function: Function) -> Placement:
        """The placement of a Func, from the memo if it is known there."""
        if self.memo is None:
            return self._place(function, self._site(function))
        context = self._context(function)
        found = self.memo.placements.find(context)
        if found is None:
            known = self._demanded(function, self.memo)
            self.memo.placements.keep(context, known)
        else:
            known = found.value
            self._enter(known.value)
        self.numbers[function.name] = known.number
        placement = known.value
        return placement if placement.function is function else evolve(placement, function=function)

    def _demanded(self, function: Function, memo: KnownBounds) -> MemoEntry[Placement]:
        """The placement of a Func, from the memo if others demanded the same at its site."""
        site, entry = self._known_site(function, memo), self.schedule.of(function.name)
        own = self._algorithm_of(function), _form(function), entry
        sizes = self._sizes_named_by(function), self._sizes_of_output(function.name)
        context = (self.surroundings, *own, *sizes, site)
        known = memo.demanded.find(context)
        if known is None:
            return memo.demanded.keep(context, self._place(function, site))
        self._enter(known.value)
        return known

    def _enter(self, placement: Placement) -> None:
        """Takes over what placing a Func has found of its loops."""
        for traversal in placement.stages:
            for loop in traversal.loops:
                self.simplify.assume(loop.var.name, loop.min, loop.max)

    def _context(self, function: Function) -> Hashable:
        """All that the placement of a Func depends on, those of its readers by their numbers."""
        own = self._algorithm_of(function), _form(function), self.schedule.of(function.name)
        return (*own, self._sizes_named_by(function), self._site_context(function.name))

    def _site_context(self, name: str) -> Hashable:
        """All that the site of a Func depends on: its own loops do not count."""
        return (
            self.surroundings,
            self._algorithm(name),
            name,
            self._sizes_of_output(name),
            len(self.levels.compute_path(name)),
            len(self.levels.store_path(name)),
            self._reading(name),
        )

    def _reading(self, name: str) -> Hashable:
        """The placements that read a Func or an image, by their numbers, and where they do."""
        return tuple(
            (self.numbers[reader], index, self._windows(name, reader, index))
            for reader, index in self.levels.uses(name)
        )

    @cached_property
    def surroundings(self) -> Hashable:
        """What is known of all Funcs before any is placed: the limits of sizes that are not given,
        and what is promised or assumed. With a memo, the number that it gives to this, since all
        its keys contain it.

        Given sizes of outputs and images count for the Funcs that have or name them, and through
        their placements for all that these read. So parts of a pipeline that have other outputs
        have their placements in common.
        """
        sizes = (
            size_variable(name, "extent", d).name
            for name in self.pipeline.outputs
            for d in range(len(self.pipeline.function(name).args))
        )
        open_ = (size for size in sizes if size not in self.sizes)
        known = tuple((size, *self.simplify.known(size)) for size in open_)
        conditions = (*(p.condition for p in self.pipeline.promises), *self.assumptions)
        named = sorted(frozenset[str]().union(*(condition.names for condition in conditions)))
        whole = self.pipeline.promises, self.assumptions, known, self._given(named)
        if self.memo is None:
            return whole
        numbers = self.memo.surroundings
        return (numbers.find(whole) or numbers.keep(whole, None)).number

    def _given(self, names: Iterable[str]) -> Hashable:
        """The given ones among some sizes."""
        return tuple((name, self.sizes[name]) for name in names if name in self.sizes)

    def _sizes_named_by(self, function: Function) -> Hashable:
        """The given sizes that the definition of a Func names, as edges of images."""
        return self._given(_named_by(function))

    def _sizes_of_output(self, name: str) -> Hashable:
        """The given sizes of an output; None for another Func."""
        if name not in self.pipeline.outputs:
            return None
        dimensions = range(len(self.pipeline.function(name).args))
        ends = (size_variable(name, part, d) for part in ("min", "extent") for d in dimensions)
        return self._given(end.name for end in ends)

    @cached_property
    def _whole(self) -> Hashable:
        """All that values which the Funcs of the pipeline compute depend on."""
        return self.pipeline, self._given(sorted(self.sizes))

    def _algorithm(self, name: str) -> Hashable:
        """The whole pipeline if values that its Funcs compute are coordinates at which a Func or an
        image is read. Else None: its box is the same in all pipelines with these readers, such as
        the parts that half-decided schedules decide.
        """
        readers = (self._reads(reader, index) for reader, index in self.levels.uses(name))
        return self._whole if any(name in one.at_values for one in readers) else None

    def _algorithm_of(self, function: Function) -> Hashable:
        """The whole pipeline if values that its Funcs compute are coordinates or limits of the
        stages of a Func.
        """
        depends = any(_reads_values(function.name, stage) for stage in function.stages)
        return self._whole if depends else None

    def _windows(self, name: str, reader: str, index: int) -> tuple[tuple[Window, ...], ...]:
        return self._reads(reader, index).windows[name]

    def _reads(self, reader: str, index: int) -> Reads:
        return reads(self.placements[reader].function.stages[index])

    def _known_site(self, function: Function, memo: KnownBounds) -> DemandSite:
        """The site of a Func, from the memo if it is known there."""
        context = self._site_context(function.name)
        known = memo.sites.find(context) or memo.sites.keep(context, self._site(function))
        return known.value

    def _site(self, function: Function) -> DemandSite:
        path = self._loops(self.levels.compute_path(function.name))
        store_depth = len(self.levels.store_path(function.name))
        return DemandSite(path, store_depth, self._demand(function, len(path), store_depth))

    def _place(self, function: Function, site: DemandSite) -> Placement:
        path, store_depth, demand = site.path, site.store_depth, site.demand
        asked, required = self._required(function, demand.box)
        storage = slide(
            function,
            self.schedule.of(function.name),
            required,
            path,
            store_depth,
            self.simplify,
            self.visits.widened,
        )
        stages = self.visits.traversals(function, storage.target)
        if demand.condition is not ALWAYS:
            stages = tuple(one.asked(demand.condition) for one in stages)
        return Placement(
            function, path, store_depth, asked, required, storage, stages, demand.condition
        )

    def _groups(self) -> tuple[tuple[str, ...], ...]:
        """The Funcs that are computed with each other, each after all that any of a group reads."""
        functions, groups = self.levels.functions, self.levels.groups
        for group in groups:
            if pair := dependent(self.pipeline, group):
                raise LevelError(f"{pair[0]} is computed with {pair[1]}, which it reads.")
        if groups and in_turn(functions, groups) is None:
            names = "; ".join(" with ".join(group) for group in groups)
            raise LevelError(f"Funcs computed with each other wait for each other: {names}.")
        return groups

    def _fuse(self, group: tuple[str, ...]) -> None:
        """The loops of Funcs that are computed with each other, one for those that are fused."""
        placed = self.placements
        for turn in self.turns(group):
            own = {s: placed[s.func].stages[s.stage] for s in turn.stages}
            for stage, loops in joined(turn, self.levels.fused_groups, own, self.simplify).items():
                before = placed[stage.func].stages
                stages = (*before[: stage.stage], loops, *before[stage.stage + 1 :])
                placed[stage.func] = evolve(placed[stage.func], stages=stages)
        if self.memo is not None:
            self._number(group, self.memo)

    def _number(self, group: tuple[str, ...], memo: KnownBounds) -> None:
        """New numbers for the placements of Funcs whose loops are fused now. The numbers that all
        of them had before determine the loops.
        """
        before = tuple((name, self.numbers[name]) for name in group)
        for name in group:
            known = memo.demanded.find((name, before))
            known = known or memo.demanded.keep((name, before), self.placements[name])
            self.numbers[name] = known.number

    def turns(self, group: tuple[str, ...]) -> tuple[Fused, ...]:
        """The stages of Funcs that are computed with each other, in the order in which they run."""
        found = turns(self.schedule, group)
        if found is None:
            raise LevelError(f"The stages of {', '.join(group)} have no order in fused loops.")
        return found

    def _loops(self, path: Path) -> tuple[LoopVar, ...]:
        return tuple(self._loop(loop) for loop in path)

    def _loop(self, loop: LoopOf) -> LoopVar:
        traversal = self.placements[loop.func].stages[loop.stage]
        return next(one for one in traversal.loops if one.loop == loop.loop)

    def _required(self, function: Function, read: Box) -> tuple[Box, Box]:
        """What is read, and what updates touch; and what explicit bounds make of it."""
        schedule = self.schedule.of(function.name)
        demanded = self._boxes.touched_by_updates(function, read)
        required, _ = declared(function.args, schedule, demanded, self.simplify)
        if function.is_pure or not schedule.bounds:
            return demanded, required
        # Updates touch more where the bounds are wider; and what they touch there is there, too.
        demanded = united_boxes(
            demanded, self._boxes.touched_by_updates(function, required), self.simplify
        )
        required, _ = declared(function.args, schedule, demanded, self.simplify)
        return demanded, self._boxes.touched_by_updates(function, required)

    def _demand(self, function: Function, depth: int, store_depth: int) -> Demand:
        """What consumers read, and what the output must hold; of stages in fused loops what those
        read that run. What is kept beyond one visit is computed in turn, whoever runs.
        """
        name, dimensions = function.name, len(function.args)
        demands: list[Demand] = []
        if name in self.pipeline.outputs:
            box = tuple(
                Interval(
                    size_variable(name, "min", d),
                    self.simplify(
                        size_variable(name, "min", d) + size_variable(name, "extent", d) - 1
                    ),
                )
                for d in range(dimensions)
            )
            demands.append(Demand(ALWAYS, box))
        readers: dict[Expr, list[tuple[str, int]]] = {}
        for use in self.levels.uses(name):
            condition = ALWAYS if store_depth < depth else self._runs(*use, depth)
            readers.setdefault(condition, []).append(use)
        for condition, uses in readers.items():
            demands.append(Demand(condition, self._boxes.read(name, dimensions, uses, depth)))
        if not demands:
            raise UnboundedError(f"Func {name} is computed but nobody reads it.", name)
        return demanded(demands, self.simplify)

    def _runs(self, reader: str, index: int, depth: int) -> Expr:
        """In which iterations of the ``depth`` outermost loops around a stage it runs."""
        placement = self.placements[reader]
        traversal = placement.stages[index]
        inside = {loop.var.name for loop in (*placement.path, *traversal.loops)[depth:]}
        guards = (*traversal.running, *traversal.when)
        conditions = (g.condition for g in guards if inside.isdisjoint(g.condition.names))
        return self.simplify(reduce(operator.and_, conditions, ALWAYS))

    def read_inside(self, name: str, loop: LoopOf) -> Box:
        """What one iteration of a loop reads of a Func or an image, with all that is in it."""
        readers = [use for use in self.levels.uses(name) if loop in self.levels.stage_path(*use)]
        path = self.levels.stage_path(loop.func, loop.stage)
        images = {image.name: image.dimensions for image in self.pipeline.images}
        count = images[name] if name in images else len(self.pipeline.function(name).args)
        return self._boxes.read(name, count, readers, path.index(loop) + 1)


@lru_cache(maxsize=4096)
def _form(function: Function) -> Hashable:
    """What the loops of a Func depend on: all but its values."""
    stages = (_frame(function.name, stage) for stage in function.stages)
    return function.name, function.args, *stages


@lru_cache(maxsize=4096)
def _named_by(function: Function) -> tuple[str, ...]:
    """The variables that the definition of a Func names, beside its own Vars."""
    expressions = (e for stage in function.stages for e in stage.expressions)
    names = frozenset[str]().union(*(e.names for e in expressions))
    return tuple(sorted(names.difference(function.args)))


@lru_cache(maxsize=4096)
def _reads_values(func: str, stage: Stage) -> bool:
    """Whether the loops of a stage, or where it writes or reads what it wrote, depend on values
    that are read.
    """
    limits = (e for r in stage.rvars for e in (r.min, r.extent))
    own = (arg for call in stage.calls if call.target == func for arg in call.args)
    return any(e.loads for e in (*stage.args, *limits, *stage.predicates, *own))


def _frame(func: str, stage: Stage) -> Hashable:
    """What the loops of a stage depend on: all but its values."""
    own = tuple(call.args for call in stage.calls if call.target == func)
    return stage.args, stage.rvars, stage.predicates, own
