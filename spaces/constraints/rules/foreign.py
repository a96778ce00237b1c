"""Rules about Funcs that foreign code computes in one call for a whole box."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.devices.device import Device, GpuDevice
from spaces.constraints.rules.phrases import listed
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import Check, call_rule, own_rule, pipeline_rule, refuse
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import FuncSchedule, MemoryType

_HALIDE = "Halide calls the extern stage for the whole region that is required."


@pipeline_rule(
    "foreign.gpu",
    "A Func that foreign code computes is illegal on a GPU, because the code runs on the host.",
    "This library's limit; Halide passes buffers of the device to code that is made for it.",
)
def on_gpu(subject: tuple[Pipeline, Device], name: str) -> Iterator[Check]:
    """At most one check."""
    pipeline, device = subject
    opaque = [function.name for function in pipeline.functions if function.is_opaque]
    if opaque and isinstance(device, GpuDevice):
        yield refuse(
            opaque[0],
            "{funcs} of {name} are Funcs that foreign code computes, and {device} is a GPU."
            if len(opaque) > 1
            else "{funcs} of {name} is a Func that foreign code computes, and {device} is a GPU.",
            "Compute it on a CPU, or pass what it computes as an image.",
            funcs=listed(opaque),
            name=name,
            device=device.name,
        )


@own_rule(
    "foreign.loops",
    "A directive on the loops of a Func that foreign code computes is illegal, because one call "
    "computes its whole box.",
    _HALIDE,
)
def loops(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    function, entry = records.function(func), records.entry(func)
    if not function.is_opaque:
        return
    usual = FuncSchedule.default(function, not entry.compute.is_inline)
    is_usual = entry.stages == usual.stages
    if is_usual and not (entry.specializations or entry.companions or entry.atomic):
        return
    yield refuse(
        func,
        "Foreign code computes {func} in one call, but its schedule has directives on loops.",
        "Leave {func} its default loops; tile the Funcs that read it, and compute it there.",
    )


@own_rule(
    "foreign.storage",
    "A Func that foreign code computes is illegal if its storage is folded, kept for several "
    "calls, or no memory of the CPU, because the code fills a plain array.",
    _HALIDE,
)
def own_storage(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    if records.function(func).is_opaque:
        yield from _check_plain(records, func, f"Foreign code computes {func}")


@call_rule(
    "foreign.input",
    "A Func that foreign code reads is illegal if it is inlined, or if its storage is folded, kept "
    "for several calls, or no memory of the CPU, because the code gets a plain array.",
    "Halide refuses to inline Funcs that an extern stage reads.",
)
def input_storage(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    readers = [
        name for name in records.pipeline.consumers(func) if records.function(name).is_opaque
    ]
    if not readers:
        return
    if records.entry(func).compute.is_inline and func not in records.pipeline.outputs:
        yield refuse(
            func,
            "{func} is inlined, but foreign code computes {reader} from its array.",
            "Compute {func} at root, or at a loop around {reader}.",
            reader=readers[0],
        )
    else:
        yield from _check_plain(records, func, f"Foreign code reads the array of {func}")


def _check_plain(records: Records, func: str, why: str) -> Iterator[Check]:
    """At most one check, about storage that is more than an array of its own."""
    entry = records.entry(func)
    is_output = func in records.pipeline.outputs
    if entry.folds:
        what = "its storage is folded"
    elif not is_output and entry.store != entry.compute:
        what = f"it is stored at {entry.store} and computed at {entry.compute}"
    elif entry.memory not in (MemoryType.AUTO, MemoryType.HEAP, MemoryType.STACK):
        what = f"it is stored in {entry.memory.qualified}"
    else:
        return
    yield refuse(
        func,
        "{why}, but {what}.",
        "Store it where it is computed, whole, in memory of the CPU.",
        why=why,
        what=what,
    )


@call_rule(
    "foreign.place",
    "Computing another Func in a loop of one that foreign code computes is illegal, and so is a "
    "vectorized loop around it, because the code is called once, with its whole box.",
    _HALIDE,
)
def place(records: Records, func: str) -> Iterator[Check]:
    """At most one check."""
    path = records.compute_path(func) or ()
    inside = next((loop for loop in path if records.function(loop.func).is_opaque), None)
    if inside is not None and func in records.computed:
        yield refuse(
            func,
            "{func} is computed at {level}, but foreign code computes {host} in one call, which "
            "has no loops.",
            "Compute {func} at root, or at a loop around {host}.",
            level=str(inside.level),
            host=inside.func,
        )
        return
    if not records.function(func).is_opaque:
        return
    vectors = [loop for loop in path if records.levels.kind(loop) is LoopKind.VECTORIZED]
    if vectors:
        yield refuse(
            func,
            "{func}, which foreign code computes, is computed in the vectorized loop {loop_}.",
            "Compute it outside of that loop.",
            loop_=str(vectors[0].level),
        )


RULES = (on_gpu, loops, own_storage, input_storage, place)
