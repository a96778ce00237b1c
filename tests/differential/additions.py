"""Constructs put into a schedule that is drawn already, where they make sense.

Each looks for a Func and a loop that its construct fits; where it finds none, the schedule stays.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from attrs import define, evolve

from spaces import (
    Directives,
    DomainOrder,
    LevelError,
    LoopAlign,
    LoopKind,
    LoopLevel,
    MemoryType,
    OrderedLoop,
    Partition,
    Pipeline,
    PrefetchBound,
    Schedule,
    Split,
    Tail,
    derived,
)
from spaces.constraints.dependences.hazards import racing_dimensions
from spaces.model.algorithm.pipeline import Function, size_variable
from spaces.model.schedules.levels import Levels
from spaces.model.schedules.schedule import INLINE, ROOT, Fold, FuncSchedule
from tests.differential.companions import with_companion
from tests.differential.schedules import specialized

ADDED = (
    "level",
    "loop",
    "update loop",
    "tail",
    "single",
    "directive",
    "memory",
    "partition",
    "prefetch",
    "aligned",
)
"""Groups of constructs that are added, in this order: levels before what is said of loops."""

_OF_KERNELS = frozenset(
    ("loop: gpu_block", "loop: gpu_thread", "update loop: gpu_block", "update loop: gpu_thread",
     "single: __block", "single: __thread", "directive: split of one iteration")
)  # fmt: skip

_TRIES = 6
_ON_GPUS = (LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)
_AT_ONCE = (LoopKind.PARALLEL, LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)


def with_constructs(
    rng: random.Random, pipeline: Pipeline, schedule: Schedule, constructs: frozenset[str]
) -> Schedule:
    """The schedule with what it lacks of some constructs, as far as they fit somewhere."""
    if "device: cpu" in constructs and constructs & _OF_KERNELS:
        schedule = _Addition(rng, pipeline, schedule).kernel_that_no_call_runs()
        constructs -= _OF_KERNELS
    wanted = [c.split(": ", 1) for c in constructs]
    for group, name in sorted(wanted, key=lambda w: (_rank(w[0]), w[1])):
        if group in ADDED:
            schedule = _Addition(rng, pipeline, schedule).of(group, name)
    return schedule


def _rank(group: str) -> int:
    return ADDED.index(group) if group in ADDED else len(ADDED)


@define
class _Addition:
    rng: random.Random
    pipeline: Pipeline
    schedule: Schedule

    def of(self, group: str, name: str) -> Schedule:
        """The schedule with a construct."""
        match group:
            case "level" if name == "hoisted storage":
                return self._beside_kernels(2)._hoisted()
            case "level":
                return self._level(name)
            case "loop" | "update loop":
                return self._kind(LoopKind(name), group == "update loop")
            case "tail":
                return self._tail(Tail(name))
            case "single":
                return self._single()
            case "memory":
                return self._memory(MemoryType(name))
            case "partition":
                policy = Partition(name)
                return self._on_a_loop(lambda d, loop: d.partition(loop, policy))
            case "prefetch":
                return self._beside_kernels()._prefetch(PrefetchBound(name))
            case "aligned":
                return self._beside_kernels(2)._together(LoopAlign(name))
        return self._directive(name)

    @property
    def whole(self) -> Pipeline:
        return derived(self.pipeline, self.schedule)

    def _funcs(self, update: bool = False) -> list[tuple[Function, FuncSchedule]]:
        """Funcs that are computed somewhere, in an order that is drawn."""
        functions = {f.name: f for f in self.whole.functions}
        found = [
            (functions[entry.name], entry)
            for entry in self.schedule.funcs
            if entry.name in functions
            and not entry.compute.is_inline
            and len(entry.stages) == len(functions[entry.name].stages)
            and (not update or len(entry.stages) > 1)
        ]
        self.rng.shuffle(found)
        return found

    def _is_beside_kernels(self, entry: FuncSchedule) -> bool:
        """Whether the host computes all stages of a Func."""
        own = (kind for stage in entry.stages for _, kind in _kinds(stage))
        around = () if entry.compute.is_root else self._places(entry.name)[1]
        return not any(kind in _ON_GPUS for kind in (*own, *around))

    def _beside_kernels(self, count: int = 1) -> _Addition:
        """What is added to, with so many Funcs that the host computes beside the kernels that
        others are: what is added next may be refused in a kernel.
        """
        funcs = self._funcs()
        levels = {at.func for f in self.schedule.funcs for at in (f.compute, f.store, f.hoist)}
        hosts = [e for _, e in funcs if self._is_beside_kernels(e)]
        kernels = [e for _, e in funcs if e.compute.is_root and e not in hosts]
        free = [e for e in kernels if e.name not in levels and not e.specializations]
        schedule = self.schedule
        for entry in free[: max(0, min(count - len(hosts), len(kernels) - 1))]:
            plain = Schedule.default(self.whole).of(entry.name)
            schedule = schedule.replace(evolve(entry, stages=plain.stages, companions=()))
        return evolve(self, schedule=schedule)

    def _at(self, entry: FuncSchedule, stage: int) -> Directives:
        directives = Directives(self.pipeline, self.schedule, entry.name)
        return directives.update(stage - 1) if stage else directives

    def _level(self, name: str) -> Schedule:
        outputs = self.whole.outputs
        functions = [f for f in self.whole.functions if f.name not in outputs]
        self.rng.shuffle(functions)
        for function in functions:
            entry = self.schedule.of(function.name)
            moved = self._moved(name, function, entry)
            if moved is not None:
                return self.schedule.replace(moved)
        return self.schedule

    def _hoisted(self) -> Schedule:
        """Storage hoisted on the host, as that of kernels may not be."""
        outputs = self.whole.outputs
        functions = [f for f in self.whole.functions if f.name not in outputs]
        self.rng.shuffle(functions)
        for function in functions:
            entry = self.schedule.of(function.name)
            moved = self._moved("hoisted storage", function, entry)
            if moved is None or not {*self._places(function.name)[1]}.isdisjoint(_ON_GPUS):
                continue
            if any(kind in _ON_GPUS for stage in entry.stages for _, kind in _kinds(stage)):
                plain = Schedule.default(self.whole).of(function.name)
                moved = evolve(moved, stages=plain.stages, companions=())
            return self.schedule.replace(moved)
        return self._level("hoisted storage")

    def _moved(self, name: str, function: Function, entry: FuncSchedule) -> FuncSchedule | None:
        if name == "inline":
            plain = Schedule.default(self.whole).of(function.name)
            return evolve(plain, compute=INLINE, store=INLINE) if function.is_pure else None
        if name == "root":
            return evolve(entry, compute=ROOT, store=ROOT, hoist=INLINE, folds=())
        places, kinds = self._places(function.name)
        if not places:
            return None
        depth = self.rng.randrange(len(places))
        at_once = [i for i, kind in enumerate(kinds[: depth + 1]) if kind in _AT_ONCE]
        least = at_once[-1] if at_once and self.rng.random() < 0.9 else -1
        if name != "at a loop" and least >= depth:
            return None
        store = depth if name == "at a loop" else self.rng.randint(least, depth - 1)
        outer = places[store] if store >= 0 else ROOT
        if name == "hoisted storage":
            return evolve(entry, compute=places[depth], store=places[depth], hoist=outer, folds=())
        return evolve(entry, compute=places[depth], store=outer, hoist=INLINE, folds=())

    def _places(self, name: str) -> tuple[list[LoopLevel], list[LoopKind]]:
        """Loops around all uses of a Func that are no vectors, outermost first, and their kinds."""
        directives = Directives(self.pipeline, self.schedule, name).compute_root()
        try:
            levels = Levels(self.whole, directives.schedule)
            path = levels.enclosing(name)
        except (LevelError, KeyError):
            return [], []
        kinds = [levels.kind(place) for place in path]
        until = kinds.index(LoopKind.VECTORIZED) if LoopKind.VECTORIZED in kinds else len(kinds)
        return [LoopLevel(place.func, place.loop) for place in path[:until]], kinds[:until]

    def _kind(self, kind: LoopKind, update: bool) -> Schedule:
        if kind in (LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD):
            return self.schedule  # a grid is more than one loop: schedules of GPUs draw it
        for function, entry in self._funcs(update):
            stages = range(1, len(entry.stages)) if update else range(len(entry.stages))
            index = self.rng.choice(list(stages))
            racing = racing_dimensions(function, index)
            order = entry.stages[index]
            serial = [n for n in order.names if order.kind(n) is LoopKind.SERIAL]
            free = [n for n in serial if kind is LoopKind.UNROLLED or n not in racing]
            if not free:
                continue
            stage = self._at(entry, index)
            if kind is LoopKind.PARALLEL:
                if not entry.compute.is_root and not entry.compute.is_inline:
                    continue  # loops around it may be vectors, or those of a GPU
                if any(k in _AT_ONCE for _, k in _kinds(order)):
                    continue
                return stage.parallel(free[0]).schedule
            factor = self.rng.choice((2, 3, 4))
            return self._split(stage, free[-1], factor, Tail.AUTO, kind).schedule
        return self.schedule

    def _split(
        self, stage: Directives, loop: str, factor: int, tail: Tail, kind: LoopKind
    ) -> Directives:
        inner = _unused(stage.schedule.of(stage.selected).stages[stage.stage])
        split = stage.split(loop, loop, inner, factor, tail)
        match kind:
            case LoopKind.VECTORIZED:
                return split.vectorize(inner)
            case LoopKind.UNROLLED:
                return split.unroll(inner)
        return split

    def _tail(self, tail: Tail) -> Schedule:
        blends = tail in (Tail.SHIFT_INWARDS_AND_BLEND, Tail.ROUND_UP_AND_BLEND)
        for function, entry in self._funcs(update=blends):
            index = self.rng.randrange(1, len(entry.stages)) if blends else 0
            racing = racing_dimensions(function, index)
            order = entry.stages[index]
            inner = {r.inner for r in order.splits if isinstance(r, Split)} | {*order.once}
            serial = [n for n, kind in _kinds(order) if kind is LoopKind.SERIAL and n not in inner]
            free = [n for n in serial if n not in racing]
            overruns = tail is Tail.ROUND_UP and function.name in self.whole.outputs
            if not free or (overruns and self.rng.random() < 0.8):
                continue
            kinds = (LoopKind.VECTORIZED, LoopKind.UNROLLED, LoopKind.SERIAL)
            kind = self.rng.choice(kinds if not blends else kinds[:1])
            loop = self.rng.choice(free[-2:])
            factor = self.rng.choice((2, 3, 4, 8))
            return self._split(self._at(entry, index), loop, factor, tail, kind).schedule
        return self.schedule

    def _single(self) -> Schedule:
        """One thread computes a stage that no other loops of GPUs are around."""
        for _, entry in self._funcs():
            gpu = (LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)
            index = self.rng.randrange(len(entry.stages))
            if entry.compute.is_root or entry.compute == INLINE:
                order = entry.stages[index]
                plain = [
                    OrderedLoop(n) if k in gpu else OrderedLoop(n, k) for n, k in _kinds(order)
                ]
                bare = self.schedule.with_stage(
                    entry.name, index, evolve(order, loops=tuple(plain))
                )
                return evolve(self, schedule=bare)._at(entry, index).gpu_single_thread().schedule
        return self.schedule

    def _memory(self, memory: MemoryType) -> Schedule:
        inside = memory not in (MemoryType.HEAP, MemoryType.AUTO)
        for function, entry in self._funcs():
            if function.name in self.whole.outputs or (inside and entry.compute.is_root):
                continue
            if memory is MemoryType.GPU_SHARED and not self._is_of_a_block(entry):
                continue
            return self.schedule.replace(evolve(entry, memory=memory))
        return self.schedule

    def _is_of_a_block(self, entry: FuncSchedule) -> bool:
        """Whether the threads of a block may share what is stored of a Func."""
        places, kinds = self._places(entry.name)
        until = places.index(entry.store) + 1 if entry.store in places else 0
        return LoopKind.GPU_BLOCK in kinds[:until] and LoopKind.GPU_THREAD not in kinds[:until]

    def _on_a_loop(self, change: Callable[[Directives, str], Directives]) -> Schedule:
        for _, entry in self._funcs():
            index = self.rng.randrange(len(entry.stages))
            if entry.stages[index].names:
                loop = self.rng.choice(entry.stages[index].names)
                return change(self._at(entry, index), loop).schedule
        return self.schedule

    def _prefetch(self, bound: PrefetchBound) -> Schedule:
        images = {i.name for i in self.pipeline.images}
        for function, entry in self._funcs():
            if not self._is_beside_kernels(entry) and self.rng.random() < 0.95:
                continue
            for index, stage in enumerate(function.stages):
                read = sorted({c.target for c in stage.calls} & images)
                order = entry.stages[index]
                serial = [n for n, k in _kinds(order) if k is not LoopKind.VECTORIZED]
                if read and serial:
                    at = self.rng.choice(serial)
                    origin = self.rng.choice(order.names[: order.names.index(at) + 1])
                    target, offset = self.rng.choice(read), self.rng.randint(0, 3)
                    stage_of = self._at(entry, index)
                    return stage_of.prefetch(target, at, origin, offset, bound).schedule
        return self.schedule

    def _together(self, align: LoopAlign | None = None) -> Schedule:
        """Stages of two Funcs in the same loops."""
        for _ in range(_TRIES):
            made = with_companion(self.rng, self.whole, self.schedule)
            if any(f.companions for f in made.funcs):
                return made if align is None else _aligned(self.rng, made, align)
        return self.schedule

    def _directive(self, name: str) -> Schedule:
        rng = self.rng
        match name:
            case "compute_with":
                return self._together()
            case "split of a split":
                twice = evolve(self, schedule=self._tail(Tail.GUARD_WITH_IF))
                return twice._on_a_split_loop()
            case "split of one iteration":
                return self._split_of_one()
            case "fuse":
                return self._fuse()
            case "atomic":
                return self._atomic()
            case "fold_storage" | "fold_storage backward":
                return self._fold(name == "fold_storage")
            case "specialize" | "specialize_fail":
                return self._special(name)
            case "memoize":
                return self._memoized()
            case "ring_buffer":
                return self._ring_buffer()
            case "async":
                return self._async()
        for function, entry in self._funcs():
            is_output = function.name in self.whole.outputs
            of_storage = name in ("reorder_storage", "align_storage", "bound_storage")
            if not function.args or (is_output and rng.random() < (0.95 if of_storage else 0.7)):
                continue
            stage, arg = self._at(entry, 0), rng.choice(function.args)
            match name:
                case "reorder_storage":
                    some = rng.sample(function.args, len(function.args))
                    return stage.reorder_storage(*some).schedule
                case "align_storage":
                    return stage.align_storage(arg, rng.choice((3, 4, 8))).schedule
                case "bound_storage":
                    return stage.bound_storage(arg, rng.choice((40, 64, 400))).schedule
                case "bound":
                    return stage.bound(arg, rng.randint(-20, -8), rng.choice((40, 64))).schedule
                case "bound_extent":
                    return stage.bound_extent(arg, rng.choice((16, 40, 64))).schedule
                case "align_bounds":
                    modulus = rng.choice((2, 3, 4))
                    return stage.align_bounds(arg, modulus, rng.randrange(modulus)).schedule
                case "align_extent":
                    return stage.align_extent(arg, rng.choice((2, 3, 4))).schedule
        return self.schedule

    def _memoized(self) -> Schedule:
        """A Func kept, mostly one that reads no image and is stored where it is computed."""
        images = {image.name for image in self.whole.images}
        for function, entry in self._funcs():
            is_output = function.name in self.whole.outputs
            reads = images & self.whole.producers[function.name]
            fits = not (is_output or reads or entry.store != entry.compute)
            if fits or self.rng.random() < 0.03:
                return self._at(entry, 0).memoize().schedule
        return self.schedule

    def _ring_buffer(self) -> Schedule:
        """A ring buffer of a Func, mostly one whose memory is hoisted."""
        for _, entry in self._funcs():
            if entry.is_hoisted or self.rng.random() < 0.02:
                return self._at(entry, 0).ring_buffer(self.rng.choice((1, 2, 3, 5))).schedule
        hoisted = evolve(self, schedule=self.of("level", "hoisted storage"))
        if any(entry.is_hoisted for _, entry in hoisted._funcs()):
            return hoisted._ring_buffer()
        return self.schedule

    def _async(self) -> Schedule:
        """An asynchronous Func, mostly none of the outputs."""
        for function, entry in self._funcs():
            if function.name not in self.whole.outputs or self.rng.random() < 0.05:
                return self._at(entry, 0).async_().schedule
        return self.schedule

    def _on_a_split_loop(self) -> Schedule:
        for _, entry in self._funcs():
            for index, order in enumerate(entry.stages):
                made = [n for r in order.splits if isinstance(r, Split) for n in r.made]
                serial = [n for n, k in _kinds(order) if n in made and k is LoopKind.SERIAL]
                if serial:
                    stage, loop = self._at(entry, index), self.rng.choice(serial)
                    tail = self.rng.choice((Tail.AUTO, Tail.GUARD_WITH_IF))
                    return self._split(stage, loop, 2, tail, LoopKind.SERIAL).schedule
        return self.schedule

    def _split_of_one(self) -> Schedule:
        """A loop of one iteration, split."""
        for _, entry in self._funcs():
            for index, order in enumerate(entry.stages):
                if order.once:
                    factor, tails = self.rng.choice((2, 3, 4)), (Tail.AUTO, Tail.GUARD_WITH_IF)
                    kinds = (LoopKind.UNROLLED, LoopKind.VECTORIZED, LoopKind.SERIAL)
                    return self._split(
                        self._at(entry, index),
                        self.rng.choice(order.once),
                        factor,
                        self.rng.choice(tails),
                        self.rng.choice(kinds),
                    ).schedule
        return self.schedule

    def _fuse(self) -> Schedule:
        for function, entry in self._funcs():
            index = self.rng.randrange(len(entry.stages))
            order, racing = entry.stages[index], racing_dimensions(function, index)
            pairs = [
                (a, b)
                for (a, k), (b, other) in zip(_kinds(order), _kinds(order)[1:], strict=False)
                if k is other is LoopKind.SERIAL and not {a, b} & racing
            ]
            if pairs:
                outer, inner = self.rng.choice(pairs)
                return self._at(entry, index).fuse(inner, outer, _unused(order)).schedule
        return self.schedule

    def _atomic(self) -> Schedule:
        """An update whose iterations meet, in one step each; often they run at once."""
        for function, entry in self._funcs(update=True):
            for index in range(1, len(entry.stages)):
                racing, order = racing_dimensions(function, index), entry.stages[index]
                meeting = [n for n in order.names if n in racing]
                if meeting:
                    stage = self._at(entry, index).atomic()
                    loop = self.rng.choice(meeting)
                    form, serial = self.rng.randrange(3), order.kind(loop) is LoopKind.SERIAL
                    if form == 0 and loop == order.names[0]:
                        stage = stage.parallel(loop)
                    elif form == 1 and serial:
                        kind = LoopKind.VECTORIZED
                        stage = self._split(stage, loop, 4, Tail.GUARD_WITH_IF, kind)
                    return stage.schedule
        return self.schedule

    def _fold(self, forward: bool) -> Schedule:
        stored = evolve(self, schedule=self._level("stored outside"))
        for function, entry in stored._funcs():
            if entry.store != entry.compute and function.args:
                fold = Fold(self.rng.choice(function.args), self.rng.choice((8, 16, 32)), forward)
                return stored.schedule.replace(evolve(entry, folds=(fold,)))
        return stored.schedule

    def _special(self, name: str) -> Schedule:
        for _, entry in self._funcs():
            stage = self._at(entry, self.rng.randrange(len(entry.stages)))
            if name == "specialize_fail":
                if self.rng.random() < 0.9:
                    special = evolve(self, schedule=self._mostly(stage).schedule)
                    stage = special._at(entry, stage.stage)
                return stage.specialize_fail("No other case is foreseen.").schedule
            return specialized(self.rng, stage, self.whole).schedule
        return self.schedule

    def kernel_that_no_call_runs(self) -> Schedule:
        """A general case with loops of a GPU, which a ``specialize_fail`` replaces: on a CPU such
        loops are legal there alone.
        """
        levels = {at.func for f in self.schedule.funcs for at in (f.compute, f.store, f.hoist)}
        output = next((f for f in map(self.whole.function, self.whole.outputs) if f.args), None)
        for _, entry in sorted(self._funcs(), key=lambda found: -len(found[1].stages)):
            alone = not entry.specializations and not entry.companions and entry.name not in levels
            if output is None or not entry.compute.is_root or not alone:
                continue
            index = len(entry.stages) - 1
            order = Schedule.default(self.whole).of(entry.name).stages[index]
            plain = evolve(self, schedule=self.schedule.with_stage(entry.name, index, order))
            kernel = plain._at(entry, index).gpu_single_thread()
            kernel = kernel.split("__thread", "__thread", "a", 2)
            special = kernel.specialize(size_variable(output.name, "extent", 0) >= 0)
            special = special.serial("__block").serial("__thread").serial("a")
            general = evolve(kernel, schedule=special.schedule)
            return general.specialize_fail("No other case is foreseen.").schedule
        return self.schedule

    def _mostly(self, stage: Directives) -> Directives:
        """The stage with a case that most calls are."""
        output = next((f for f in map(self.whole.function, self.whole.outputs) if f.args), None)
        if output is None:
            return stage
        size = size_variable(output.name, "extent", 0)
        order = stage.schedule.of(stage.selected).stages[stage.stage]
        special = stage.specialize(size >= self.rng.choice((0, 1, 2)))
        return special.loops(*order.loops) if not order.splits else special


def _kinds(order: DomainOrder) -> list[tuple[str, LoopKind]]:
    return [(loop.name, loop.kind) for loop in order.loops]


def _unused(order: DomainOrder) -> str:
    """A name that no loop of a stage has, or had."""
    return next(n for n in (f"a{i}" for i in range(99)) if n not in order.all_names)


def _aligned(rng: random.Random, schedule: Schedule, align: LoopAlign) -> Schedule:
    """The first companion found, aligned so along the loop it shares last."""
    for func in schedule.funcs:
        for at, one in enumerate(func.companions):
            aligned = ((one.loop, align),)
            other = evolve(one, aligned=aligned)
            companions = (*func.companions[:at], other, *func.companions[at + 1 :])
            return schedule.replace(evolve(func, companions=companions))
    return schedule
