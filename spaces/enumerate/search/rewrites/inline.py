"""Inlines Funcs that a found schedule stores.

A search decides a Func before its producers: it stores a Func that would read a producer at root
again and again. Once the producer is computed elsewhere, or has clones, to compute the Func anew
may be cheaper.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from attrs import frozen

from spaces.enumerate.search.rewrites.rewrite import FoundSchedule, OpenNumbers, Rewrite
from spaces.model.schedules.schedule import Schedule


@frozen
class InlineFunc:
    """Inlines one Func.

    Attributes:
        func: the Func.
    """

    keeps_structure: ClassVar[bool] = False

    func: str

    def open(self, found: FoundSchedule) -> Iterator[OpenNumbers]:
        """The schedule with the Func inlined, if no other Func is in its loops."""
        schedule = found.schedule
        if not any(self.func in one.hosts for one in schedule.funcs):
            plain = Schedule.default(found.pipeline).of(self.func)
            funcs = tuple(plain if one.name == self.func else one for one in schedule.funcs)
            yield OpenNumbers(schedule.with_funcs(funcs), {})


def find_funcs_to_inline(found: FoundSchedule) -> Iterator[Rewrite]:
    """The pure Funcs that a schedule stores and that have no other Func in their loops, consumers
    first, if the space inlines. Leaves out outputs and given Funcs. None if Funcs share loops.
    """
    schedule, pipeline, space = found.schedule, found.pipeline, found.space
    shares_loops = any(entry.companions for entry in schedule.funcs)
    if shares_loops or "inline" not in space.options.placements:
        return
    kept = {*pipeline.outputs, *space.kept_names}
    for function in reversed(pipeline.functions):
        name = function.name
        is_stored = not schedule.of(name).compute.is_inline
        is_host = any(name in one.hosts for one in schedule.funcs)
        if is_stored and pipeline.may_inline(name) and not is_host and name not in kept:
            yield InlineFunc(name)


REWRITES = (find_funcs_to_inline,)
