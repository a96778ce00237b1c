"""Rules about prefetches: at existing loops, of buffers that are read there."""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.rules.phrases import listed, stage_name
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rule import Check, call_rule, own_rule, refuse
from spaces.model.schedules.domain_order import LoopKind, Prefetch
from spaces.model.schedules.levels import LoopOf, Path
from spaces.model.writing.calls import call_of
from spaces.model.writing.text import format_call


def _directive(func: str, stage: int, one: Prefetch) -> str:
    return f"{stage_name(func, stage)}.{format_call(call_of(one))}"


@own_rule(
    "prefetch.loop",
    "A prefetch is illegal at a loop that its stage lacks or that is vectorized, and along a loop "
    "that does not enclose it, because it needs one iteration to run in and one to look ahead to.",
    "Halide refuses to look ahead along a loop that is not around, and silently drops a prefetch "
    "at an unknown loop.",
)
def loop(records: Records, func: str) -> Iterator[Check]:
    """One check for each prefetch at an unknown or unsuitable loop."""
    for index, (_, order, _) in enumerate(records.stages(func)):
        for one in order.prefetches:
            names = order.names
            known = one.at in names and one.origin in names
            if known and order.kind(one.at) is LoopKind.VECTORIZED:
                reason = f"{one.at} is vectorized"
            elif known and names.index(one.origin) > names.index(one.at):
                reason = f"{one.origin} is inside {one.at}"
            elif not known:
                missing = one.at if one.at not in names else one.origin
                reason = f"{missing} is no loop of {stage_name(func, index)}"
            else:
                continue
            yield refuse(
                func,
                "{directive} stands at no suitable loop: {reason}.",
                "The loops, outermost first, are {legal}.",
                stage=index,
                loop=one.at,
                directive=_directive(func, index, one),
                reason=reason,
                legal=listed(names),
            )


@call_rule(
    "prefetch.gpu",
    "A prefetch inside a kernel, or at a loop around one, is illegal, because GPUs have no "
    "prefetch directive and hide latency with other threads.",
    "Halide lowers a prefetch to a call of its CPU runtime; its CUDA code generator then stops "
    "with an internal error.",
)
def on_gpu(records: Records, func: str) -> Iterator[Check]:
    """One check for each prefetch in or around a kernel."""
    if records.gpu is None or records.is_inlined(func):
        return
    for index, (_, order, _) in enumerate(records.stages(func)):
        for one in order.prefetches:
            where = _kernel_at(records, func, index, one)
            if where:
                yield refuse(
                    func,
                    "{directive} stands {where}, and kernels cannot prefetch.",
                    "Leave it out; only loops on the CPU can prefetch.",
                    stage=index,
                    loop=one.at,
                    directive=_directive(func, index, one),
                    where=where,
                )


def _kernel_at(records: Records, func: str, index: int, one: Prefetch) -> str:
    """The kernel that holds a prefetch, or that a prefetch surrounds; empty on the CPU."""
    path = records.path(func, index)
    if path is not None and any(kind.is_gpu for kind in records.kinds(path)):
        return f"in the kernel of {stage_name(func, index)}"
    loop = LoopOf(func, index, one.at)
    for other in sorted(records.computed):
        for stage in range(len(records.entry(other).stages)):
            inside = records.path(other, stage) or ()
            if loop in inside and any(kind.is_gpu for kind in records.kinds(inside)):
                return f"around the kernel of {stage_name(other, stage)}"
    return ""


@call_rule(
    "prefetch.unread",
    "A prefetch of a Func or image that the loop does not read, or that has no storage yet, is "
    "illegal, because there is no memory to ask for.",
    "Halide silently drops the first, and refuses the second.",
)
def unread(records: Records, func: str) -> Iterator[Check]:
    """One check for each prefetch of a buffer that its loop does not read."""
    images = {image.name for image in records.pipeline.images}
    for index, (_, order, _) in enumerate(records.stages(func)):
        for one in order.prefetches:
            if records.is_inlined(func) or one.at not in order.names:
                continue
            if one.target in images or one.target in records.computed:
                paths = [records.path(*use) for use in records.levels.uses(one.target)]
                loop = LoopOf(func, index, one.at)
                if any(path is None for path in paths):
                    continue
                reason = f"nothing in the loop {one.at} reads {one.target}"
                if any(path is not None and loop in path for path in paths):
                    if loop not in _stored(records, one.target):
                        continue
                    reason = f"{one.target} is stored inside the loop {one.at}"
            elif any(function.name == one.target for function in records.pipeline.functions):
                reason = f"{one.target} is inlined, and has no storage"
            else:
                reason = f"there is no image or Func {one.target}"
            yield refuse(
                func,
                "{directive} prefetches nothing: {reason}.",
                "Leave it out, or prefetch what is read there.",
                stage=index,
                loop=one.at,
                directive=_directive(func, index, one),
                reason=reason,
            )


def _stored(records: Records, target: str) -> Path:
    """The loops around the storage of a Func; none for an image."""
    if target not in records.computed:
        return ()
    return (records.compute_path(target) or ())[: records.store_depth(target) or 0]


RULES = (loop, on_gpu, unread)
