"""Beam search by transformers, as in [TOY]: from the default schedule, edit by edit."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
from attrs import frozen

from spaces.constraints.devices.device import CpuDevice, Device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event, Expanded, Found
from spaces.enumerate.search.first_schedules import PRICING, offer_incumbents
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.structure import Structure
from spaces.model.deadline import OutOfTime
from spaces.model.directives.transformers import CPU_KINDS, enumerate_edits
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.parameters import bind, parameters
from spaces.model.schedules.schedule import Schedule

FACTOR = "factor"
"""The parameter of a split whose factor is still open."""

_GPU_KINDS = (LoopKind.SERIAL, LoopKind.UNROLLED, LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)


@frozen(kw_only=True)
class Beam:
    """Beam search over edits; the defaults are the published ones ([TOY], Evaluation).

    The search starts at the default schedule; where that is illegal, takes too long to judge or has
    placements that the space excludes, at the cheapest first schedules. It keeps the
    placements and the storage that the options of the space allow, and the entries that the space
    fixes. It ignores the patterns of loops, so it may find schedules outside the space. A split
    keeps its factor as a parameter, so the search scores all factors at once.

    It is for spaces whose placements it shares, such as :meth:`Options.medium`: it makes its own
    loops. It skips no option as dominated; it keeps only the cheapest schedules after each edit
    ([TOY], Evaluation), so it may lose what gets cheap late.

    Attributes:
        depth: the number of edits of the default schedule.
        width: the number of schedules that the search keeps after each edit.
        factors: the split factors to choose from.
    """

    depth: int = 10
    width: int = 300
    factors: tuple[int, ...] = (2, 4, 8, 16, 32, 64, 128)

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        pricer = Pricer.of(space, model, limits)
        board = pricer.board
        yield from offer_incumbents(pricer)
        checked = _plain_start(pricer)
        states = board.best[:1] if checked is None else _price_start(pricer, checked.schedule)
        for found in states:
            yield from board.offer(found)
        seen = {found.schedule for found in states}
        complete = True
        for step in range(1, self.depth + 1):
            if not states or not complete:
                break
            yield Expanded(step, self.depth, "edit")
            neighbours: list[Found] = []
            try:
                with board.deadline.kept():
                    for state in states:
                        # One by one: those before the end of the time count, too.
                        for found in self._neighbours(pricer, state.schedule, seen):
                            neighbours.append(found)
            except OutOfTime:
                complete = False
            yield board.scored
            states = []
            try:
                with board.deadline.later(0.0 if complete else PRICING).kept():
                    for found in _sort_by_cost(pricer, neighbours):
                        board.legal += 1
                        states.append(found)
                        if len(states) == (self.width if complete else 1):
                            break
            except OutOfTime:
                complete = False
            for found in states:
                yield from board.offer(found)
        yield board.done(space, complete and not board.deadline.is_past)

    def _neighbours(
        self, pricer: Pricer, schedule: Schedule, seen: set[Schedule]
    ) -> Iterator[Found]:
        """The new schedules that one edit gives, with their costs."""
        space = pricer.space
        for edit in enumerate_edits(space.pipeline, schedule, (FACTOR,), _kinds(space.device)):
            structure = edit.after
            is_family = bool(parameters(structure))
            pricer.board.considered += 1
            if not allows(space, structure):
                continue
            menu = self.factors if is_family else (0,)
            bound = [bind(structure, {FACTOR: n}) if is_family else structure for n in menu]
            fresh = [i for i, s in enumerate(bound) if s not in seen]
            if not fresh:
                continue
            seen.update(bound)
            menus = {FACTOR: self.factors} if is_family else {}
            costs = pricer.price_structure(Structure(structure, menus))
            yield from (Found(float(costs.flat[i]), bound[i]) for i in fresh)


def _plain_start(pricer: Pricer) -> CheckedSchedule | None:
    """The default schedule with the entries that the space fixes, if the space allows it and it is
    legal; None also if the time does not suffice to tell.
    """
    space = pricer.space
    start = Schedule.default(space.pipeline)
    for entry in space.kept.funcs:
        start = start.replace(entry)
    if not allows(space, start):
        return None
    try:
        with pricer.board.deadline.kept():
            verdict = space.verdict(start)
    except OutOfTime:
        return None
    return verdict if isinstance(verdict, CheckedSchedule) else None


def _price_start(pricer: Pricer, start: Schedule) -> list[Found]:
    """The start with its cost, as a list; empty if there is no time to price it."""
    try:
        with pricer.board.deadline.kept():
            cost = float(pricer.price_structure(Structure(start, {})))
    except OutOfTime:
        return []
    return [Found(cost, start)]


def allows(space: ScheduleSpace, schedule: Schedule) -> bool:
    """Whether the options of a space allow the placements and the storage of a schedule, and the
    schedule keeps the entries that the space fixes.
    """
    fixed = {entry.name: entry for entry in space.kept.funcs}
    for entry in schedule.funcs:
        if entry.name in fixed:
            if entry != fixed[entry.name]:
                return False
            continue
        level = entry.compute
        placement = "inline" if level.is_inline else "root" if level.is_root else "at"
        if placement not in space.options.placements and entry.name not in space.pipeline.outputs:
            return False
        if space.options.storage == "compute" and entry.store != level:
            return False
    return True


def _sort_by_cost(pricer: Pricer, found: list[Found]) -> Iterator[Found]:
    """The legal schedules, cheapest first."""
    order = [(f.cost, i) for i, f in enumerate(found) if np.isfinite(f.cost)]
    heapq.heapify(order)
    while order:
        _, index = heapq.heappop(order)
        if pricer.is_legal(found[index].schedule):
            yield found[index]


def _kinds(device: Device) -> tuple[LoopKind, ...]:
    return CPU_KINDS if isinstance(device, CpuDevice) else _GPU_KINDS


STRATEGIES = {"beam": Beam()}
