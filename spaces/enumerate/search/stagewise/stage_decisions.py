"""Decides one Func after another, consumers first: what searches of this kind share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from attrs import evolve, frozen

from spaces.enumerate.search.events import Event, Found
from spaces.enumerate.search.first_schedules import UNIFORM_CHOICES, fill_schedule
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.stagewise.device_policy import DevicePolicy, policy_of
from spaces.enumerate.search.stagewise.state import HalfDecided, OpenWay
from spaces.enumerate.search.stagewise.way_prices import WayPrices
from spaces.enumerate.search.stagewise.ways import Ways
from spaces.enumerate.space.decided_part import decided_part
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.schedules.derivations import Derivation
from spaces.model.schedules.parameters import bind


@frozen
class StageDecisions:
    """What the steps of one search share.

    Attributes:
        pricer: the pricer of a space of whole patterns.
        lattice: a limit for the choices of tile sizes of all decided Funcs together. Up to it, the
            tile sizes of the loops around a Func are chosen anew with the Func; beyond it, they
            keep their values.
        deadline: the end of the search.
    """

    pricer: Pricer
    lattice: int
    deadline: Deadline

    @cached_property
    def policy(self) -> DevicePolicy:
        """The policy of the device."""
        return policy_of(self.space.device)

    @cached_property
    def ways(self) -> Ways:
        """Lists the ways to decide a Func."""
        return Ways(self.pricer, self.policy, self.lattice)

    @cached_property
    def prices(self) -> WayPrices:
        """Prices and judges ways."""
        return WayPrices(self.pricer, self.policy)

    @property
    def space(self) -> ScheduleSpace:
        """The space of the search."""
        return self.pricer.space

    def within(self, space: ScheduleSpace) -> StageDecisions:
        """The same steps in another space of the same pipeline."""
        return evolve(self, pricer=self.pricer.within(space))

    def start(self, steps: Collection[Derivation] = ()) -> HalfDecided:
        """The state in which no Func is decided, with some derivations and without others."""
        wanted = frozenset(map(str, steps))
        partial = self.space.start()
        while partial.decision is not None and not partial.decision.func:
            options = tuple(partial.options)
            chosen = [one for one in options if one.label in wanted]
            partial = partial.take((chosen or [one for one in options if one.is_plain])[0])
        return HalfDecided(partial, {}, 0.0)

    def replay_decisions(
        self, known: HalfDecided, start: HalfDecided, until: Collection[str]
    ) -> HalfDecided:
        """The state after ``start`` with the decisions of a complete one, which may have other
        derivations, up to the first Func of ``until``. They wait for their price.
        """
        given = self.space.pipeline.derivations
        steps = known.partial.state.pipeline.derivations[len(given) :]
        labels = known.partial.taken[len(self.start(steps).partial.taken) :]
        partial = whole = start.partial
        for label in labels:
            decision = partial.decision
            if decision is None or decision.func in until:
                break
            if label not in (option.label for option in partial.options):
                break
            partial = partial.take(label)
            if partial.decision is None or partial.decision.func != decision.func:
                whole = partial
        return HalfDecided(whole, known.numbers, start.cost)

    def part(self, states: Sequence[HalfDecided], names: Collection[str]) -> Pipeline:
        """The pipeline of some Funcs."""
        return decided_part(states[0].partial.state.pipeline, frozenset(names))

    def cost_so_far(self, state: HalfDecided) -> float:
        """The cost of the Funcs that a state decides; infinite if they have no loop nest."""
        names = [entry.name for entry in reversed(state.partial.state.entries)]
        if not names:
            return 0.0
        way = self.prices.price_way(self.part([state], names), OpenWay(state, names))
        return np.inf if way is None else way.cost

    def pass_fixed_func(self, state: HalfDecided, names: Sequence[str]) -> HalfDecided:
        """The state after the last of some Funcs, which the space fixes. Its rules wait for the
        next choice, and so does its price unless that of its nests is enough.
        """
        (after,) = state.partial.ways(names[-1])
        passed = HalfDecided(after, state.numbers, np.inf, state)
        changed, others = self.ways.find_changed_nests(state, names)
        if changed is not None:
            way = OpenWay(passed, names, changed=changed, others=others)
            priced = self.prices.price_way(changed.pipeline, way)
            passed = passed if priced is None else evolve(passed, cost=priced.cost)
        return passed

    def price_complete(self, state: HalfDecided) -> HalfDecided:
        """A complete state with the cost of its whole pipeline, infinite if the schedule is
        illegal.

        Raises:
            OutOfTime: the search is at its end.
        """
        if state.is_priced and not self.pricer.adds_nests:
            return state
        pipeline = state.partial.state.pipeline
        names = [function.name for function in reversed(pipeline.functions)]
        with self.deadline.kept():
            way = self.prices.price_way(pipeline, OpenWay(state, names))
            if way is None:
                return evolve(state, cost=np.inf)
            return self.prices.judge_way(pipeline, way).cheapest

    def offer_completions(self, states: Sequence[HalfDecided]) -> Iterator[Event]:
        """Offers half-decided schedules, with the Funcs that are left as the first schedules of a
        search have them.
        """
        for state in states if states and states[0].partial.state.entries else ():
            for choice in UNIFORM_CHOICES:
                try:
                    with self.deadline.kept():
                        schedule = fill_schedule(state.partial, state.numbers, choice)
                        if not self.pricer.is_legal(schedule):
                            continue
                        cost = self.pricer.price_schedule(schedule)
                except OutOfTime:
                    return
                yield from self.pricer.board.offer(Found(cost, schedule))

    def offer_complete(self, states: Iterable[HalfDecided]) -> Iterator[Event]:
        """Offers schedules in which every Func is decided."""
        for state in states:
            schedule = bind(state.partial.schedule, state.numbers)
            yield from self.pricer.board.offer(Found(state.cost, schedule))
