"""Funcs of a found schedule that are inlined after all.

A search decides a Func before its producers: it stores a Func that would read a producer at root
again and again. Once the producer is computed elsewhere, or has clones, to compute the Func anew
may be cheaper.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator

from spaces.enumerate.search.events import Event, Found
from spaces.enumerate.search.judging import is_clearly_cheaper
from spaces.enumerate.search.pricer import Pricer
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derive import derived
from spaces.model.schedules.schedule import Schedule


def inlined_after_all(pricer: Pricer, most: float = math.inf) -> Iterator[Event]:
    """Inlines Funcs of the best schedule of a board one after another, consumers first. Offers what
    is clearly cheaper: first with one Func more, then with all that make it cheaper together.

    Args:
        pricer: the pricer of the search.
        most: the work of the board (:attr:`Board.work`) at which it ends.

    Raises:
        OutOfTime: the search is at its end.
    """
    space, board = pricer.space, pricer.board
    if not board.best or "inline" not in space.options.placements:
        return
    schedule = board.best[0].schedule
    if any(entry.companions for entry in schedule.funcs):  # loops of others need its loops
        return
    with board.deadline.kept():  # the cost of a choice of a structure may be another one
        best = Found(pricer.price_schedule(schedule), schedule)
    for found in _inlined(pricer, best, most, is_clearly_cheaper):
        best = found
        yield from board.offer(best)
    together = best
    for found in _inlined(pricer, best, most, operator.lt):
        together = found
    if is_clearly_cheaper(together.cost, best.cost):
        yield from board.offer(together)


def _inlined(
    pricer: Pricer,
    best: Found,
    most: float,
    is_cheaper: Callable[[float, float], bool],
) -> Iterator[Found]:
    """Cheaper and cheaper schedules, each with one more Func of ``best`` inlined."""
    space, board = pricer.space, pricer.board
    pipeline = derived(space.pipeline, best.schedule)
    for function in reversed(pipeline.functions):
        name = function.name
        if board.work >= most:
            return
        if name in space.kept_names or not _may_be_inlined(pipeline, best.schedule, name):
            continue
        with board.deadline.kept():
            inlined = _with_inlined(pipeline, best.schedule, name)
            cost = pricer.price_schedule(inlined)
            if is_cheaper(cost, best.cost) and space.verdict(inlined):
                best = Found(cost, inlined)
                yield best


def _may_be_inlined(pipeline: Pipeline, schedule: Schedule, name: str) -> bool:
    """Whether a stored Func is pure, no output, and has no loop in which another Func is."""
    is_used = any(name in (one.compute.func, one.store.func) for one in schedule.funcs)
    is_stored = not schedule.of(name).compute.is_inline
    is_pure = pipeline.function(name).is_pure and name not in pipeline.outputs
    return is_stored and is_pure and not is_used


def _with_inlined(pipeline: Pipeline, schedule: Schedule, name: str) -> Schedule:
    plain = Schedule.default(pipeline).of(name)
    return schedule.with_funcs(tuple(plain if f.name == name else f for f in schedule.funcs))
