"""Lists the structures and the legal schedules of a space, always in the same order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from spaces.constraints.legality.kept_values import may_keep
from spaces.enumerate.space.process.partial import PartialSchedule
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.space import Space
from spaces.enumerate.space.structure import Structure
from spaces.model.deadline import ask_clock
from spaces.model.schedules.parameters import parameters
from spaces.model.schedules.schedule import Schedule


def structures(
    space: Space, keeps: Callable[[PartialSchedule], bool] = lambda partial: True
) -> Iterator[Structure]:
    """Every structure, legal or not, lazily and always in the same order; without those that the
    restrictions leave out for all their numbers.

    Args:
        space: the space.
        keeps: whether the structures after a partial schedule are wanted; asked after each Func.
    """
    return structures_after(space.start(), lambda one: one.can_satisfy and keeps(one))


def promising_structures(space: Space) -> Iterator[Structure]:
    """The structures without those whose Funcs break a rule on their own."""
    return structures_after(space.start(), lambda one: one.can_be_legal)


def structures_after(
    start: PartialSchedule, keeps: Callable[[PartialSchedule], bool]
) -> Iterator[Structure]:
    """The structures after those partial schedules that are kept: the first one, and those after
    each Func, not after each decision.
    """
    stack = [iter((start,))]
    while stack:
        ask_clock()
        partial = next(stack[-1], None)
        if partial is None:
            stack.pop()
        elif partial.state.draft is None and not keeps(partial):
            continue
        elif partial.state.has_structure:
            yield structure_of(partial.state)
        else:
            stack.append(map(partial.take, partial.options))


def structure_of(state: ProcessState) -> Structure:
    """The structure of a state in which at most factors are open."""
    schedule = Schedule(state.entries, state.pipeline.derivations)
    return Structure(schedule, {name: state.menus[name] for name in parameters(schedule)})


def legal_schedules(space: Space) -> Iterator[Schedule]:
    """Every legal schedule, lazily and always in the same order."""
    return _legal_choices(space, promising_structures(space))


def shard(space: Space, number: int, *, of: int) -> Iterator[Schedule]:
    """The legal schedules of one of several shards: together the shards have every schedule of the
    iteration once. Equal spaces have equal shards on every machine.

    Args:
        space: the space.
        number: the shard, from 0.
        of: the number of shards.

    Raises:
        ValueError: there is no such shard.
    """
    if not 0 <= number < of:
        raise ValueError(f"shard({number}, of={of}): give a number from 0 to {of - 1}.")
    own = itertools.islice(promising_structures(space), number, None, of)
    return _legal_choices(space, own)


def _legal_choices(space: Space, some: Iterable[Structure]) -> Iterator[Schedule]:
    """The legal choices of some structures."""
    for structure in some:
        for part in structure.parts():
            for index in np.flatnonzero(space.legal(part)):
                schedule = part.at(int(index))
                if is_listed(space, schedule):
                    yield schedule


def is_listed(space: Space, schedule: Schedule) -> bool:
    """Whether a schedule that is legal by the masks is legal by its proofs, too."""
    return not may_keep(schedule) or bool(space.verdict(schedule))
