"""Rules about the loops of a kernel: one group of block loops around one group of thread loops.

The rules read names only, so that they hold or fail before there is a loop nest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from spaces.constraints.devices.device import GpuDevice, device_names
from spaces.constraints.rules.directive_text import (
    kind_directive,
    level_directive,
    placing_directive,
    store_directive,
)
from spaces.constraints.rules.phrases import listed, stage_name
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import (
    Check,
    Quantity,
    call_rule,
    own_rule,
    refuse,
)
from spaces.model.schedules.domain_order import DomainOrder, LoopKind
from spaces.model.schedules.levels import LoopOf, Path
from spaces.model.schedules.schedule import StageOf

_BLOCK, _THREAD = LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD
_MODEL = "CUDA C++ Programming Guide, thread hierarchy"


@own_rule(
    "gpu.device",
    "A GPU block or thread loop is illegal on a CPU, because a CPU runs no kernels.",
    "Kernels need a GPU.",
)
def device(records: Records, func: str) -> Iterator[Check]:
    """One check for each GPU loop if the device is not a GPU."""
    if isinstance(records.device, GpuDevice):
        return
    for index, order in _kernel_orders(records, func):
        for loop in order.loops:
            if loop.kind.is_gpu:
                yield refuse(
                    func,
                    "{directive} maps loop {loop} of {stage_name} to a {kind}, but the device "
                    "{device} is no GPU.",
                    "Make it parallel, vectorized or serial, or choose a GPU: {legal}.",
                    stage=index,
                    loop=loop.name,
                    directive=kind_directive(records, func, index, loop.name),
                    kind="block" if loop.kind is _BLOCK else "thread",
                    device=records.device.name,
                    legal=listed(n for n in device_names() if n != "cpu"),
                )


def _kernel_stages(records: Records, func: str) -> Iterator[tuple[int, Path, tuple[LoopKind, ...]]]:
    """Each stage of a computed Func in a kernel, with all loops around it and their kinds."""
    for one in records.placed(func):
        if one.in_kernel:
            yield one.index, one.path, one.kinds


def _kernel_orders(records: Records, func: str) -> Iterator[tuple[int, DomainOrder]]:
    """Each stage of a Func that has block or thread loops, with its domain order."""
    for index, order in enumerate(records.entry(func).stages):
        if any(loop.kind.is_gpu for loop in order.loops):
            yield index, order


def _own(func: str, index: int, path: Path) -> range:
    """The positions of a path that are the stage's own loops; they are its last."""
    start = next((i for i, p in enumerate(path) if p.func == func and p.stage == index), len(path))
    return range(start, len(path))


@call_rule(
    "gpu.threads-outside-blocks",
    "A thread loop outside all block loops is illegal, because threads exist only within blocks.",
    f"Threads exist within blocks only ({_MODEL}); Halide refuses others.",
)
def threads_outside_blocks(records: Records, func: str) -> Iterator[Check]:
    """One check for each stage of the Func with thread loops around which no block loop stands."""
    for index, path, kinds in _kernel_stages(records, func):
        alone = [
            i for i in _own(func, index, path) if kinds[i] is _THREAD and _BLOCK not in kinds[:i]
        ]
        if alone:
            yield refuse(
                func,
                "The thread {loops} of {stage_name} ({directives}) {lie} in no block loop.",
                "Swap its block and thread loops: write {stage_name}.reorder({swapped}) last."
                if _BLOCK in kinds[alone[0] :]
                else "Make a loop outside {outermost} a block loop (gpu_blocks), or compute {func} "
                "inside the block loops of a Func that reads it.",
                stage=index,
                loop=path[alone[0]].loop,
                **_loops(records, func, index, [path[i].loop for i in alone]),
                outermost=path[alone[0]].loop,
                swapped=listed(_blocks_outside(records.entry(func).stages[index])),
            )


def _loops(records: Records, func: str, index: int, names: Sequence[str]) -> dict[str, Any]:
    """The values of a sentence about some loops of a stage: their names, the verb, the stage and
    their directives.
    """
    directives = (kind_directive(records, func, index, name) for name in names)
    return {
        "loops": f"loop{'s' * (len(names) > 1)} {listed(names)}",
        "lie": "lie" if len(names) > 1 else "lies",
        "stage_name": stage_name(func, index),
        "directives": listed(dict.fromkeys(directives)),
    }


@call_rule(
    "gpu.nested-blocks",
    "A block loop is illegal inside the kernel of another stage, or around a stage that does not "
    "run in blocks of its own there, because a kernel is one grid of blocks.",
    f"A kernel is one grid of blocks ({_MODEL}); Halide refuses others.",
)
def nested_blocks(records: Records, func: str) -> Iterator[Check]:
    """The checks of block loops."""
    return _nested(records, func, _BLOCK)


