"""The number of decisions in which two schedules differ, counted plainly."""

from __future__ import annotations

from itertools import zip_longest

from spaces.model.schedules.domain_order import Split
from spaces.model.schedules.schedule import FuncSchedule, Schedule


def decisions_changed(before: Schedule, after: Schedule) -> int:
    """The number of levels, memories, folds, factors, tails, names of loops, kinds and orders that
    differ; a split or an entry that only one of them has counts once.
    """
    a = {f.name: f for f in before.funcs}
    b = {f.name: f for f in after.funcs}
    once = len(a.keys() ^ b.keys())
    return once + sum(_func(a[name], b[name]) for name in a.keys() & b.keys())


def _named(func: FuncSchedule) -> dict[object, object]:
    """The directives about single dimensions of storage."""
    records = (*func.folds, *func.pads, *func.storage_bounds)
    return {(type(record), record.dimension): record for record in records}


def _func(a: FuncSchedule, b: FuncSchedule) -> int:
    count = int(a.compute != b.compute) + int(a.memory != b.memory)
    # Storage that follows the compute level is not a decision of its own.
    count += int(
        (a.store == a.compute, b.store == b.compute) != (True, True) and a.store != b.store
    )
    of_a, of_b = _named(a), _named(b)
    count += sum(of_a.get(d) != of_b.get(d) for d in of_a.keys() | of_b.keys())
    count += sum(x != y for x, y in zip_longest(a.storage_orders, b.storage_orders))
    count += sum(x != y for x, y in zip_longest(a.bounds, b.bounds))
    count += a.hoist != b.hoist
    count += a.memoized != b.memoized
    count += a.asynchronous != b.asynchronous
    count += a.ring != b.ring
    count += sum(x != y for x, y in zip_longest(a.companions, b.companions))
    count += len(set(a.atomic) ^ set(b.atomic))
    count += sum(x != y for x, y in zip_longest(a.specializations, b.specializations))
    count += abs(len(a.stages) - len(b.stages))
    for one, other in zip(a.stages, b.stages, strict=False):
        count += abs(len(one.splits) - len(other.splits))
        for r, s in zip(one.splits, other.splits, strict=False):
            if isinstance(r, Split) and isinstance(s, Split):
                count += (r.old, r.outer, r.inner) != (s.old, s.outer, s.inner)
                count += (r.factor != s.factor) + (r.tail != s.tail)
            else:
                count += r != s
        count += sum(x != y for x, y in zip_longest(one.prefetches, other.prefetches))
        count += len(set(one.lanes) ^ set(other.lanes))
        count += sum(x != y for x, y in zip_longest(one.partitions, other.partitions))
        kinds = {loop.name: loop.kind for loop in one.loops}
        others = {loop.name: loop.kind for loop in other.loops}
        count += sum(kinds[n] != others[n] for n in kinds.keys() & others.keys())
        if len(one.splits) == len(other.splits):
            count += len(kinds.keys() ^ others.keys())
        shared = [n for n in one.names if n in others]
        count += shared != [n for n in other.names if n in kinds]
    return count
