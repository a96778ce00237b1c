"""Decisions that recur: those about Funcs that compute alike, for readers scheduled alike.

Networks repeat their layers and chains their stages. A search that has decided one layer need not
compare all options for the next: [A21] 3.3 recognizes repeated parts of schedules, too. Two Funcs
recur if their stages do the same work and their extents are similar. All Funcs in the loop nests of
their readers must recur, too, and have the same schedule up to names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Hashable, Mapping
from functools import lru_cache

from attrs import define, field, frozen

from spaces.enumerate.search.stagewise.root_nests import funcs_in, roots_of
from spaces.enumerate.search.stagewise.state import FreeNumbers, HalfDecided
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.process.state import ProcessState
from spaces.features.accesses import ReadGroup
from spaces.features.work import stage_work
from spaces.model.algorithm.pipeline import Function, Stage
from spaces.model.schedules.parameters import entry_parameters
from spaces.model.schedules.schedule import FuncSchedule

_NAME = re.compile("'([^']*)'")
"""A name in the text of a record."""

_MUCH = 1.5
"""A Func that is decided without a comparison may cost this many times as much as the dearest Func
that was compared.
"""

_PER_DOUBLING = 2
"""Extents are similar if they are in the same half of a doubling."""


@frozen
class Context:
    """What a decision about a Func depends on, up to names.

    Attributes:
        key: equal for contexts that are alike.
        names: the names that differ between alike contexts, in an order that is the same in all of
            them.
    """

    key: Hashable
    names: tuple[str, ...]


@frozen
class _Decided:
    """A decision, with the names in its context.

    Attributes:
        names: the names in the context.
        labels: the labels of the options taken.
        numbers: the numbers chosen with it, by the numbers in the context and the menus to choose
            from.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    numbers: dict[Hashable, tuple[int, ...]] = field(factory=dict, eq=False)


@define
class RecurringDecisions:
    """The decisions of a search by their contexts; of several in one context the first counts.
    Numbers of parameters are not part of it, for they depend on what divides an extent: they recur
    if those in the context and the menus do.
    """

    _known: dict[Hashable, _Decided] = field(init=False, factory=dict)
    _dearest: float = field(init=False, default=0.0)

    def note_cost(self, added: float) -> None:
        """Remembers what a Func cost whose options were compared."""
        if math.isfinite(added):
            self._dearest = max(self._dearest, added)

    def is_plausible(self, added: float) -> bool:
        """Whether a Func that is decided as before costs about as much as those whose options were
        compared. The numbers of its readers may be others than before, and may not fit.
        """
        return added <= _MUCH * self._dearest

    def keep(self, state: HalfDecided, func: str, free: FreeNumbers | None = None) -> None:
        """Remembers how a half-decided schedule decides a Func. Skips a decision without a choice,
        which the process takes together with others.

        Args:
            state: the half-decided schedule.
            func: the Func.
            free: the menus of the numbers that were chosen with the decision; None if other numbers
                may have been chosen since.
        """
        before = state.before
        while before is not None and before.entries((func,)):
            state, before = before, before.before
        if before is None:
            return
        if len(state.partial.state.entries) == len(before.partial.state.entries) + 1:
            context = _context(before, func)
            taken = state.partial.taken[len(before.partial.taken) :]
            known = self._known.setdefault(context.key, _Decided(context.names, taken))
            if free is not None and _rename_labels(known, context) == taken:
                chosen = tuple(state.numbers[name] for name in free)
                known.numbers.setdefault(_choice(before, context, free), chosen)

    def find_decision(self, before: HalfDecided, func: str) -> PartialSchedule | None:
        """The partial schedule after the decision that was taken before in the same context as that
        of a Func. None if there is no such decision, if the Func lacks its options, or if the Func
        is decided already.
        """
        if before.entries((func,)):
            return None
        context = _context(before, func)
        known = self._known.get(context.key)
        if known is None:
            return None
        after = before.partial
        for label in _rename_labels(known, context):
            if label not in (option.label for option in after.options):
                return None
            after = after.take(label)
        is_decided = any(entry.name == func for entry in after.state.entries)
        return after if is_decided else None

    def find_numbers(
        self, before: HalfDecided, func: str, free: FreeNumbers
    ) -> Mapping[str, int] | None:
        """The numbers that were chosen with the known decision about a Func, where those in its
        context and the menus were the same; None if they were not.
        """
        context = _context(before, func)
        known = self._known.get(context.key)
        chosen = None if known is None else known.numbers.get(_choice(before, context, free))
        return None if chosen is None else dict(zip(free, chosen, strict=True))


def _rename_labels(known: _Decided, context: Context) -> tuple[str, ...]:
    """The labels of a known decision with the names of a context like its own."""
    renamed = _replace_names(dict(zip(known.names, context.names, strict=True)))
    return tuple(map(renamed, known.labels))


def _choice(before: HalfDecided, context: Context, free: FreeNumbers) -> Hashable:
    """What the numbers chosen with a decision depend on, besides its context."""
    return tuple(map(before.numbers.get, context.names)), tuple(free.values())


