"""Schedules for a GPU that make sense: grids of blocks of threads, shared memory and registers."""

from __future__ import annotations

import random
from collections.abc import Sequence

from spaces import Directives, LoopKind, MemoryType, Pipeline, Schedule, Tail, derived
from spaces.constraints.dependences.hazards import racing_dimensions
from spaces.model.algorithm.pipeline import Function
from spaces.model.schedules.levels import Path
from spaces.model.schedules.reductions.accumulation import accumulation
from tests.differential.companions import with_companions
from tests.differential.derivations import with_funcs_added
from tests.differential.schedules import is_nested, layout, levels_around, specialized

_TAILS = (Tail.AUTO, Tail.GUARD_WITH_IF, Tail.SHIFT_INWARDS, Tail.PREDICATE, Tail.ROUND_UP)
_OUTPUT_TAILS = (Tail.AUTO, Tail.GUARD_WITH_IF, Tail.SHIFT_INWARDS)
_GUARD = (Tail.GUARD_WITH_IF,)
_BLOCK, _THREAD = LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD


def gpu_schedule(
    rng: random.Random, pipeline: Pipeline, aims: frozenset[str] = frozenset()
) -> Schedule:
    """Outputs on grids; the others inline, on grids of their own, on the CPU, or inside kernels:
    at a block, at a serial loop in it, or in a thread. Now and then some share loops.
    """
    directives = with_funcs_added(rng, pipeline, aims)
    pipeline = derived(pipeline, directives.schedule)
    nested, on_host = is_nested(rng, pipeline, aims), "host: a pure stage" in aims
    for function in reversed(pipeline.functions):
        directives = directives.func(function.name)
        if function.name in pipeline.outputs:
            directives = _grids(rng, directives, function, _OUTPUT_TAILS, pipeline, on_host)
            continue
        levels, legal = levels_around(pipeline, directives, function.name)
        inside = _levels_in_kernels([levels.kind(place) for place in legal])
        drawn = 0.2 + 0.6 * rng.random() if nested else rng.random()
        if drawn < 0.2 and function.is_pure:
            directives = directives.compute_inline()
        elif inside and drawn < 0.75:
            kinds = tuple(levels.kind(place) for place in legal)
            directives = _inside(rng, directives, function, legal, kinds, nested)
        elif drawn < 0.92:
            root = directives.compute_root()
            directives = _grids(rng, root, function, _TAILS, pipeline, on_host)
        else:
            directives = directives.compute_root()
    if rng.random() < 0.1:
        return with_companions(rng, pipeline, directives.schedule)
    return directives.schedule


def _levels_in_kernels(kinds: Sequence[LoopKind]) -> list[int]:
    """Loops to compute at: from the innermost block loop on, but not between thread loops."""
    found = []
    for i in range(len(kinds)):
        around, further = kinds[: i + 1], kinds[i + 1 :]
        in_a_block = _BLOCK in around and _BLOCK not in further
        if in_a_block and not (_THREAD in around and _THREAD in further):
            found.append(i)
    return found


def _inside(
    rng: random.Random,
    directives: Directives,
    function: Function,
    legal: Path,
    kinds: tuple[LoopKind, ...],
    nested: bool,
) -> Directives:
    levels = _levels_in_kernels(kinds)
    at = max(rng.choice(levels), rng.choice(levels)) if nested else rng.choice(levels)
    in_thread = _THREAD in kinds[: at + 1]
    same = [i for i in levels if i <= at and (_THREAD in kinds[: i + 1]) == in_thread]
    store = rng.choice(same) if rng.random() < (0.75 if nested else 0.3) else at
    directives = directives.compute_at(legal[at].func, legal[at].loop)
    directives = layout(rng, directives, function)
    if store != at:
        directives = directives.store_at(legal[store].func, legal[store].loop)
    if rng.random() < 0.15:
        directives = directives.store_in(
            rng.choice((MemoryType.REGISTER, MemoryType.STACK))
            if in_thread
            else MemoryType.GPU_SHARED
        )
    if in_thread:
        return directives
    for index, stage in enumerate(function.stages):
        directives = directives if index == 0 else directives.update(index - 1)
        free = [v for v in stage.pure_vars if v not in racing_dimensions(function, index)]
        directives = _by_threads(rng, directives, free, _GUARD if index else _TAILS)
    return directives


