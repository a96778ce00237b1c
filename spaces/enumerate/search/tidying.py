"""The normal form of a schedule: the same nest at the estimates, without directives that change
nothing there.

Searches try numbers and directives that turn out to do nothing: a split by 1, a tile longer than
the extent, ``align_bounds`` of what is aligned, a wrapper that is inlined, ``atomic`` where
iterations that change the same element run one by one. People who read a result look for the reason
of each. What a search hands over has none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain

from attrs import evolve, field, frozen

from spaces.cost.features.extraction import FeatureMemo, extract_features
from spaces.enumerate.space.atomic_stages import atomic_stages
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.formulas.algebra import FormulaError
from spaces.model.formulas.regions import UnboundedError
from spaces.model.formulas.symbolic import SymbolicNumber, as_array
from spaces.model.schedules.derivations import RFactor, Wrap
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import DomainOrder, Fuse, LoopKind, OrderedLoop, Split
from spaces.model.schedules.levels import LevelError
from spaces.model.schedules.schedule import Alignment, FuncSchedule, LoopLevel, Schedule

FUNCS = 512
"""How many Funcs are placed anew for one normal form, at most: forms of large pipelines may keep
directives that do nothing.
"""


@frozen
class NestSizes:
    """A loop nest at some sizes, as far as schedules may be equal.

    Attributes:
        loops: for each stage its loops of more than one iteration, outermost first, with their
            kinds and iterations.
        points: for each stage how many values it computes.
        required: for each computed Func the extents of what it computes.
        trips: the iterations of each loop of a stage, by Func, stage and name.
    """

    loops: Mapping[tuple[str, int], tuple[tuple[LoopKind, int], ...]]
    points: Mapping[tuple[str, int], int]
    required: Mapping[str, tuple[int, ...]]
    trips: Mapping[tuple[str, int, str], int] = field(eq=False)

    @staticmethod
    def of(pipeline: Pipeline, schedule: Schedule, memo: FeatureMemo | None = None) -> NestSizes:
        """The nest of a schedule at the estimates of a pipeline.

        Raises:
            LevelError, UnboundedError, FormulaError: the schedule has no loop nest, or no sizes.
        """
        found = extract_features(pipeline, schedule, memo).read_ints(pipeline.sizes())
        places = [((stage.func, stage.index), stage) for stage in found.stages]
        return NestSizes(
            loops={
                place: tuple((one.kind, _count(one.trips)) for one in stage.loops if one.trips != 1)
                for place, stage in places
            },
            points={place: _count(stage.points) for place, stage in places},
            required={func.name: tuple(map(_count, func.required)) for func in found.funcs},
            trips={loop.key: _count(loop.trips) for _, stage in places for loop in stage.own},
        )

    def extent(self, function: Function, dimension: str) -> int | None:
        """The extent of a dimension of a Func; None of an RVar."""
        extents = dict(zip(function.args, self.required.get(function.name, ()), strict=False))
        return extents.get(dimension)

    def has_no_more_than(self, other: NestSizes) -> bool:
        """Whether the nest has the loops of another one, some of them shorter: those that ran
        beyond the end.
        """
        if self.loops.keys() != other.loops.keys():
            return False
        same_kinds = all(
            [kind for kind, _ in loops] == [kind for kind, _ in other.loops[place]]
            for place, loops in self.loops.items()
        )
        pairs = (
            (a, b)
            for p, loops in self.loops.items()
            for a, b in zip(loops, other.loops[p], strict=False)
        )
        return (
            same_kinds
            and all(a[1] <= b[1] for a, b in pairs)
            and all(points <= other.points[place] for place, points in self.points.items())
        )


def tidied(
    pipeline: Pipeline,
    schedule: Schedule,
    is_legal: Callable[[Schedule], bool],
    kept: Collection[str] = (),
    memo: FeatureMemo | None = None,
) -> Schedule:
    """The normal form of a schedule: without each directive whose absence leaves the nest at the
    estimates as it is, but for loops of one iteration and for iterations beyond the end of a loop.

    Args:
        pipeline: the pipeline as written, with estimates.
        schedule: a legal schedule with numbers for all factors.
        is_legal: whether another schedule is.
        kept: the Funcs whose entries stay as they are.
        memo: what the nests of other schedules have in common with this one.
    """
    # A verdict takes longer than a nest, and hardly any form is illegal: one verdict is enough.
    form = _simplest(pipeline, schedule, lambda one: True, kept, memo)
    if form == schedule or is_legal(form):
        return form
    return _simplest(pipeline, schedule, is_legal, kept, memo)


def _simplest(
    pipeline: Pipeline,
    schedule: Schedule,
    is_wanted: Callable[[Schedule], bool],
    kept: Collection[str],
    memo: FeatureMemo | None,
) -> Schedule:
    """Leaves out one directive after another. Each time the nest stays the same or only loses
    iterations, and the schedule is wanted.
    """
    own = NestSizes.of(pipeline, schedule, memo)
    tries = iter(range(max(4, FUNCS // len(schedule.funcs))))
    while True:
        same = (
            (one, sizes)
            for one, _ in zip(_without_directive(pipeline, schedule, kept), tries, strict=False)
            if (sizes := _sizes(pipeline, one, memo)) == own
        )
        shorter = (
            (one, sizes)
            for one, _ in zip(_without_loop(pipeline, schedule, own, kept), tries, strict=False)
            if (sizes := _sizes(pipeline, one, memo)) and sizes.has_no_more_than(own)
        )
        found = next((both for both in chain(same, shorter) if is_wanted(both[0])), None)
        if found is None:
            return schedule
        schedule, own = found


def _sizes(pipeline: Pipeline, schedule: Schedule, memo: FeatureMemo | None) -> NestSizes | None:
    """The nest of a schedule at the estimates; None if it has none."""
    try:
        return NestSizes.of(pipeline, schedule, memo)
    except (LevelError, UnboundedError, FormulaError, KeyError):
        return None


def _without_directive(
    pipeline: Pipeline, schedule: Schedule, kept: Collection[str]
) -> Iterator[Schedule]:
    """Schedules with one wrapper, one ``align_bounds`` or one idle ``atomic`` less."""
    functions = _functions(pipeline, schedule)
    for step in reversed(schedule.derivations):
        if isinstance(step, Wrap) and step not in pipeline.derivations:
            yield from _without_wrapper(schedule, step)
    for entry in schedule.funcs:
        for bound in entry.bounds if entry.name not in kept else ():
            if isinstance(bound, Alignment):
                bounds = tuple(one for one in entry.bounds if one is not bound)
                yield schedule.replace(evolve(entry, bounds=bounds))
        if entry.atomic and entry.name not in kept:
            needed = atomic_stages(functions[entry.name], entry.stages)
            for stage in set(entry.atomic).difference(needed):
                others = tuple(one for one in entry.atomic if one != stage)
                yield schedule.replace(evolve(entry, atomic=others))


def _without_loop(
    pipeline: Pipeline, schedule: Schedule, sizes: NestSizes, kept: Collection[str]
) -> Iterator[Schedule]:
    """Schedules without one split or fuse that has a loop of one iteration."""
    functions = _functions(pipeline, schedule)
    for entry in schedule.funcs:
        if entry.name not in kept and _is_plain(schedule, entry):
            for stage, order in enumerate(entry.stages):
                place = _StageOrder(schedule, entry, functions[entry.name], stage, order)
                for record in order.splits:
                    yield from place.without(record, sizes)


def _functions(pipeline: Pipeline, schedule: Schedule) -> Mapping[str, Function]:
    """The Funcs of a schedule by name, those that it derives, too."""
    return {function.name: function for function in derived(pipeline, schedule).functions}


def _without_wrapper(schedule: Schedule, step: Wrap) -> Iterator[Schedule]:
    """The schedule without a wrapper that is inlined, if no other derivation builds on it."""
    others = tuple(one for one in schedule.derivations if one is not step)
    if not schedule.of(step.name).compute.is_inline or any(
        step.name in (one.func, *getattr(one, "consumers", ())) for one in others
    ):
        return
    entries = tuple(entry for entry in schedule.funcs if entry.name != step.name)
    yield Schedule(entries, others)


def _is_plain(schedule: Schedule, entry: FuncSchedule) -> bool:
    """Whether nothing but compute and store levels names the loops of a Func."""
    names = {name.other.func for one in schedule.funcs for name in one.companions}
    factored = {one.func for one in schedule.derivations if isinstance(one, RFactor)}
    return not (
        entry.specializations
        or entry.companions
        or entry.name in names | factored
        or any(order.prefetches or order.partitions for order in entry.stages)
    )


@frozen
class _StageOrder:
    """The domain order of a stage in its schedule."""

    schedule: Schedule
    entry: FuncSchedule
    function: Function
    stage: int
    order: DomainOrder

    def without(self, record: Split | Fuse, sizes: NestSizes) -> Iterator[Schedule]:
        """The schedule without a split that makes a loop of a single iteration or whose loops are
        fused again, or without a fuse of a dimension of one iteration.
        """
        if isinstance(record, Split):
            yield from self._without_round_trip(record)
            for lost, left in ((record.inner, record.outer), (record.outer, record.inner)):
                if sizes.trips.get((self.entry.name, self.stage, lost)) == 1:
                    yield from self._without_split(record, lost, left)
        else:
            for once, left in ((record.inner, record.outer), (record.outer, record.inner)):
                if sizes.extent(self.function, once) == 1:
                    yield from self._without_fuse(record, once, left)

    def _without_round_trip(self, split: Split) -> Iterator[Schedule]:
        """The schedule without a split and the fuse of its two loops in their order; none if
        something else takes or is computed at one of these loops.
        """
        records = self.order.splits
        later = records[records.index(split) + 1 :]
        made = {split.outer, split.inner}
        fuse = next((one for one in later if made & {*one.taken, *one.made}), None)
        if not isinstance(fuse, Fuse) or (fuse.inner, fuse.outer) != (split.inner, split.outer):
            return
        place = later.index(fuse)
        renamed = (_renamed(one, fuse.fused, split.old) for one in later[place + 1 :])
        loops = [
            evolve(loop, name=split.old) if loop.name == fuse.fused else loop
            for loop in self.order.loops
        ]
        splits = (*records[: records.index(split)], *later[:place], *renamed)
        yield from self._changed(splits, loops, fuse.fused, split.old)

    def _without_fuse(self, record: Fuse, once: str, left: str) -> Iterator[Schedule]:
        place = self.order.splits.index(record)
        before, later = self.order.splits[:place], self.order.splits[place + 1 :]
        if any(once in one.made for one in before) or record.fused not in self.order.names:
            return
        loops: list[OrderedLoop] = []
        for loop in self.order.loops:
            if loop.name == record.fused:
                loops.append(OrderedLoop(once))
                loop = evolve(loop, name=left)
            loops.append(loop)
        yield from self._changed((*before, *later), loops, record.fused, left)

    def _without_split(self, record: Split, lost: str, left: str) -> Iterator[Schedule]:
        place = self.order.splits.index(record)
        later = self.order.splits[place + 1 :]
        is_named = any(lost in (*one.taken, *one.made) for one in later)
        is_gpu = self.order.kind(lost).is_gpu and not self.order.kind(left).is_gpu
        if is_named or is_gpu or lost not in self.order.names or self._is_level(lost):
            return
        splits = (*self.order.splits[:place], *(_renamed(one, left, record.old) for one in later))
        loops = [
            evolve(loop, name=record.old) if loop.name == left else loop
            for loop in self.order.loops
            if loop.name != lost
        ]
        yield from self._changed(splits, loops, left, record.old)

    def _changed(
        self, splits: Sequence[Split | Fuse], loops: Sequence[OrderedLoop], old: str, new: str
    ) -> Iterator[Schedule]:
        """The schedule with other splits and loops of the stage, in which a loop has another name;
        none if two loops have the same one.
        """
        if len({loop.name for loop in loops}) == len(loops):
            orders = list(self.entry.stages)
            orders[self.stage] = evolve(self.order, splits=tuple(splits), loops=tuple(loops))
            changed = self.schedule.replace(evolve(self.entry, stages=tuple(orders)))
            yield _with_level(changed, LoopLevel(self.entry.name, old), new)

    def _is_level(self, loop: str) -> bool:
        """Whether a Func is computed, stored or hoisted at a loop of this name."""
        level = LoopLevel(self.entry.name, loop)
        return any(level in (one.compute, one.store, one.hoist) for one in self.schedule.funcs)


def _renamed(record: Split | Fuse, old: str, new: str) -> Split | Fuse:
    """A record with another name of one loop."""

    def of(name: str) -> str:
        return new if name == old else name

    if isinstance(record, Fuse):
        return Fuse(of(record.inner), of(record.outer), of(record.fused))
    return evolve(record, old=of(record.old), outer=of(record.outer), inner=of(record.inner))


def _with_level(schedule: Schedule, level: LoopLevel, name: str) -> Schedule:
    """The schedule with another name of the loop of a level."""
    moved = evolve(level, loop=name)

    def of(one: LoopLevel) -> LoopLevel:
        return moved if one == level else one

    return schedule.with_funcs(
        evolve(entry, compute=of(entry.compute), store=of(entry.store), hoist=of(entry.hoist))
        for entry in schedule.funcs
    )


def _count(number: SymbolicNumber) -> int:
    """A feature that was read as an int."""
    return int(as_array(number))