def _replace_names(names: Mapping[str, str]) -> Callable[[str], str]:
    """Replaces names in a text."""
    longest_first = sorted(names, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, longest_first))})(?!\w)")
    return lambda text: pattern.sub(lambda found: names[found[1]], text)


def _context(before: HalfDecided, func: str) -> Context:
    """All that a decision about a Func depends on: the nests of its readers."""
    state = before.partial.state
    pipeline = state.pipeline
    entries = {entry.name: entry for entry in state.entries}
    readers = (name for name in pipeline.consumers(func) if name != func)
    around = funcs_in(pipeline, entries, roots_of(pipeline, entries, readers))
    return context_of(state, func, around, entries)


def context_of(
    state: ProcessState, func: str, around: Collection[str], entries: Mapping[str, FuncSchedule]
) -> Context:
    """A Func and others in some loop nests, up to names.

    Args:
        state: a half-decided schedule.
        func: the Func, which may have an entry.
        around: the Funcs in the nests.
        entries: the entries of all decided Funcs.
    """
    pipeline = state.pipeline
    others = sorted({*around} - {func}, key=pipeline.places.__getitem__, reverse=True)
    functions = tuple(map(pipeline.function, (func, *others)))
    places = {one.name: f"<{number}>" for number, one in enumerate(functions)}
    for one in functions:
        for index, stage in enumerate(one.stages):
            for place, rvar in enumerate(stage.rvars):
                places.setdefault(rvar.name, f"{places[one.name]}.{index}.{place}")
    forms = tuple(_form(one, places, state.sizes.boxes.get(one.name, {})) for one in functions)
    decided = [one for one in functions if one.name in entries]
    for one in decided:
        for place, name in enumerate(entry_parameters(entries[one.name])):
            places[name] = f"{places[one.name]} {place}"
    texts = tuple(_text(entries[one.name], places) for one in decided)
    is_output = tuple(one.name in pipeline.outputs for one in functions)
    return Context((forms, texts, is_output), tuple(places))


def _text(entry: FuncSchedule, places: Mapping[str, str]) -> Hashable:
    """An entry up to names."""
    if entry.specializations:  # their conditions may name sizes
        return _replace_names(places)(repr(entry))
    frame, names = _split_names(entry)
    return frame, tuple(_rename(name, places) for name in names)


@lru_cache(maxsize=4096)
def _split_names(entry: FuncSchedule) -> tuple[str, tuple[str, ...]]:
    """An entry as text without its names, and the names."""
    text = repr(entry)
    return _NAME.sub("''", text), tuple(_NAME.findall(text))


def _rename(name: str, places: Mapping[str, str]) -> str:
    """A name, or one that begins with the name of a Func, in other words."""
    found = places.get(name)
    if found is None:
        func, dot, rest = name.partition(".")
        return f"{places.get(func, func)}{dot}{rest}"
    return found


@frozen(cache_hash=True)
class _Frame:
    """What a Func computes, without the names of what it reads."""

    parts: Hashable


_only_frame = lru_cache(maxsize=4096)(_Frame)
"""One object for equal frames, so that they are soon compared."""


def _form(
    function: Function, places: Mapping[str, str], box: Mapping[str, tuple[int, int]]
) -> Hashable:
    """What a Func computes, up to names."""
    extents = tuple(_similar(box[name][1]) if name in box else None for name in function.args)
    frame, buffers = _frame(function, extents)
    return frame, tuple(places.get(buffer, "") for buffer in buffers)


@lru_cache(maxsize=4096)
def _frame(function: Function, extents: tuple[int | None, ...]) -> tuple[_Frame, tuple[str, ...]]:
    """What a Func computes, and the buffers that it reads, once for each read."""
    stages = tuple(map(_stage_form, function.stages))
    reads = (access for stage in function.stages for access in stage_work(stage).accesses)
    parts = function.args, function.types, extents, stages
    return _only_frame(parts), tuple(access.buffer for access in reads)


def _similar(extent: int) -> int:
    return math.floor(_PER_DOUBLING * math.log2(max(extent, 1)))


def _stage_form(stage: Stage) -> Hashable:
    work = stage_work(stage)
    own = {rvar.name: f"r{place}" for place, rvar in enumerate(stage.rvars)}

    def named(names: frozenset[str]) -> frozenset[str]:
        return frozenset(own.get(name, name) for name in names)

    def access_form(access: ReadGroup) -> Hashable:
        indices = tuple(
            (tuple((own.get(n, n), step) for n, step in i.moves), i.spread, i.course, i.most)
            for i in access.indices
        )
        return indices, access.reads, access.in_place, named(access.moved_by)

    terms = tuple(str(rvar.extent) for rvar in stage.rvars)
    parts = frozenset((named(moved_by), operations) for moved_by, operations in work.parts)
    accesses = tuple(map(access_form, work.accesses))
    return terms, accesses, named(work.written), parts, work.is_undefined