@call_rule(
    "gpu.nested-threads",
    "A thread loop inside a thread loop of another stage is illegal, because one thread runs "
    "everything inside its thread loop and cannot start more threads.",
    "A kernel launches all threads of a block at once (CUDA C++ Programming Guide, thread "
    "hierarchy).",
)
def nested_threads(records: Records, func: str) -> Iterator[Check]:
    """The checks of thread loops."""
    return _nested(records, func, _THREAD)


def _nested(records: Records, func: str, kind: LoopKind) -> Iterator[Check]:
    """One check for each loop of this kind of the Func that is inside another stage's loop of this
    kind. One as well for each loop of this kind inside a loop that another stage shares without it.
    """
    for index, path, kinds in _kernel_stages(records, func):
        own = _own(func, index, path)
        outer = next((p for p, k in zip(path, kinds, strict=True) if k is kind), None)
        for i in own:
            if kinds[i] is kind and outer is not None and _stage(outer) != (func, index):
                yield _inside(records, path[i], outer, kind, StageOf(func, index))
        yield from _left_alone(records, path, kinds, own, kind)


def _stage(loop: LoopOf) -> tuple[str, int]:
    return (loop.func, loop.stage)


def _left_alone(
    records: Records, path: Path, kinds: tuple[LoopKind, ...], own: range, kind: LoopKind
) -> Iterator[Check]:
    """One check for each of a stage's ``own`` loops of a kind that is not fused with a loop of
    another stage, if the loop of this kind around it is.
    """
    loops = [path[i] for i in own if kinds[i] is kind]
    for depth, loop in enumerate(loops[1:], start=1):
        for stage, shared in records.levels.fused.items():
            if loops[depth - 1] in shared and loop not in shared:
                yield _inside(records, loop, loops[depth - 1], kind, stage)
                break


def _inside(
    records: Records, loop: LoopOf, outer: LoopOf, kind: LoopKind, because: StageOf
) -> Check:
    """A loop that lies inside ``outer`` because of the compute level of a stage."""
    func, index = _stage(loop)
    name = "block" if kind is _BLOCK else "thread"
    is_fused = because in records.levels.fused
    return refuse(
        func,
        "The {kind} loop {loop} of {stage_name} ({directive}) lies inside the {kind} loop {outer}, "
        "because of {compute}.",
        "Make {loop} serial{instead}, or compute {func} outside {outer}{fused}.",
        stage=index,
        loop=loop.loop,
        kind=name,
        outer=str(outer.level),
        directive=kind_directive(records, func, index, loop.loop),
        func=because.func,
        compute=placing_directive(records, because),
        instead=" or map it to threads" if kind is _BLOCK else "",
        fused=f", or with all {name} loops in common" if is_fused else "",
    )


@own_rule(
    "gpu.blocks-inside-threads",
    "A block loop inside a thread loop of its stage is illegal, because a block consists of "
    "threads.",
    f"A block consists of threads, not the other way round ({_MODEL}).",
)
def blocks_inside_threads(records: Records, func: str) -> Iterator[Check]:
    """One check for each stage with block loops inside a thread loop of it."""
    for index, order in _kernel_orders(records, func):
        kinds = [loop.kind for loop in order.loops]
        inside = [
            loop.name
            for i, loop in enumerate(order.loops)
            if loop.kind is _BLOCK and _THREAD in kinds[:i]
        ]
        if inside:
            yield refuse(
                func,
                "The block {loops} of {stage_name} ({directives}) {lie} inside the thread loop "
                "{thread}.",
                "Swap them: write {stage_name}.reorder({swapped}) last, or map the outer loops "
                "to blocks and the inner ones to threads.",
                stage=index,
                loop=inside[0],
                **_loops(records, func, index, inside),
                thread=order.loops[kinds.index(_THREAD)].name,
                swapped=listed(_blocks_outside(order)),
            )


def _blocks_outside(order: DomainOrder) -> list[str]:
    """The thread loops and then the block loops of an order, innermost first, as reorder takes
    them.
    """
    found = [loop.name for loop in reversed(order.loops) if loop.kind is _THREAD]
    return found + [loop.name for loop in reversed(order.loops) if loop.kind is _BLOCK]


@own_rule(
    "gpu.loop-between",
    "A loop between two block loops or two thread loops of a stage is illegal, because adjacent "
    "loops of one kind together give the coordinates of a block or thread.",
    "The coordinates of blocks and threads (CUDA C++ Programming Guide, thread hierarchy).",
)
def loop_between(records: Records, func: str) -> Iterator[Check]:
    """One check for each other loop between two block loops, or two thread loops."""
    for index, order in _kernel_orders(records, func):
        kinds = [loop.kind for loop in order.loops]
        for wanted, name in ((_BLOCK, "block"), (_THREAD, "thread")):
            places = [i for i, k in enumerate(kinds) if k is wanted]
            for i in range(places[0], places[-1]) if places else ():
                if not kinds[i].is_gpu:
                    yield refuse(
                        func,
                        "{stage_name} has the {kind} loop {loop} between its {name} loops "
                        "{outer} and {inner}.",
                        "Reorder {loop} to the inside of {inner} or the outside of {outer}.",
                        stage=index,
                        loop=order.loops[i].name,
                        kind=str(kinds[i]),
                        name=name,
                        outer=order.loops[places[0]].name,
                        inner=order.loops[places[-1]].name,
                    )


