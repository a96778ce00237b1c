"""Directives with their arguments, and which of them writes each record of a schedule."""

from __future__ import annotations

from typing import Any, TypeAlias

from attrs import frozen

from spaces.model.directives.declaration import DIRECTIVES
from spaces.model.directives.directives import Directives
from spaces.model.expressions.expr import Expr
from spaces.model.schedules.choice import Choice
from spaces.model.schedules.domain_order import Factor, LoopKind, OrderedLoop, Tail
from spaces.model.schedules.schedule import LoopAlign, LoopLevel, StageOf

Aligned: TypeAlias = tuple[tuple[str, LoopAlign], ...]
"""Loops with how their iterations are aligned."""

Argument: TypeAlias = Factor | Choice | Aligned | OrderedLoop | StageOf | Expr
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


def call_of(record: object) -> DirectiveCall:
    """The directive that makes a record, such as a ``Split`` or a ``Bound``. Where several do, the
    one with the most arguments.
    """
    makers = [one for one in DIRECTIVES.values() if one.record is type(record)]
    for one in sorted(makers, key=lambda one: -len(one.parameters)):
        args = one.arguments(record)
        if args is not None:
            return DirectiveCall(one.name, args)
    raise TypeError(f"No directive makes {record!r}.")


def tail_argument(tail: Tail) -> tuple[Tail, ...]:
    """The tail of a split, if the text needs it."""
    return () if tail is Tail.AUTO else (tail,)


def level_call(verb: str, level: LoopLevel) -> DirectiveCall:
    """The directive that computes or stores (the ``verb``) a Func at a level."""
    if level.is_root:
        return DirectiveCall(f"{verb}_root")
    if level.is_inline and verb == "compute":
        return DirectiveCall("compute_inline")
    return DirectiveCall(f"{verb}_at", (level.func, level.loop))


def hoist_call(level: LoopLevel) -> DirectiveCall:
    """The directive that hoists the storage of a Func."""
    if level.is_root:
        return DirectiveCall("hoist_storage_root")
    return DirectiveCall("hoist_storage", (level.func, level.loop))
