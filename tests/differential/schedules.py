"""Schedules that make sense, drawn Func by Func from the outputs inwards.

Each choice is drawn among those that are legal as far as names tell: levels among the loops around
all uses, kinds by the place of a loop, factors that are small. What regions decide is left to
chance, so some of these schedules are illegal all the same.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

from attrs import define, evolve, field

from spaces.constraints.dependences.hazards import ordering, racing_dimensions
from spaces.model.algorithm.pipeline import Function, Pipeline, size_variable
from spaces.model.directives.directives import Directives
from spaces.model.nest.splits import BLENDING
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import LoopKind, PrefetchBound, Tail
from spaces.model.schedules.levels import Levels, Path
from spaces.model.schedules.reductions.accumulation import accumulation
from spaces.model.schedules.schedule import MemoryType, Schedule
from tests.differential.companions import with_companions
from tests.differential.derivations import with_funcs_added

AT_ONCE = (LoopKind.PARALLEL, LoopKind.VECTORIZED, LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)

_INSIDE_TAILS = (Tail.AUTO, Tail.GUARD_WITH_IF, Tail.SHIFT_INWARDS, Tail.PREDICATE)
_PREDICATES = (Tail.PREDICATE_LOADS, Tail.PREDICATE_STORES)
_PURE_TAILS = (Tail.AUTO, *_INSIDE_TAILS, Tail.ROUND_UP, *_PREDICATES)
_OUTPUT_TAILS = (*_INSIDE_TAILS, *_INSIDE_TAILS, Tail.PREDICATE_STORES, *_PURE_TAILS)
_EXACT_TAILS = (Tail.AUTO, Tail.GUARD_WITH_IF, Tail.PREDICATE)
_OUTPUT_UPDATE_TAILS = (*_EXACT_TAILS, Tail.PREDICATE_STORES, Tail.SHIFT_INWARDS_AND_BLEND)
_UPDATE_TAILS = (*_EXACT_TAILS, Tail.ROUND_UP, *_PREDICATES, *BLENDING)
_NESTED, _NESTED_TOGETHER = 0.3, 0.8
"""Of schedules, how many compute most Funcs deep inside their readers and store them outside: of
all, and of those for pipelines that read at coordinates which move together.
"""

NESTED = frozenset(("level: inside a level", "level: stored outside of a level"))
_MOST_LANES, _MOST_COPIES = 8, 4
"""Lanes and copies of a stage: more only takes LLVM longer."""


def cpu_schedule(
    rng: random.Random, pipeline: Pipeline, aims: frozenset[str] = frozenset()
) -> Schedule:
    """A schedule for a CPU, with the Funcs that are aimed at added."""
    directives = with_funcs_added(rng, pipeline, aims)
    pipeline = derived(pipeline, directives.schedule)
    nested = is_nested(rng, pipeline, aims)
    place = place_func_deep if nested else place_func
    for function in reversed(pipeline.functions):
        directives = directives.func(function.name)
        around: tuple[LoopKind, ...] = ()
        if function.name not in pipeline.outputs:
            directives, around = place(rng, directives, pipeline, function)
            if directives.schedule.of(function.name).compute.is_inline:
                continue
        for index in range(len(function.stages)):
            stage = directives if index == 0 else directives.update(index - 1)
            order = _Order(rng, stage, function, index, pipeline, around, mostly_serial=nested)
            directives = order.draw()
            if rng.random() < 0.06:
                special = specialized(rng, directives, pipeline)
                directives = evolve(order, directives=special).draw()
    return with_companions(rng, pipeline, directives.schedule)


def is_nested(rng: random.Random, pipeline: Pipeline, aims: frozenset[str]) -> bool:
    """Whether a schedule computes most Funcs in loops of Funcs that are in loops themselves."""
    share = _NESTED_TOGETHER if _moves_together(pipeline) else _NESTED
    return rng.random() < (0.9 if aims & NESTED else share)


def _moves_together(pipeline: Pipeline) -> bool:
    """Whether a Var moves two coordinates of what some stage reads of a Func."""
    for function in pipeline.functions:
        for call in (call for stage in function.stages for call in stage.calls):
            if not pipeline.is_image[call.target]:
                moving = [arg.names & {*function.args} for arg in call.args]
                if any(a & b for a, b in itertools.combinations(moving, 2)):
                    return True
    return False


def specialized(rng: random.Random, directives: Directives, pipeline: Pipeline) -> Directives:
    """A specialization of the selected stage, which begins anew."""
    output = rng.choice(pipeline.outputs)
    if not pipeline.function(output).args:
        return directives
    size = size_variable(output, rng.choice(("min", "extent", "extent")), 0)
    name, stage = directives.selected, directives.stage
    limit = rng.choice((0, 1, 4, 8, 9, 12, 16, 20))
    condition = rng.choice((size >= limit, size == limit, size < limit, size % 4 == 0))
    before = directives.schedule.of(name).stages[stage]
    plain = Schedule.default(pipeline).of(name).stages[stage]
    anew = evolve(directives, schedule=directives.schedule.with_stage(name, stage, plain))
    special = anew.specialize(condition)
    return evolve(special, schedule=special.schedule.with_stage(name, stage, before))


def levels_around(pipeline: Pipeline, directives: Directives, func: str) -> tuple[Levels, Path]:
    """The loops around every use of a Func, where it may be computed."""
    levels = Levels(pipeline, directives.func(func).compute_root().schedule)
    return levels, levels.enclosing(func)


def tails_of(
    pipeline: Pipeline, function: Function, index: int, dimensions: frozenset[str]
) -> Sequence[Tail]:
    """The tails, by how often they are drawn, of a split of a loop of a stage that is made of some
    dimensions.
    """
    if dimensions & {r.name for r in function.stages[index].rvars}:
        return _EXACT_TAILS
    is_output = function.name in pipeline.outputs
    if index:
        return _OUTPUT_UPDATE_TAILS if is_output else _UPDATE_TAILS
    return _OUTPUT_TAILS if is_output else (*_PURE_TAILS, *BLENDING)


def place_func(
    rng: random.Random, directives: Directives, pipeline: Pipeline, function: Function
) -> tuple[Directives, tuple[LoopKind, ...]]:
    """Where a Func is computed and stored, and the kinds of the loops around it."""
    form = rng.random()
    if form < 0.2 and function.is_pure:
        return directives.compute_inline(), ()
    levels, legal = levels_around(pipeline, directives, function.name)
    directives = layout(rng, directives, function)
    if form < 0.45 or not legal:
        return _memory(rng, directives.compute_root(), inside=False), ()
    kinds = tuple(levels.kind(place) for place in legal)
    first = kinds.index(LoopKind.VECTORIZED) if LoopKind.VECTORIZED in kinds else len(legal)
    depth = rng.randrange(len(legal)) if rng.random() < 0.1 or not first else rng.randrange(first)
    outer = _outermost_store(kinds, depth)
    store = rng.randint(outer, depth) if rng.random() < 0.5 else depth
    directives = _at(directives, legal, depth, store)
    if rng.random() < 0.15 and outer < store:
        hoist = rng.randint(outer, store - 1)
        level = legal[hoist] if hoist >= 0 else None
        directives = (
            directives.hoist_storage(level.func, level.loop)
            if level is not None
            else directives.hoist_storage_root()
        )
    if store < depth and function.args and rng.random() < 0.15:
        factor = rng.choice((3, 4, 8, 16, 32))
        directives = directives.fold_storage(rng.choice(function.args), factor)
    return _memory(rng, directives, inside=True), kinds[: depth + 1]


def place_func_deep(
    rng: random.Random, directives: Directives, pipeline: Pipeline, function: Function
) -> tuple[Directives, tuple[LoopKind, ...]]:
    """As :func:`place_func`, but mostly in loops of the innermost Func that has loops around all
    uses, and stored outside of them.
    """
    levels, legal = levels_around(pipeline, directives, function.name)
    kinds = tuple(levels.kind(place) for place in legal)
    first = kinds.index(LoopKind.VECTORIZED) if LoopKind.VECTORIZED in kinds else len(legal)
    if not first or rng.random() < 0.1:
        return place_func(rng, directives, pipeline, function)
    depth = rng.choice([i for i in range(first) if legal[i].func == legal[first - 1].func])
    store = depth
    if rng.random() < 0.8:
        outer = _outermost_store(kinds, depth)
        store = min(rng.randint(outer, depth), rng.randint(outer, depth))
    return _at(directives, legal, depth, store), kinds[: depth + 1]


def _outermost_store(kinds: Sequence[LoopKind], depth: int) -> int:
    """The outermost level to store at for a compute level, with -1 for root: iterations that run
    at once do not share storage.
    """
    while depth >= 0 and kinds[depth] not in AT_ONCE:
        depth -= 1
    return depth


def _at(directives: Directives, legal: Path, depth: int, store: int) -> Directives:
    """Computed at one of some levels and stored at another, or at root where that is -1."""
    directives = directives.compute_at(legal[depth].func, legal[depth].loop)
    if store == -1:
        return directives.store_root()
    return (
        directives.store_at(legal[store].func, legal[store].loop) if store < depth else directives
    )


def layout(rng: random.Random, directives: Directives, function: Function) -> Directives:
    """Now and then another order of dimensions, padding, and wider or explicit bounds."""
    args = function.args
    if not args:
        return directives
    if rng.random() < 0.1:
        directives = directives.reorder_storage(*rng.sample(args, rng.randint(1, len(args))))
    if rng.random() < 0.08:
        directives = directives.align_storage(rng.choice(args), rng.choice((1, 3, 4, 8)))
    if rng.random() < 0.08:
        modulus = rng.choice((2, 3, 4))
        directives = directives.align_bounds(rng.choice(args), modulus, rng.randint(-1, modulus))
    if rng.random() < 0.05:
        directives = directives.bound_storage(rng.choice(args), rng.choice((2, 4, 16, 64)))
    if rng.random() < 0.05:
        directives = directives.align_extent(rng.choice(args), rng.choice((2, 3, 4)))
    if rng.random() < 0.05:
        directives = directives.bound_extent(rng.choice(args), rng.choice((4, 8, 16, 40)))
    if rng.random() < 0.02:
        directives = directives.bound(rng.choice(args), rng.randint(-4, 0), rng.choice((8, 40)))
    return directives


def _memory(rng: random.Random, directives: Directives, inside: bool) -> Directives:
    if rng.random() < 0.94:
        return directives
    kinds = (
        (MemoryType.HEAP, MemoryType.STACK, MemoryType.REGISTER) if inside else (MemoryType.HEAP,)
    )
    return directives.store_in(rng.choice(kinds))


@define
class _Order:
    """The domain order of one stage; ``loops`` are innermost first, each with the dimensions it
    is made of. Windows slide along serial loops: with ``mostly_serial`` few others are drawn.
    """

    rng: random.Random
    directives: Directives
    function: Function
    index: int
    pipeline: Pipeline
    around: tuple[LoopKind, ...]
    mostly_serial: bool = False
    loops: dict[str, frozenset[str]] = field(init=False)
    small: dict[str, int] = field(init=False, factory=dict)
    blended: frozenset[str] = field(init=False, default=frozenset())

    def draw(self) -> Directives:
        dimensions = self.function.stages[self.index].dimensions
        self.loops = {name: frozenset({name}) for name in dimensions}
        counts = (0, 0, 0, 0, 1, 2) if self.mostly_serial else (0, 0, 1, 1, 1, 2, 2, 3)
        splits = self.rng.choice(counts) if self.loops else 0
        for number in range(splits):
            self._split(number)
        if self.rng.random() < 0.12:
            self._fuse()
        if self.rng.random() < 0.5:
            self._reorder()
        self._kinds()
        self._partitions()
        if self.rng.random() < 0.15 and self.loops:
            self._prefetch()
        return self.directives

    def _prefetch(self) -> None:
        """A source of a read: mostly an image, because an image always has pixels to prefetch."""
        order = self.directives.schedule.of(self.function.name).stages[self.index]
        serial = [n for n in order.names if order.kind(n) is not LoopKind.VECTORIZED]
        at = self.rng.choice(serial or order.names)
        origin = self.rng.choice(order.names[: order.names.index(at) + 1])
        reads = {c.target for c in self.function.stages[self.index].calls}
        images = [i.name for i in self.pipeline.images if i.name in reads]
        targets = images if self.rng.random() < 0.8 else sorted(reads)
        if not targets:
            return
        target = self.rng.choice(targets)
        offset, bound = self.rng.randint(0, 3), self.rng.choice(list(PrefetchBound))
        self.directives = self.directives.prefetch(target, at, origin, offset, bound)

    def _partitions(self) -> None:
        for name in self.loops:
            drawn = self.rng.random()
            if drawn < 0.05:
                self.directives = self.directives.never_partition(name)
            elif drawn < 0.12:
                self.directives = self.directives.always_partition(name)

    def _split(self, number: int) -> None:
        old = self.rng.choice(list(self.loops))
        factor = self.rng.choice((1, 2, 2, 3, 4, 4, 5, 8))
        inner = f"{old.replace('.', '_')}i{number}"
        tails = tails_of(self.pipeline, self.function, self.index, self.loops[old])
        tail = self.rng.choice(tails)
        self.directives = self.directives.split(old, old, inner, factor, tail)
        origin, self.loops = self.loops[old], dict(self.loops)
        self.blended |= origin if tail in BLENDING else frozenset()
        names: dict[str, frozenset[str]] = {}
        for name, made_of in self.loops.items():
            names.update({inner: origin, old: origin} if name == old else {name: made_of})
        self.loops, self.small = names, {**self.small, inner: factor}
        self.small.pop(old, None)

    def _fuse(self) -> None:
        names = [n for n, origin in self.loops.items() if not origin & self._ordered()]
        if len(names) < 2:
            return
        at = self.rng.randrange(len(names) - 1)
        inner, outer = names[at], names[at + 1]
        self.directives = self.directives.fuse(inner, outer, "t")
        merged = self.loops[inner] | self.loops[outer]
        self.loops = {
            "t" if n == inner else n: merged if n == inner else o
            for n, o in self.loops.items()
            if n != outer
        }
        if inner in self.small and outer in self.small:
            self.small["t"] = self.small[inner] * self.small[outer]

    def _reorder(self) -> None:
        """Any order, but that of loops whose iterations depend on one another."""
        names = list(self.loops)
        kept = [n for n in names if self.loops[n] & self._ordered()]
        self.rng.shuffle(names)
        places = iter(kept)
        names = [next(places) if n in kept else n for n in names]
        self.directives = self.directives.reorder(*names)
        self.loops = {n: self.loops[n] for n in names}

    def _ordered(self) -> frozenset[str]:
        return frozenset(ordering(self.function, self.index).dimensions)

    def _kinds(self) -> None:
        racing = racing_dimensions(self.function, self.index)
        found = accumulation(self.function, self.index)
        one = found is not None and bool(found.operators)
        whole = self.directives.within is None
        if whole and one and racing and self.rng.random() < 0.3:
            self.directives, racing = self.directives.atomic(), frozenset()
        lanes, copies = 1, 1
        in_vector = self.mostly_serial or LoopKind.VECTORIZED in self.around
        for depth, name in enumerate(reversed(self.loops)):
            free, size = not self.loops[name] & racing, self.small.get(name, 0)
            alone = free and not self.loops[name] & self.blended
            drawn = self.rng.random()
            wanted = 0.1 if in_vector else 0.45
            if free and 1 < size and size * lanes <= _MOST_LANES and drawn < wanted:
                self.directives, in_vector = self.directives.vectorize(name), True
                lanes *= size
            elif 1 <= size and size * copies <= _MOST_COPIES and drawn < 0.57:
                self.directives, copies = self.directives.unroll(name), copies * size
            elif alone and not in_vector and drawn > (0.75 if depth == 0 else 0.93):
                self.directives = self.directives.parallel(name)
