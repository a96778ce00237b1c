"""Replace strided accesses by dense accesses with shuffled lanes; accesses of the same memory share
them.

``in[2 * x]`` and ``in[2 * x + 1]`` over 8 lanes read the same 16 elements. Two dense loads read
them, and each expression picks its lanes. In the same way ``n`` consecutive stores with a stride of
``n`` become dense stores of interleaved values. Where lanes are masked, so are their elements in
the dense vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from attrs import evolve, frozen

from spaces.backend.ir.identities import coordinate
from spaces.backend.ir.node import map_children
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import Block, If, Statement, Store, block
from spaces.backend.ir.vectors import Broadcast, Load, MaskedLoad, Ramp, Shuffle
from spaces.backend.ir.walk import buffers_read, map_own
from spaces.backend.lowering.analyses.linear import origin_of
from spaces.backend.lowering.passes import named
from spaces.model.expressions.expr import Const, Expr, constant, walk
from spaces.model.expressions.rewrite import rewrite
from spaces.model.expressions.types import Bool, Int32

_SMALL_STRIDES = range(2, 5)
"""Strides whose elements are cheaper to pick out of dense vectors than to load one by one."""

_STRIDES = range(2, 9)
"""Strides of accesses that may become dense: with more, most of the dense vectors is not used."""


def loads_pay(stride: int, loads: int) -> bool:
    """Whether a stride makes dense vectors cheaper than loads lane by lane, if that many loads
    share them.
    """
    return stride == 1 or stride in _SMALL_STRIDES or (stride in _STRIDES and 2 * loads >= stride)


def stores_pay(stride: int, stores: int) -> bool:
    """Whether that many stores with a stride can become dense stores."""
    return stride == 1 or (stride in _STRIDES and stores >= stride)


class _NoLoads:
    """The set of all expressions that load nothing; a walk skips them."""

    def __contains__(self, expr: object) -> bool:
        return isinstance(expr, Expr) and not expr.loads


_NO_LOADS = _NoLoads()


@named("interleave")
def interleave(program: LoopProgram) -> LoopProgram:
    """The program with dense vectors in place of vectors of small stride, where it also accesses
    the elements in between, or may access them.
    """
    return evolve(program, body=_dense(program.body))


def _dense(statement: Statement) -> Statement:
    if isinstance(statement, Store) and statement.update is None:
        return block(*_run([statement]))
    if not isinstance(statement, Block):
        return map_children(statement, _dense)
    done: list[Statement] = []
    run: list[Store] = []
    for part in _joined(statement.body):
        if isinstance(part, Store) and part.update is None:
            run.append(part)
            continue
        done += [*_run(run), _dense(part)]
        run = []
    return block(*done, *_run(run))


def _joined(parts: Iterable[Statement]) -> list[Statement]:
    """The statements, with neighbors under the same guard under one guard: their stores may fill
    each other's gaps. No store changes a guard that reads no memory.
    """
    joined: list[Statement] = []
    for part in parts:
        before = joined[-1] if joined else None
        if (
            isinstance(part, If)
            and isinstance(before, If)
            and part.condition is before.condition
            and not part.condition.loads
        ):
            others = [p.otherwise for p in (before, part) if p.otherwise is not None]
            otherwise = block(*others) if others else None
            joined[-1] = If(part.condition, block(before.body, part.body), otherwise)
        else:
            joined.append(part)
    return joined


def _run(stores: list[Store]) -> Iterator[Statement]:
    """Rewrites consecutive stores; either all of them run or none."""
    dense = _dense_stores(stores)
    loads = _dense_loads(n for s in dense for n in walk(*s.expressions, known=_NO_LOADS))
    for store in dense:
        yield map_own(store, lambda e: rewrite(e, lambda n: loads.get(n, n))) if loads else store


# Loads


@frozen
class _Strided:
    """A load with a small stride. Its first lane lies ``offset`` elements after an origin that all
    loads with the same key share.
    """

    load: Load | MaskedLoad
    offset: int
    stride: int

    @property
    def last(self) -> int:
        """Offset of the last lane."""
        return self.offset + (self.load.type.lanes - 1) * self.stride

    @property
    def mask(self) -> Expr | None:
        """The lanes that load, or None if all do."""
        return self.load.mask if isinstance(self.load, MaskedLoad) else None


def _dense_loads(nodes: Iterable[Expr]) -> dict[Expr, Expr]:
    """For each strided load, its lanes picked out of dense loads."""
    groups: dict[tuple[object, ...], dict[Expr, _Strided]] = {}
    for node in nodes:
        if not isinstance(node, Load | MaskedLoad) or not isinstance(node.index, Ramp):
            continue
        stride = _stride(node.index)
        if stride is not None:
            origin = origin_of(node.index.base)
            found = _Strided(node, origin.offset, stride)
            key = (node.buffer, node.type, stride, origin.terms, found.mask)
            groups.setdefault(key, {})[node] = found
    replaced: dict[Expr, Expr] = {}
    for group in groups.values():
        for near in _near(sorted(group.values(), key=lambda s: s.offset)):
            if loads_pay(near[0].stride, len(near)):
                replaced |= _picked(near)
    return replaced


def _stride(index: Ramp) -> int | None:
    step = index.stride
    return int(step.value) if isinstance(step, Const) and step.value in _STRIDES else None


def _near(loads: list[_Strided]) -> Iterator[list[_Strided]]:
    """Groups of loads that begin within one stride of the group's first load."""
    near: list[_Strided] = []
    for load in loads:
        if near and load.offset - near[0].offset >= load.stride:
            yield near
            near = []
        near.append(load)
    yield near


