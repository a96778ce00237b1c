"""A domain order as the directives that a person would write to get it from another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from attrs import define, evolve, field

from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.directives import Directives
from spaces.model.directives.loop_directives import inner_name
from spaces.model.schedules.domain_order import (
    HINTS,
    SINGLE_THREAD,
    DomainOrder,
    Fuse,
    Lanes,
    LoopKind,
    OrderedLoop,
    Partition,
    Split,
    made_from,
)
from spaces.model.schedules.schedule import FuncSchedule, Schedule
from spaces.model.writing.calls import KIND_DIRECTIVES, DirectiveCall, call_of, tail_argument


def order_calls(start: DomainOrder, target: DomainOrder) -> tuple[DirectiveCall, ...]:
    """The directives that lead from one domain order to another with further splits.

    Style rules choose the directives, which are then applied. If the result is not exactly
    ``target`` (an order with lost or doubled loops), ``loops`` sets the loops directly.
    """
    done = len(start.splits)
    if done and target.splits[:done] == start.splits:
        start, target = evolve(start, splits=()), evolve(target, splits=target.splits[done:])
    chain = _Chain(start, target)
    for step in _steps(start, target):
        chain.add(*step)
    chain.arrange()
    chain.hint()
    if chain.order == target:
        return tuple(chain.calls)
    chain = _Chain(start, target)
    for record in target.splits:
        chain.add(call_of(record))
    if chain.order.loops != target.loops:
        chain.add(DirectiveCall("loops", tuple(_written(loop) for loop in target.loops[::-1])))
    chain.hint()
    return tuple(chain.calls)


def _written(loop: OrderedLoop) -> OrderedLoop | str:
    return loop.name if loop.kind is LoopKind.SERIAL else loop


def trial(order: DomainOrder) -> Directives:
    """Directives on a stage of a dummy pipeline, to try them out."""
    nothing = Pipeline("", (), (), (), ())
    return Directives(nothing, Schedule((FuncSchedule("", (order,)),)), "")


@define
class _Chain:
    """Directives collected so far, and the order they give."""

    start: DomainOrder
    target: DomainOrder
    calls: list[DirectiveCall] = field(init=False, factory=list)
    directives: Directives = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.directives = trial(self.start)

    @property
    def order(self) -> DomainOrder:
        return self.directives.schedule.funcs[0].stages[0]

    def add(self, *calls: DirectiveCall) -> None:
        for call in calls:
            self.directives = call.on(self.directives)
            self.calls.append(call)

    def arrange(self) -> None:
        """Add the directives for the order and kinds of loops."""
        if self.target.loops[:2] == SINGLE_THREAD and not self.order.once:
            self.add(DirectiveCall("gpu_single_thread"))
        known = set(self.order.names)
        # Directives put a loop they do not know outermost; a reorder does so itself.
        unknown = [n for n in dict.fromkeys(reversed(self.target.names)) if n not in known]
        if len(unknown) == 1 and self._is_put_elsewhere(unknown[0]):
            current = (*unknown, *self.order.names)
        else:
            for name in unknown:
                self.add(_kind_call(self.target.kind(name), (name,)))
            current = self.order.names
        wanted = self.target.names
        if Counter(current) == Counter(wanted) and current != wanted:
            moved = [w for c, w in zip(current, wanted, strict=True) if c != w]
            self.add(DirectiveCall("reorder", tuple(reversed(moved))))
        elif len(wanted) > len(current):
            # A reorder that names a loop twice adds it to the innermost loops.
            twice = next(i for i, name in enumerate(wanted) if name in wanted[i + 1 :])
            start = next((i for i, c in enumerate(current) if c != wanted[i]), twice)
            self.add(DirectiveCall("reorder", tuple(reversed(wanted[min(twice, start) :]))))
        for kind in _KIND_ORDER:
            changed = tuple(
                dict.fromkeys(
                    loop.name
                    for loop in reversed(self.target.loops)
                    if loop.kind is kind
                    and self.order.kind(loop.name) is not kind
                    and Lanes(loop.name) not in self.target.lanes
                )
            )
            self.add(*_kind_calls(kind, changed))

    def _is_put_elsewhere(self, name: str) -> bool:
        """Whether a loop is serial and not outermost."""
        return self.target.kind(name) is LoopKind.SERIAL and self.target.names[0] != name

    def hint(self) -> None:
        """Add the directives that do not change the loops, their order or their kinds: policies of
        several loops together, then a directive for each record that is still missing.
        """
        for policy, directive in _POLICIES.items():
            loops = [one.loop for one in self.target.partitions if one.policy is policy]
            if loops and self.order.partitions != self.target.partitions:
                self.add(DirectiveCall(directive, tuple(loops)))
        for part in HINTS:
            there = getattr(self.order, part)
            self.add(*(call_of(one) for one in getattr(self.target, part) if one not in there))


_POLICIES = {Partition.NEVER: "never_partition", Partition.ALWAYS: "always_partition"}

_KIND_ORDER = (
    LoopKind.SERIAL,
    LoopKind.GPU_BLOCK,
    LoopKind.GPU_THREAD,
    LoopKind.UNROLLED,
    LoopKind.VECTORIZED,
    LoopKind.PARALLEL,
)


def _kind_call(kind: LoopKind, names: tuple[str, ...]) -> DirectiveCall:
    return DirectiveCall(KIND_DIRECTIVES[kind], names)


def _kind_calls(kind: LoopKind, names: tuple[str, ...]) -> Iterator[DirectiveCall]:
    """GPU directives take up to three loops, the others one."""
    width = 3 if kind.is_gpu else 1
    for i in range(0, len(names), width):
        yield _kind_call(kind, names[i : i + width])


def _steps(start: DomainOrder, target: DomainOrder) -> Iterator[tuple[DirectiveCall, ...]]:
    """The splits and fuses, grouped into the shortest directives that make them."""
    index = 0
    while index < len(target.splits):
        for width in (3, 2, 1):
            group = target.splits[index : index + width]
            call = _tile_call(target, index, group) if len(group) == width else None
            if call is not None:
                yield (call,)
                index += width
                break
        else:
            yield (_split_with_kind(start, target, index) or call_of(target.splits[index]),)
            index += 1


def _split_with_kind(start: DomainOrder, target: DomainOrder, index: int) -> DirectiveCall | None:
    """``vectorize(x, 8)`` and its kin, where the record has the names they give."""
    record = target.splits[index]
    if not isinstance(record, Split) or record.outer != record.old:
        return None
    later = target.splits[index + 1 :]
    names = set(start.names)
    for before in target.splits[:index]:
        names = names.difference(before.taken).union(before.made)
    for name, suffix, loop, kind in (
        ("vectorize", "v", record.inner, LoopKind.VECTORIZED),
        ("unroll", "u", record.inner, LoopKind.UNROLLED),
        ("parallel", "p", record.outer, LoopKind.PARALLEL),
    ):
        is_named = record.inner == inner_name(record.old, suffix, names)
        if is_named and all(target.kind(one) is kind for one in made_from((loop,), later)):
            return DirectiveCall(name, (record.old, record.factor, *tail_argument(record.tail)))
    return None


def _taken(records: Sequence[Split | Fuse]) -> set[str]:
    """The loops that ``records`` take apart or together."""
    return {name for record in records for name in record.taken}


def _tile_call(
    target: DomainOrder, index: int, records: Sequence[Split | Fuse]
) -> DirectiveCall | None:
    """A ``gpu_tile`` of one to three dimensions, or a ``tile`` of two, if it fits the loops."""
    splits = [r for r in records if isinstance(r, Split)]
    if len(splits) < len(records) or len({s.tail for s in splits}) > 1:
        return None
    outer, inner = tuple(s.outer for s in splits), tuple(s.inner for s in splits)
    later = target.splits[index + len(splits) :]
    kinds = [target.kind(name) for name in (*outer, *inner)]
    is_gpu = not _taken(later) & {*outer, *inner} and kinds == (
        [LoopKind.GPU_BLOCK] * len(splits) + [LoopKind.GPU_THREAD] * len(splits)
    )
    if not is_gpu and len(splits) != 2:
        return None
    if not _is_nested(target, later, (*outer[::-1], *inner[::-1])):
        return None
    old = tuple(s.old for s in splits)
    args = (*old, *(() if outer == old else outer), *inner, *(s.factor for s in splits))
    return DirectiveCall("gpu_tile" if is_gpu else "tile", (*args, *tail_argument(splits[0].tail)))


def _is_nested(target: DomainOrder, later: Sequence[Split | Fuse], names: Sequence[str]) -> bool:
    """Whether the final loops made from each of ``names`` lie inside those of the name before."""
    if len(set(names)) < len(names):
        return False
    place = {loop.name: i for i, loop in enumerate(target.loops)}
    outermost: tuple[int, ...] = ()
    for name in names:
        places = tuple(sorted(place.get(n, -1) for n in made_from((name,), later)))
        if not places or places[0] < 0:
            return False
        if outermost and places != outermost and places[0] <= outermost[-1]:
            return False
        outermost = places
    return True
