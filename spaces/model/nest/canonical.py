"""Canonical forms: schedules up to the names of their loops.

A directive names the loops that it makes, and users choose these names: ``xv``, ``x_v``, ``lane``.
The names have no meaning, nor has the order of splits of different loops. A canonical form says
instead what each loop is made from, and which loop a level means.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from attrs import astuple, evolve, frozen

from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.schedules.derive import derived
from spaces.model.schedules.domain_order import DomainOrder, Fuse, Partition, Split, Tail
from spaces.model.schedules.levels import LevelError, Path
from spaces.model.schedules.named_levels import NamedLevels
from spaces.model.schedules.order_of import OrderOf, cases_of, orders_of
from spaces.model.schedules.schedule import (
    SETTINGS,
    Alignment,
    Bound,
    FuncSchedule,
    LoopLevel,
    MemoryType,
    Schedule,
    StageOf,
)
from spaces.model.showing import outline

_Parts: TypeAlias = Iterator[tuple[str, str | int]]

_LONGEST = 120
"""A longer text of what a loop is made from is replaced by its hash: fuses double the text."""


@frozen(hash=False, repr=False)
class CanonicalForm:
    """A schedule up to the names of its loops.

    Two schedules of a pipeline have equal forms exactly if some differences are all that tells them
    apart. These are the names of loops that directives made, the order of directives for different
    loops, the order of derivations with the same result, and defaults written out. Tails count as
    written: what ``TailStrategy::Auto`` means depends on factors.

    Attributes:
        derivations: the derivations, as text, sorted.
        parts: for each decision, by its name, what the schedule decides; defaults are left out.
            Values are texts and numbers.
        loops: for each stage and each of its specializations, by ``f``, ``f.update(0)`` or
            ``f case 0``, its loops, outermost first. A loop is named after what the schedule makes
            it from.
        reads: for each Func that reads others than in the pipeline as written, what it reads. It
            depends on the derivations and on their order.
    """

    derivations: tuple[str, ...]
    parts: Mapping[str, str | int]
    loops: Mapping[str, tuple[str, ...]]
    reads: Mapping[str, tuple[str, ...]]

    def __repr__(self) -> str:
        return outline(self)

    @cached_property
    def digest(self) -> str:
        """A text of 32 hexadecimal digits: equal for equal forms, the same on every machine."""
        text = json.dumps(astuple(self, recurse=False), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def __hash__(self) -> int:
        return hash(self.digest)


def canonical_form(pipeline: Pipeline, schedule: Schedule) -> CanonicalForm:
    """The canonical form of a schedule with an entry for each Func of ``pipeline``, legal or not.

    Raises:
        ValueError: the schedule has no entry for a Func, or entries of other Funcs.
    """
    written = {function.name: function.callees for function in pipeline.functions}
    pipeline = derived(pipeline, schedule)
    names = sorted(function.name for function in pipeline.functions)
    if sorted(entry.name for entry in schedule.funcs) != names:
        raise ValueError(
            f"The schedule has entries for {', '.join(f.name for f in schedule.funcs) or 'no Func'}"
            f", and pipeline {pipeline.name} has {', '.join(names)}; give one entry for each Func."
        )
    reads = {
        function.name: tuple(sorted(function.callees))
        for function in pipeline.functions
        if function.callees != written.get(function.name)
    }
    return evolve(_Reader(pipeline, schedule).form(), reads=reads)


def same_schedule(pipeline: Pipeline, first: Schedule, second: Schedule) -> bool:
    """Whether two schedules of a pipeline differ at most in the names of loops, in the order of
    directives for different loops, and in defaults written out.
    """
    return canonical_form(pipeline, first) == canonical_form(pipeline, second)


def distance(first: CanonicalForm, second: CanonicalForm) -> int:
    """How many decisions differ: placements, storage, splits, kinds of loops and so on, and the
    loops of a stage that stand elsewhere. 0 for equal forms; symmetric.
    """
    parts = {
        name
        for name in {*first.parts, *second.parts}
        if first.parts.get(name) != second.parts.get(name)
    }
    moved = (
        _moved(first.loops.get(stage, ()), second.loops.get(stage, ()))
        for stage in {*first.loops, *second.loops}
    )
    rewritten = len(set(first.derivations) ^ set(second.derivations))
    return len(parts) + sum(moved) + rewritten


def _moved(first: tuple[str, ...], second: tuple[str, ...]) -> int:
    """The fewest of the loops that both have to move so that they are in the same order."""
    both = set(first) & set(second)
    place = {loop: number for number, loop in enumerate(o for o in second if o in both)}
    longest: list[int] = []  # of the rising sequences of places that end with each loop
    places = [place[loop] for loop in first if loop in both]
    for number, here in enumerate(places):
        before = (longest[i] for i in range(number) if places[i] < here)
        longest.append(1 + max(before, default=0))
    return len(places) - max(longest, default=0)


class _Reader:
    """Reads the form of one schedule."""

    def __init__(self, pipeline: Pipeline, schedule: Schedule) -> None:
        self.pipeline = pipeline
        self.schedule = schedule
        self.levels = NamedLevels(pipeline, schedule)
        self.origins = {
            place: Origins.of(order, function.stages[place.stage.stage].dimensions)
            for function in pipeline.functions
            for place, order in orders_of(schedule.of(function.name))
        }

    def form(self) -> CanonicalForm:
        """The form of the whole schedule."""
        parts: dict[str, str | int] = {}
        loops: dict[str, tuple[str, ...]] = {}
        for function in self.pipeline.functions:
            entry = self.schedule.of(function.name)
            parts.update(self._call(entry))
            for place, order in orders_of(entry):
                parts.update(order_parts(place, function, order))
                loops[str(place)] = tuple(self.origins[place][n] for n in order.names)
                parts.update(self._case(place))
        derivations = tuple(sorted(map(str, self.schedule.derivations)))
        return CanonicalForm(derivations, parts, loops, {})

    def _call(self, entry: FuncSchedule) -> _Parts:
        """Where a Func is computed and stored, and how."""
        name = entry.name
        yield from self._level(f"{name} compute", name, entry.compute, self.levels.compute_path)
        if not entry.compute.is_inline:
            yield from self._level(f"{name} store", name, entry.store, self.levels.store_path)
        if entry.is_hoisted:
            yield from self._level(f"{name} hoist", name, entry.hoist, self.levels.hoist_path)
        if entry.memory is not MemoryType.AUTO:
            yield f"{name} memory", str(entry.memory)
        for setting, default in SETTINGS.items():
            value = getattr(entry, setting)
            if value != default:
                yield f"{name} {setting}", int(value)
        for fold in entry.folds:
            yield f"{name} fold {fold.dimension}", fold.factor
            if not fold.forward:
                yield f"{name} fold {fold.dimension} backward", 1
        for pad in entry.pads:
            yield f"{name} align storage {pad.dimension}", pad.multiple
        for bound in entry.storage_bounds:
            yield f"{name} bound storage {bound.dimension}", bound.extent
        for number, order in enumerate(entry.storage_orders):
            yield f"{name} storage order {number}", " ".join(order)
        dimensions: dict[str, int] = {}
        for record in entry.bounds:
            number = dimensions[record.dimension] = dimensions.get(record.dimension, -1) + 1
            yield f"{name} bound {record.dimension} {number}", bound_text(record)
        for stage in entry.atomic:
            yield f"{StageOf(name, stage)} atomic", 1
        for one in entry.companions:
            # The stages have their outermost loops in common, so the number of them says which.
            names = entry.stages[one.stage].names
            depth = names.index(one.loop) + 1 if one.loop in names else one.loop
            fused = StageOf(name, one.stage)
            yield f"{fused} with", f"{one.other} {depth}"
            for loop, align in one.aligned:
                place = names.index(loop) + 1 if loop in names else loop
                yield f"{fused} align {place}", str(align)

    def _case(self, place: OrderOf) -> _Parts:
        """The condition of a specialization."""
        if place.case is not None:
            case = cases_of(self.schedule.of(place.func), place.stage.stage)[place.case]
            yield f"{place} condition", str(case.condition)
            if case.failure:
                yield f"{place} failure", case.failure

    def _level(self, part: str, func: str, level: LoopLevel, path: Callable[[str], Path]) -> _Parts:
        """A level as the loop that it means: Func, stage and what the loop is made from. In a case
        of the stage it may mean another loop.
        """
        found = None if level.is_inline or level.is_root else self._meant(func, level, path)
        if found is None:
            yield part, str(level)
            return
        stage, name = found
        meant = self.origins[OrderOf(stage)][name]
        yield part, f"{stage} {meant}"
        for place, origins in self.origins.items():
            is_case = place.stage == stage and place.case is not None
            if is_case and origins.loops.get(name) != meant:
                yield f"{part} in {place}", origins.loops.get(name, "no loop")

    def _meant(
        self, func: str, level: LoopLevel, path: Callable[[str], Path]
    ) -> tuple[StageOf, str] | None:
        """The stage and the name of the loop of a level."""
        try:
            return self._around(func, len(path(func)) - 1)
        except (LevelError, KeyError, ValueError):
            # No loop around all uses: the first that has the name, if any has it.
            named = (o for o in self.origins if o.func == level.func and o.case is None)
            found = next((o for o in named if level.loop in self.origins[o].loops), None)
            return None if found is None else (found.stage, level.loop)

    def _around(self, func: str, depth: int) -> tuple[StageOf, str]:
        """A loop around the uses of a Func. Of fused loops it is the loop of the stage that uses
        the Func first, whichever Funcs that stage is computed with.
        """
        reader, index = self.levels.uses(func)[0]
        outside = len(self.levels.compute_path(reader))
        if depth < outside:
            return self._around(reader, depth)
        stage = StageOf(reader, index)
        return stage, self.schedule.of(reader).stages[index].names[depth - outside]


def order_parts(name: OrderOf, function: Function, order: DomainOrder) -> _Parts:
    """The parts of a domain order: its splits, the kinds of its loops, hints."""
    stage = function.stages[name.stage.stage]
    origins = Origins.of(order, stage.dimensions)
    for record, origin in zip(order.splits, origins.taken, strict=True):
        if isinstance(record, Fuse):
            yield f"{name} fuse {origin}", 1
        else:
            yield f"{name} factor {origin}", record.factor
            if record.tail is not Tail.AUTO:
                yield f"{name} tail {origin}", str(record.tail)
    for loop in order.loops:
        yield f"{name} kind {origins[loop.name]}", str(loop.kind)
        policy = order.partition(loop.name)
        if policy is not Partition.AUTO:
            yield f"{name} partition {origins[loop.name]}", str(policy)
    for lane in order.lanes:
        yield f"{name} lanes {origins[lane.loop]}", "True"
    for number, one in enumerate(order.prefetches):
        loops = f"{origins[one.at]} {origins[one.origin]}"
        yield f"{name} prefetch {number}", f"{one.target} {loops} {one.offset} {one.bound}"


def bound_text(bound: Bound | Alignment) -> str:
    """A bound of one dimension as a part of a form."""
    if isinstance(bound, Alignment):
        return f"align {bound.modulus} {bound.remainder}"
    return f"bound {bound.min} {bound.extent}"


@frozen
class Origins:
    """What the loops of a domain order are made from.

    Attributes:
        loops: for each loop that is left, by name: a dimension ``x``, the outer or inner loop
            ``x.0`` or ``x.1`` of a split, or two fused loops ``(y*x)``, outer first.
        taken: the same for the loop that each split takes, and for the loop that each fuse makes.
    """

    loops: Mapping[str, str]
    taken: tuple[str, ...]

    @staticmethod
    def of(order: DomainOrder, dimensions: Iterable[str]) -> Origins:
        """The origins in an order of a stage with these dimensions."""
        loops = {name: name for name in dimensions}
        taken = []
        for record in order.splits:
            if isinstance(record, Split):
                old = loops.pop(record.old, record.old)
                loops[record.outer], loops[record.inner] = _short(f"{old}.0"), _short(f"{old}.1")
            else:
                inner = loops.pop(record.inner, record.inner)
                outer = loops.pop(record.outer, record.outer)
                old = loops[record.fused] = fused_origin(outer, inner)
            taken.append(old)
        return Origins(loops, tuple(taken))

    def __getitem__(self, loop: str) -> str:
        return self.loops.get(loop, loop)


def fused_origin(outer: str, inner: str) -> str:
    """What the loop that two loops are fused into is made from."""
    return _short(f"({outer}*{inner})")


def _short(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