@own_rule(
    "gpu.dimensions",
    "A stage with more than three block loops or three thread loops is illegal, because grids and "
    "blocks have the dimensions x, y and z.",
    f"Grids and blocks have the dimensions x, y and z ({_MODEL}).",
    count=Quantity("block or thread loops of the stage", "loops"),
)
def dimensions(records: Records, func: str) -> Iterator[Check]:
    """One check for each stage and kind with more than three loops."""
    for index, order in _kernel_orders(records, func):
        for kind, name in ((_BLOCK, "block"), (_THREAD, "thread")):
            loops = [loop.name for loop in order.loops if loop.kind is kind]
            if len(loops) > 3:
                yield refuse(
                    func,
                    "{stage_name} has {count} {name} loops ({loops}); a GPU has 3 dimensions.",
                    "Fuse some of them, or make some serial.",
                    stage=index,
                    loop=loops[0],
                    count=len(loops),
                    name=name,
                    loops=listed(loops),
                )


@call_rule(
    "gpu.level-between",
    "A compute or store level in a kernel is illegal if it lies outside the innermost block loop "
    "or between two thread loops, because memory and work belong to a block or to a thread.",
    "Halide refuses block loops other than the innermost.",
)
def level_between(records: Records, func: str) -> Iterator[Check]:
    """One check for each of the compute and the store level that lies between two loops."""
    path, depth = records.compute_path(func), records.store_depth(func)
    if func not in records.computed or not path or depth is None:
        return
    levels = {"computed": len(path), "stored": depth}
    if depth == len(path):
        del levels["stored"]
    for verb, count in levels.items():
        if not count:
            continue
        loop = path[count - 1]
        kind = records.levels.kind(loop)
        order = records.entry(loop.func).stages[loop.stage]
        names = [loop.name for loop in order.loops if loop.kind is kind]
        if kind.is_gpu and loop.loop != names[-1]:
            yield refuse(
                func,
                "By {directive} {func} is {verb} between the {kind} loops {names} of {outer}.",
                "Use the innermost of them, {legal}.",
                loop=loop.loop,
                directive=_level(records, func, verb),
                verb=verb,
                kind="block" if kind is _BLOCK else "thread",
                names=listed(names),
                outer=stage_name(loop.func, loop.stage),
                legal=f"{loop.func}.{names[-1]}",
            )


def _level(records: Records, func: str, verb: str) -> str:
    entry = records.entry(func)
    if verb == "stored":
        return store_directive(entry)
    return level_directive(func, "compute", entry.compute)


@call_rule(
    "gpu.parallel-in-kernel",
    "A parallel loop inside a kernel is illegal, because the thread pool of the CPU runs parallel "
    "loops.",
    "Halide refuses parallel loops in kernels.",
)
def parallel_in_kernel(records: Records, func: str) -> Iterator[Check]:
    """One check for each parallel loop of the Func inside a block or thread loop."""
    for index, path, kinds in _kernel_stages(records, func):
        for i in _own(func, index, path):
            around = [p for p, k in zip(path[:i], kinds[:i], strict=True) if k.is_gpu]
            if kinds[i] is LoopKind.PARALLEL and around:
                yield refuse(
                    func,
                    "{directive} runs loop {loop} of {stage_name} in parallel, but it lies in the "
                    "kernel of {outer}.",
                    "Map it to threads (gpu_threads), or make it serial.",
                    stage=index,
                    loop=path[i].loop,
                    directive=kind_directive(records, func, index, path[i].loop),
                    outer=str(around[0].level),
                )


@call_rule(
    "gpu.kernel-in-parallel",
    "A kernel launch inside a parallel loop is illegal, because one thread launches all kernels "
    "on one queue.",
    "This library's runtime has one stream.",
)
def kernel_in_parallel(records: Records, func: str) -> Iterator[Check]:
    """One check for each stage that begins a kernel inside a parallel loop."""
    for index, path, kinds in _kernel_stages(records, func):
        if _BLOCK not in kinds or path[kinds.index(_BLOCK)].func != func:
            continue
        first = kinds.index(_BLOCK)
        if path[first].stage == index and LoopKind.PARALLEL in kinds[:first]:
            around = path[kinds.index(LoopKind.PARALLEL)]
            yield refuse(
                func,
                "The kernel of {stage_name}, which begins with the block loop {loop}, lies in the "
                "parallel loop {outer} ({directive}).",
                "Make {outer} serial, or a block loop too.",
                stage=index,
                loop=path[first].loop,
                outer=str(around.level),
                directive=kind_directive(records, around.func, around.stage, around.loop),
            )


RULES = (
    device,
    threads_outside_blocks,
    nested_blocks,
    nested_threads,
    blocks_inside_threads,
    loop_between,
    dimensions,
    level_between,
    parallel_in_kernel,
    kernel_in_parallel,
)