def _picked(near: list[_Strided]) -> dict[Expr, Expr]:
    """Each load as lanes of dense vectors; these touch nothing behind the last element of all
    loads.
    """
    first = near[0]
    lanes = first.load.type.lanes
    start, end = first.offset, max(load.last for load in near)
    starts = [min(start + k * lanes, end + 1 - lanes) for k in range(first.stride)]
    width = near[-1].offset - start + 1
    parts = tuple(_from(first, s, width) for s in starts)
    replaced: dict[Expr, Expr] = {}
    for load in near:
        places = [load.offset + lane * load.stride for lane in range(lanes)]
        picks = tuple(_place(place, starts, lanes) for place in places)
        replaced[load.load] = _shuffle(parts, picks)
    return replaced


def _from(first: _Strided, offset: int, width: int) -> Expr:
    """The dense vector that begins at ``offset``, in the group of the load ``first``. Of each
    ``stride`` elements that belong to an active lane, it loads the first ``width``.
    """
    load, begin = first.load, offset - first.offset
    assert isinstance(load.index, Ramp)
    base = coordinate("add", load.index.base, constant(begin, Int32))
    index = Ramp(load.index.type, base, constant(1, Int32))
    if first.mask is None:
        return Load(load.type, load.buffer, index)
    lanes = load.type.lanes
    never = Broadcast(first.mask.type, constant(False, Bool))
    places = range(begin, begin + lanes)
    picks = (p // first.stride if p % first.stride < width else lanes for p in places)
    mask = _shuffle((first.mask, never), tuple(picks))
    return MaskedLoad(load.type, load.buffer, index, mask)


def _place(element: int, starts: Sequence[int], lanes: int) -> int:
    part = next(k for k, s in enumerate(starts) if s <= element < s + lanes)
    return part * lanes + element - starts[part]


def _shuffle(parts: tuple[Expr, ...], picks: tuple[int, ...]) -> Expr:
    """The shuffle of ``parts`` by ``picks``, without the parts that give no lane."""
    lanes = parts[0].type.lanes
    used = sorted({pick // lanes for pick in picks})
    numbers = {part: number for number, part in enumerate(used)}
    moved = tuple(numbers[pick // lanes] * lanes + pick % lanes for pick in picks)
    kind = parts[0].type.element.with_lanes(len(picks))
    return Shuffle(kind, tuple(parts[k] for k in used), moved)


# Stores


def _dense_stores(stores: list[Store]) -> list[Store]:
    """The stores; those that fill each other's gaps become dense stores at the place of the last
    one.
    """
    dense: dict[int, list[Store]] = {}
    for members in _filling(stores):
        woven = [stores[n] for n in members]
        between = (n for n in range(min(members), max(members)) if n not in members)
        if all(map(_reads_its_place, woven)) and all(_apart(stores[n], woven) for n in between):
            dense |= {n: [] for n in members}
            dense[max(members)] = _woven(woven)
    return [s for n, store in enumerate(stores) for s in dense.get(n, [store])]


def _filling(stores: list[Store]) -> Iterator[list[int]]:
    """The positions of stores whose lanes, in this order, lie next to each other."""
    groups: dict[tuple[object, ...], dict[int, int]] = {}
    for number, store in enumerate(stores):
        if not isinstance(store.index, Ramp):
            continue
        stride = _stride(store.index)
        if stride is not None:
            origin = origin_of(store.index.base)
            key = (stride, store.buffer, store.value.type, origin.terms, store.mask)
            groups.setdefault(key, {}).setdefault(origin.offset, number)
    for (apart, *_), numbers in groups.items():
        assert isinstance(apart, int)
        taken: set[int] = set()
        for offset in sorted(numbers):
            wanted = range(offset, offset + apart)
            if not taken.intersection(wanted) and all(o in numbers for o in wanted):
                taken.update(wanted)
                yield [numbers[o] for o in wanted]


def _reads_its_place(store: Store) -> bool:
    """Whether a store reads no other elements of its buffer than those that it replaces."""
    return all(
        n.index is store.index
        for n in walk(*store.expressions)
        if isinstance(n, Load | MaskedLoad) and n.buffer == store.buffer
    )


def _apart(store: Store, woven: Sequence[Store]) -> bool:
    """Whether a store may change places with those that fill each other's gaps: it does not touch
    their buffer, or only elements before or behind theirs.
    """
    first = woven[0]
    if store.buffer != first.buffer:
        return first.buffer not in buffers_read(store)
    places, others = _places(store), _places(first)
    if places is None or others is None or places[0] != others[0]:
        return False
    begin, end = others[1].start, others[1].start + len(woven) * first.value.type.lanes
    is_apart = places[1].stop <= begin or places[1].start >= end
    return is_apart and _reads_its_place(store)


def _places(store: Store) -> tuple[frozenset[tuple[Expr, int]], range] | None:
    """From the first to the last element that a store replaces, counted from an origin with these
    terms; None if they are not a known distance apart.
    """
    match store.index:
        case Ramp(base=base, stride=Const(value=value)) if value > 0:
            origin = origin_of(base)
            end = origin.offset + (store.value.type.lanes - 1) * int(value) + 1
            return origin.terms, range(origin.offset, end)
    return None


def _woven(stores: list[Store]) -> list[Store]:
    """Dense stores of the interleaved values of ``stores``."""
    first, count = stores[0], len(stores)
    assert isinstance(first.index, Ramp)
    lanes = first.value.type.lanes
    values = tuple(s.value for s in stores)
    dense = []
    for k in range(count):
        elements = range(k * lanes, (k + 1) * lanes)
        picks = tuple(e % count * lanes + e // count for e in elements)
        begin = first.index.base + constant(k * lanes, Int32)
        index = Ramp(first.index.type, begin, constant(1, Int32))
        mask = first.mask
        if mask is not None:
            mask = _shuffle((mask,), tuple(e // count for e in elements))
        dense.append(Store(first.buffer, index, _shuffle(values, picks), mask))
    return dense