def _grids(
    rng: random.Random,
    directives: Directives,
    function: Function,
    tails: Sequence[Tail],
    pipeline: Pipeline,
    on_host: bool,
) -> Directives:
    """Each stage on a grid, or now and then on the host; ``on_host`` is for pure stages."""
    for index, stage in enumerate(function.stages):
        free = [v for v in stage.pure_vars if v not in racing_dimensions(function, index)]
        if index == 0:
            if len(function.stages) > 1 and rng.random() < (0.7 if on_host else 0.1):
                continue
            directives = _on_a_grid(rng, directives, free, tails)
        elif not free and rng.random() < 0.5:
            directives = directives.update(index - 1).gpu_single_thread()
        elif _in_one_step(rng, function, index):
            loops = [d for d in stage.dimensions if d in stage.pure_vars or rng.random() < 0.7][-3:]
            directives = _on_a_grid(rng, directives.update(index - 1).atomic(), loops, _GUARD)
            continue
        elif free and rng.random() < 0.75:
            directives = _on_a_grid(rng, directives.update(index - 1), free, _GUARD)
        if directives.stage == index and rng.random() < 0.08:
            special = specialized(rng, directives, pipeline)
            other = _on_a_grid(rng, special, free, _GUARD if index else tails)
            directives = other if rng.random() < 0.9 else special
    return directives


def _in_one_step(rng: random.Random, function: Function, index: int) -> bool:
    """Whether threads are to change the elements of a stage although they meet."""
    found = accumulation(function, index)
    whole = not any(type.is_float for type in function.types)
    return found is not None and bool(found.operators) and whole and rng.random() < 0.25


def _on_a_grid(
    rng: random.Random, directives: Directives, args: Sequence[str], tails: Sequence[Tail]
) -> Directives:
    """Each dimension split into blocks and threads; a third dimension may stay a loop. Now and then
    one thread does it all, as where there is no dimension.
    """
    if not args or rng.random() < 0.03:
        return directives.gpu_single_thread()
    tiled = list(args[:2]) if len(args) == 3 and rng.random() < 0.5 else list(args[:3])
    inner = [f"{arg.replace('.', '_')}i" for arg in tiled]
    for arg, name in zip(tiled, inner, strict=True):
        factor = rng.choice((1, 2, 3, 4, 4, 5, 8)) if arg != "z" else rng.choice((1, 2))
        directives = directives.split(arg, arg, name, factor, rng.choice(tails))
    directives = directives.reorder(*inner, *tiled).gpu_blocks(*tiled)
    form = rng.choice(("all", "all", "all", "outer", "inner", "unrolled", "vectorized"))
    if form == "all" or len(inner) == 1:
        return directives.gpu_threads(*inner)
    if form == "outer":
        return directives.gpu_threads(*inner[1:])
    directives = directives.reorder(*inner[1:], inner[0], *tiled)
    if form == "inner":
        return directives.gpu_threads(inner[0])
    if form == "unrolled":
        return directives.gpu_threads(inner[0]).unroll(inner[1])
    directives = directives.reorder(*inner, *tiled)
    return directives.vectorize(inner[0]).gpu_threads(*inner[1:])


def _by_threads(
    rng: random.Random, directives: Directives, args: Sequence[str], tails: Sequence[Tail]
) -> Directives:
    """The loops of a Func that the threads of a block compute."""
    if not args:
        return directives
    form = rng.choice(("all", "all", "all", "first", "last", "one", "split"))
    args = args[:3]
    if form == "all":
        return directives.gpu_threads(*args)
    if form == "first" and len(args) > 1:
        return directives.reorder(*args[1:], args[0]).gpu_threads(args[0])
    if form == "last":
        return directives.gpu_threads(args[-1])
    if form == "one":
        return directives
    split = directives.split(args[0], args[0], "s", 2, rng.choice(tails))
    split = split.reorder("s", *args).gpu_threads(*args)
    return split.unroll("s") if rng.random() < 0.6 else split
