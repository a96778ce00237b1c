"""Directives with their arguments, and which of them writes each record of a schedule."""

from __future__ import annotations

from typing import Any, TypeAlias

from attrs import frozen

from spaces.model.directives.directives import Directives
from spaces.model.expressions.expr import Expr
from spaces.model.schedules.choice import Choice
from spaces.model.schedules.domain_order import (
    Factor,
    Fuse,
    Loop,
    LoopKind,
    Prefetch,
    PrefetchBound,
    Split,
    Tail,
)
from spaces.model.schedules.schedule import (
    Alignment,
    Bound,
    Companion,
    Fold,
    LoopAlign,
    LoopLevel,
    StageOf,
)

Aligned: TypeAlias = tuple[tuple[str, LoopAlign], ...]
"""Loops with how their iterations are aligned."""

Argument: TypeAlias = Factor | Choice | Aligned | Loop | StageOf | Expr
"""A truth value counts among the numbers."""


@frozen
class DirectiveCall:
    """A directive with its arguments, as
    :class:`~spaces.model.directives.directives.Directives` takes it.
    """

    name: str
    args: tuple[Argument, ...] = ()

    def on(self, directives: Directives) -> Directives:
        """The directives after this one."""
        method: Any = getattr(directives, self.name)
        result: Directives = method(*self.args)
        return result


KIND_DIRECTIVES: dict[LoopKind, str] = {
    LoopKind.SERIAL: "serial",
    LoopKind.PARALLEL: "parallel",
    LoopKind.VECTORIZED: "vectorize",
    LoopKind.UNROLLED: "unroll",
    LoopKind.GPU_BLOCK: "gpu_blocks",
    LoopKind.GPU_THREAD: "gpu_threads",
}
"""The directive that gives a loop its kind."""


def record_call(record: Split | Fuse) -> DirectiveCall:
    """The directive that splits or fuses loops."""
    if isinstance(record, Fuse):
        return DirectiveCall("fuse", (record.inner, record.outer, record.fused))
    args = (record.old, record.outer, record.inner, record.factor)
    return DirectiveCall("split", (*args, *tail_argument(record.tail)))


def tail_argument(tail: Tail) -> tuple[Tail, ...]:
    """The last argument of a split, where it is said."""
    return () if tail is Tail.AUTO else (tail,)


def level_call(verb: str, level: LoopLevel) -> DirectiveCall:
    """The directive that lets a Func be computed or stored (the ``verb``) at a level."""
    if level.is_root:
        return DirectiveCall(f"{verb}_root")
    if level.is_inline and verb == "compute":
        return DirectiveCall("compute_inline")
    return DirectiveCall(f"{verb}_at", (level.func, level.loop))


def companion_call(companion: Companion) -> DirectiveCall:
    """The directive that fuses the loops of two stages."""
    args = (companion.other, companion.loop)
    if not companion.aligned:
        return DirectiveCall("compute_with", args)
    if len(companion.aligned) == 1 and companion.aligned[0][0] == companion.loop:
        return DirectiveCall("compute_with", (*args, companion.aligned[0][1]))
    return DirectiveCall("compute_with", (*args, companion.aligned))


def hoist_call(level: LoopLevel) -> DirectiveCall:
    """The directive that hoists the storage of a Func."""
    if level.is_root:
        return DirectiveCall("hoist_storage_root")
    return DirectiveCall("hoist_storage", (level.func, level.loop))


def fold_call(fold: Fold) -> DirectiveCall:
    """The directive that folds the storage of a Func."""
    backwards = () if fold.forward else (False,)
    return DirectiveCall("fold_storage", (fold.dimension, fold.factor, *backwards))


def bound_call(bound: Bound | Alignment) -> DirectiveCall:
    """The directive that gives a Func a bound, or aligns its bounds."""
    if isinstance(bound, Alignment) and bound.remainder is not None:
        remainder = (bound.remainder,) if bound.remainder else ()
        return DirectiveCall("align_bounds", (bound.dimension, bound.modulus, *remainder))
    if isinstance(bound, Alignment):
        return DirectiveCall("align_extent", (bound.dimension, bound.modulus))
    if bound.min is None:
        return DirectiveCall("bound_extent", (bound.dimension, bound.extent))
    return DirectiveCall("bound", (bound.dimension, bound.min, bound.extent))


def prefetch_call(record: Prefetch) -> DirectiveCall:
    """The directive that prefetches."""
    args = (record.target, record.at, record.origin, record.offset)
    usual = record.bound is PrefetchBound.GUARD_WITH_IF
    return DirectiveCall("prefetch", args if usual else (*args, record.bound))
