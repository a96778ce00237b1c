"""Constructs put into a schedule that is drawn already, where they make sense.

Each looks for a Func and a loop that its construct fits; where it finds none, the schedule stays.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from attrs import evolve

from spaces import (
    Directives,
    LoopAlign,
    LoopKind,
    MemoryType,
    Partition,
    Pipeline,
    PrefetchBound,
    Schedule,
    Tail,
)
from spaces.model.algorithm.pipeline import size_variable
from spaces.model.schedules.schedule import Fold, FuncSchedule
from tests.differential.added_levels import with_hoisted_storage, with_level
from tests.differential.added_loops import (
    with_atomic_update,
    with_fused_loops,
    with_kind,
    with_single_thread,
    with_split_of_one_iteration,
    with_split_of_split,
    with_tail,
)
from tests.differential.companions import with_companion
from tests.differential.drawn_schedule import DrawnSchedule, loop_kinds
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


def with_constructs(
    rng: random.Random, pipeline: Pipeline, schedule: Schedule, constructs: frozenset[str]
) -> Schedule:
    """The schedule with what it lacks of some constructs, as far as they fit somewhere."""
    if "device: cpu" in constructs and constructs & _OF_KERNELS:
        schedule = _with_kernel_that_no_call_runs(DrawnSchedule(rng, pipeline, schedule))
        constructs -= _OF_KERNELS
    wanted = [c.split(": ", 1) for c in constructs]
    for group, name in sorted(wanted, key=lambda w: (_rank(w[0]), w[1])):
        if group in ADDED:
            schedule = _with_construct(DrawnSchedule(rng, pipeline, schedule), group, name)
    return schedule


def _rank(group: str) -> int:
    return ADDED.index(group) if group in ADDED else len(ADDED)


def _with_construct(drawn: DrawnSchedule, group: str, name: str) -> Schedule:
    """The schedule with a construct."""
    match group:
        case "level" if name == "hoisted storage":
            return with_hoisted_storage(drawn.beside_kernels(2))
        case "level":
            return with_level(drawn, name)
        case "loop" | "update loop":
            return with_kind(drawn, LoopKind(name), group == "update loop")
        case "tail":
            return with_tail(drawn, Tail(name))
        case "single":
            return with_single_thread(drawn)
        case "memory":
            return _with_memory(drawn, MemoryType(name))
        case "partition":
            policy = Partition(name)
            return _on_a_loop(drawn, lambda d, loop: d.partition(loop, policy))
        case "prefetch":
            return _with_prefetch(drawn.beside_kernels(), PrefetchBound(name))
        case "aligned":
            return _together(drawn.beside_kernels(2), LoopAlign(name))
    return _with_directive(drawn, name)


def _with_memory(drawn: DrawnSchedule, memory: MemoryType) -> Schedule:
    inside = memory not in (MemoryType.HEAP, MemoryType.AUTO)
    for function, entry in drawn.funcs():
        if function.name in drawn.whole.outputs or (inside and entry.compute.is_root):
            continue
        if memory is MemoryType.GPU_SHARED and not _is_of_a_block(drawn, entry):
            continue
        return drawn.schedule.replace(evolve(entry, memory=memory))
    return drawn.schedule


def _is_of_a_block(drawn: DrawnSchedule, entry: FuncSchedule) -> bool:
    """Whether the threads of a block may share what is stored of a Func."""
    places, kinds = drawn.loops_around(entry.name)
    until = places.index(entry.store) + 1 if entry.store in places else 0
    return LoopKind.GPU_BLOCK in kinds[:until] and LoopKind.GPU_THREAD not in kinds[:until]


def _on_a_loop(drawn: DrawnSchedule, change: Callable[[Directives, str], Directives]) -> Schedule:
    for _, entry in drawn.funcs():
        index = drawn.rng.randrange(len(entry.stages))
        if entry.stages[index].names:
            loop = drawn.rng.choice(entry.stages[index].names)
            return change(drawn.at(entry, index), loop).schedule
    return drawn.schedule


def _with_prefetch(drawn: DrawnSchedule, bound: PrefetchBound) -> Schedule:
    images = {i.name for i in drawn.pipeline.images}
    for function, entry in drawn.funcs():
        if not drawn.is_beside_kernels(entry) and drawn.rng.random() < 0.95:
            continue
        for index, stage in enumerate(function.stages):
            read = sorted({c.target for c in stage.calls} & images)
            order = entry.stages[index]
            serial = [n for n, k in loop_kinds(order) if k is not LoopKind.VECTORIZED]
            if read and serial:
                at = drawn.rng.choice(serial)
                origin = drawn.rng.choice(order.names[: order.names.index(at) + 1])
                target, offset = drawn.rng.choice(read), drawn.rng.randint(0, 3)
                stage_of = drawn.at(entry, index)
                return stage_of.prefetch(target, at, origin, offset, bound).schedule
    return drawn.schedule


def _together(drawn: DrawnSchedule, align: LoopAlign | None = None) -> Schedule:
    """Stages of two Funcs in the same loops."""
    for _ in range(_TRIES):
        made = with_companion(drawn.rng, drawn.whole, drawn.schedule)
        if any(f.companions for f in made.funcs):
            return made if align is None else _aligned(drawn.rng, made, align)
    return drawn.schedule


def _with_directive(drawn: DrawnSchedule, name: str) -> Schedule:
    rng = drawn.rng
    match name:
        case "compute_with":
            return _together(drawn)
        case "split of a split":
            twice = evolve(drawn, schedule=with_tail(drawn, Tail.GUARD_WITH_IF))
            return with_split_of_split(twice)
        case "split of one iteration":
            return with_split_of_one_iteration(drawn)
        case "fuse":
            return with_fused_loops(drawn)
        case "atomic":
            return with_atomic_update(drawn)
        case "fold_storage" | "fold_storage backward":
            return _with_fold(drawn, name == "fold_storage")
        case "specialize" | "specialize_fail":
            return _with_case(drawn, name)
        case "memoize":
            return _with_memoized(drawn)
        case "ring_buffer":
            return _with_ring_buffer(drawn)
        case "async":
            return _with_async(drawn)
        case "gpu_lanes":
            return _with_lanes(drawn)
    for function, entry in drawn.funcs():
        is_output = function.name in drawn.whole.outputs
        of_storage = name in ("reorder_storage", "align_storage", "bound_storage")
        if not function.args or (is_output and rng.random() < (0.95 if of_storage else 0.7)):
            continue
        stage, arg = drawn.at(entry, 0), rng.choice(function.args)
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
    return drawn.schedule


def _with_memoized(drawn: DrawnSchedule) -> Schedule:
    """A Func kept, mostly one that reads no image and is stored where it is computed."""
    images = {image.name for image in drawn.whole.images}
    for function, entry in drawn.funcs():
        is_output = function.name in drawn.whole.outputs
        reads = images & drawn.whole.producers[function.name]
        fits = not (is_output or reads or entry.store != entry.compute)
        if fits or drawn.rng.random() < 0.03:
            return drawn.at(entry, 0).memoize().schedule
    return drawn.schedule


def _with_ring_buffer(drawn: DrawnSchedule) -> Schedule:
    """A ring buffer of a Func, mostly one whose memory is hoisted."""
    for _, entry in drawn.funcs():
        if entry.is_hoisted or drawn.rng.random() < 0.02:
            return drawn.at(entry, 0).ring_buffer(drawn.rng.choice((1, 2, 3, 5))).schedule
    hoisted = evolve(drawn, schedule=_with_construct(drawn, "level", "hoisted storage"))
    if any(entry.is_hoisted for _, entry in hoisted.funcs()):
        return _with_ring_buffer(hoisted)
    return drawn.schedule


def _with_async(drawn: DrawnSchedule) -> Schedule:
    """An asynchronous Func, mostly none of the outputs."""
    for function, entry in drawn.funcs():
        if function.name not in drawn.whole.outputs or drawn.rng.random() < 0.05:
            return drawn.at(entry, 0).async_().schedule
    return drawn.schedule


def _with_lanes(drawn: DrawnSchedule) -> Schedule:
    """Lanes of a stage, mostly of its innermost thread loop."""
    for _, entry in drawn.funcs():
        for index, order in enumerate(entry.stages):
            threads = [loop.name for loop in order.loops if loop.kind is LoopKind.GPU_THREAD]
            if threads:
                some = threads if drawn.rng.random() < 0.05 else threads[-1:]
                return drawn.at(entry, index).gpu_lanes(drawn.rng.choice(some)).schedule
    return drawn.schedule


def _with_fold(drawn: DrawnSchedule, forward: bool) -> Schedule:
    stored = evolve(drawn, schedule=with_level(drawn, "stored outside"))
    for function, entry in stored.funcs():
        if entry.store != entry.compute and function.args:
            fold = Fold(drawn.rng.choice(function.args), drawn.rng.choice((8, 16, 32)), forward)
            return stored.schedule.replace(evolve(entry, folds=(fold,)))
    return stored.schedule


def _with_case(drawn: DrawnSchedule, name: str) -> Schedule:
    for _, entry in drawn.funcs():
        stage = drawn.at(entry, drawn.rng.randrange(len(entry.stages)))
        if name == "specialize_fail":
            if drawn.rng.random() < 0.9:
                special = evolve(drawn, schedule=_mostly(drawn, stage).schedule)
                stage = special.at(entry, stage.stage)
            return stage.specialize_fail("No other case is foreseen.").schedule
        return specialized(drawn.rng, stage, drawn.whole).schedule
    return drawn.schedule


def _with_kernel_that_no_call_runs(drawn: DrawnSchedule) -> Schedule:
    """A general case with loops of a GPU, which a ``specialize_fail`` replaces: on a CPU such
    loops are legal there alone.
    """
    levels = {at.func for f in drawn.schedule.funcs for at in (f.compute, f.store, f.hoist)}
    output = next((f for f in map(drawn.whole.function, drawn.whole.outputs) if f.args), None)
    for _, entry in sorted(drawn.funcs(), key=lambda found: -len(found[1].stages)):
        alone = not entry.specializations and not entry.companions and entry.name not in levels
        if output is None or not entry.compute.is_root or not alone:
            continue
        index = len(entry.stages) - 1
        order = Schedule.default(drawn.whole).of(entry.name).stages[index]
        plain = evolve(drawn, schedule=drawn.schedule.with_stage(entry.name, index, order))
        kernel = plain.at(entry, index).gpu_single_thread()
        kernel = kernel.split("__thread", "__thread", "a", 2)
        special = kernel.specialize(size_variable(output.name, "extent", 0) >= 0)
        special = special.serial("__block").serial("__thread").serial("a")
        general = evolve(kernel, schedule=special.schedule)
        return general.specialize_fail("No other case is foreseen.").schedule
    return drawn.schedule


def _mostly(drawn: DrawnSchedule, stage: Directives) -> Directives:
    """The stage with a case that most calls are."""
    output = next((f for f in map(drawn.whole.function, drawn.whole.outputs) if f.args), None)
    if output is None:
        return stage
    size = size_variable(output.name, "extent", 0)
    order = stage.schedule.of(stage.selected).stages[stage.stage]
    special = stage.specialize(size >= drawn.rng.choice((0, 1, 2)))
    return special.loops(*order.loops) if not order.splits else special


def _aligned(rng: random.Random, schedule: Schedule, align: LoopAlign) -> Schedule:
    """The first companion found, aligned so along the loop it shares last."""
    for func in schedule.funcs:
        for at, one in enumerate(func.companions):
            aligned = ((one.loop, align),)
            other = evolve(one, aligned=aligned)
            companions = (*func.companions[:at], other, *func.companions[at + 1 :])
            return schedule.replace(evolve(func, companions=companions))
    return schedule
