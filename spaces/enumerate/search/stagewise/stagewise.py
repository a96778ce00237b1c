"""Stage-by-stage search, from the outputs backwards.

As in [A21] section 4, the search decides one Func after another, consumers first, and keeps a beam
of half-decided schedules. The search leaves out choices that [S19] section 3 proves dominated. It
stores only at the compute level or at the outermost level where windows slide, and computes nothing
inside the loop over vectors.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import (
    Callable,
    Collection,
    Generator,
    Hashable,
    Iterator,
    Sequence,
)

import numpy as np
from attrs import evolve, frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event
from spaces.enumerate.search.first_schedules import offer_first_incumbent
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.stagewise.known_costs import KnownCosts
from spaces.enumerate.search.stagewise.pricing_phases import price_in_phases
from spaces.enumerate.search.stagewise.recurring_decisions import RecurringDecisions
from spaces.enumerate.search.stagewise.search_in_share import search_alone
from spaces.enumerate.search.stagewise.stage_decisions import StageDecisions
from spaces.enumerate.search.stagewise.state import HalfDecided, PricedWay
from spaces.enumerate.search.stagewise.walk import Complete, last_step, names_of, walk_funcs
from spaces.enumerate.search.stagewise.without_price import decide_without_price
from spaces.enumerate.space.patterns.stage_shapes import adds_up
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline

QUICK = 2000
"""The work (:attr:`Board.work`) up to which a search is quick: about two seconds of a core. Beyond
it the search keeps the narrow beam.
"""

NUMBERED = 4
"""For a sum the search tries all numbers at this many compute levels, counted over all states
before it, each time for the cheapest way. Only the numbers of the reader decide whether the sums
fit the registers.
"""

_ALL = 1 << 30
"""All compute levels of a Func."""


@frozen(kw_only=True)
class Stagewise:
    """Stage-by-stage search of the whole patterns of a space (``ScheduleSpace.of_patterns``): for
    ``Options.small`` and ``Options.medium``; of larger spaces it searches the medium part. The
    strategy ``stagewise`` then rewrites the best schedule.

    Of the half-decided schedules it keeps the cheapest. For a CPU it compares them with the middle
    number of each menu, and chooses among all numbers only for the cheapest few.

    It skips some options (:func:`is_undominated`). By [S19] section 3 it stores a Func at its
    compute level, at the next level or at the outermost one, and computes no Func right outside a
    vectorized loop. Where no value is read twice, it only inlines ([S19] Algorithm 1). It skips
    tiles that are longer than the dimension that they split
    (:func:`~spaces.enumerate.search.stagewise.long_tiles.fitting_menus`); this made local_laplacian
    13 % dearer. Restricted spaces keep all of these.

    Attributes:
        width: the number of half-decided schedules that the search keeps after each Func. The
            default is 2 for GPUs while the search is quick, and else 1: wider beams found hardly
            anything better on the apps.
        before_sums: the number that it keeps if the next Func adds up terms. Each of these has
            other loops of the Func decided last: only the sum shows what the loops of its reader
            are worth.
        lattice: a limit for the choices of tile sizes of all decided Funcs together. Up to it, the
            tile sizes of the loops around a Func are chosen anew with the Func; beyond it, they
            keep their values.
        alike: how many of the half-decided schedules may compute and store all Funcs at the same
            levels, with the same loops of the Func decided last.
        places: how many compute levels of a Func it looks at with all store levels, and how many of
            these with all loops
            (:func:`~spaces.enumerate.search.stagewise.pricing_phases.price_in_phases`).
        sum_places: the same for Funcs that add up terms, whose loops matter more, and for Funcs
            decided just before them.
    """

    width: int | None = None
    before_sums: int = 4
    lattice: int = 4096
    alike: int = 1
    places: int = 3
    sum_places: int = 6

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        pricer = Pricer.of(space, model, limits)
        yield from search_alone(self, pricer, offer_first_incumbent(pricer))

    def search_in_share(self, pricer: Pricer, share: float = 1.0) -> Generator[Event, None, bool]:
        """Searches in a share of the time limit, and offers to a board what it finds. Returns
        whether it ended in time.
        """
        states = yield from self.find_states(pricer, share)
        return states is not None

    def find_states(
        self, pricer: Pricer, share: float = 1.0, number: int = 1, numbers: int = 1
    ) -> Generator[Event, None, Complete | None]:
        """Searches in a share of the time limit, offers the cheapest schedule to the board, and
        returns the states in which every Func is decided; None if the time was over before. It is
        walk ``number`` of ``numbers`` walks.
        """
        patterns = pricer.within(pricer.space.of_patterns)
        task = StageDecisions(patterns, self.lattice, pricer.board.until(share))
        start = task.start()
        states = yield from self.decide_rest(task, start, share, number=number, numbers=numbers)
        if states is None:
            return None
        if pricer.adds_nests and not states.legal:
            return (yield from self.find_states(pricer.of_whole_schedules, share, number, numbers))
        if number == numbers:
            yield last_step(start, numbers)
        yield from task.offer_complete(states.legal)
        yield pricer.board.scored
        return states

    def decide_rest(
        self,
        task: StageDecisions,
        start: HalfDecided,
        share: float = 1.0,
        known: Collection[str] = (),
        number: int = 1,
        numbers: int = 1,
    ) -> Generator[Event, None, Complete | None]:
        """Decides all Funcs that a state leaves open. Returns the complete states, the cheapest
        legal one first; None if the time was over before.

        Args:
            task: what the steps share.
            start: the state to begin with.
            share: the share of the time limit at which the search ends.
            known: the Funcs that ``start`` decides, whose cost it has.
            number: the number of this walk, from 1.
            numbers: how many walks the search makes.
        """
        recurring = RecurringDecisions()

        def decide(states: list[HalfDecided], decided: Sequence[str]) -> list[HalfDecided]:
            return self._decide_func(task, states, decided, recurring)

        return walk_funcs(task, start, decide, share, number, numbers, wanted=1, known=known)

    def _decide_func(
        self,
        task: StageDecisions,
        states: list[HalfDecided],
        decided: Sequence[str],
        recurring: RecurringDecisions,
    ) -> list[HalfDecided]:
        """The cheapest legal states after some Funcs are decided."""
        if not states:
            return []
        if decided[-1] in task.space.kept_names:
            return [task.pass_fixed_func(state, decided) for state in states]
        step = self._plan_step(task, states, decided)
        found = step.decide_as_before(recurring)
        if not found:
            found = step.compare_ways()
            recurring.note_cost(_added_cost(states, found))
        if not step.precedes_sum:  # else the sum shows which of them are good
            step.remember(found, recurring)
        return found

    def _plan_step(
        self, task: StageDecisions, states: list[HalfDecided], decided: Sequence[str]
    ) -> _FuncStep:
        """What the step that decides the last of some Funcs looks at, and how much it keeps."""
        names, pipeline = names_of(states[0]), states[0].partial.state.pipeline
        is_sum = adds_up(pipeline.function(decided[-1]))
        following = names[len(decided) : len(decided) + 1]
        precedes_sum = any(adds_up(pipeline.function(one)) for one in following)
        policy = task.policy
        width = self.width or (policy.quick_width if task.pricer.board.work < QUICK else 1)
        kept = _Kept(width, self.alike, _levels, NUMBERED if is_sum else 1)
        if precedes_sum:  # only the sum shows what the ways are worth
            kept = evolve(kept, width=max(width, self.before_sums), alike=1, trait=_last)
        elif not following and policy.keeps_more_at_end(pipeline):
            kept = evolve(kept, width=max(width, self.before_sums), alike=1)
        places = self.sum_places if precedes_sum or is_sum else self.places
        if task.space.where:
            places = _ALL
        part = task.part(states, decided)
        return _FuncStep(task, part, states, decided, kept, places, is_sum, precedes_sum)


@frozen
class _FuncStep:
    """The choice of the ways to decide one Func.

    Attributes:
        task: what the steps of the search share.
        part: the Funcs decided then.
        states: the states before.
        decided: the names of the Funcs decided then, consumers first.
        kept: which states the search keeps.
        places: how many compute levels of the Func it looks at with all store levels.
        is_sum: whether the Func adds up terms.
        precedes_sum: whether the next one does.
    """

    task: StageDecisions
    part: Pipeline
    states: list[HalfDecided]
    decided: Sequence[str]
    kept: _Kept
    places: int
    is_sum: bool
    precedes_sum: bool

    def decide_as_before(self, recurring: RecurringDecisions) -> list[HalfDecided]:
        """The cheapest legal states in which a decision that recurs is taken again, without a look
        at other options where it does. Empty if it recurs after no state, if no state is legal, or
        if the Func costs much more than others did.
        """
        task, states, decided = self.task, self.states, self.decided
        again = [recurring.find_decision(state, decided[-1]) for state in states]
        if len(states) == 1:
            only = decide_without_price(task, states[0], decided, again[0], recurring)
            if only is not None:
                return [only]
        if not any(again):
            return []
        ways: list[PricedWay] = []
        others: list[HalfDecided] = []
        for state, known in zip(states, again, strict=True):
            if known is None:
                others.append(state)
                continue
            for way in task.ways.open_ways(state, [known], decided):
                priced = task.prices.price_way(self.part, way)
                if priced is not None:
                    ways.append(priced)
        ways += self._price_ways(others)
        found = self.kept.keep_cheapest(task, self.part, ways)
        if task.policy.doubts_repeats and not recurring.is_plausible(_added_cost(states, found)):
            return []
        return found

    def compare_ways(self) -> list[HalfDecided]:
        """The cheapest legal states among all ways to decide the Func."""
        return self.kept.keep_cheapest(self.task, self.part, self._price_ways(self.states))

    def remember(self, found: Sequence[HalfDecided], recurring: RecurringDecisions) -> None:
        """Remembers how some states decide the Func, and what precedes a sum with the sum."""
        task, decided = self.task, self.decided
        for state in found:
            for name in decided[-2:] if self.is_sum else decided[-1:]:
                if name not in task.space.kept_names:
                    is_last = name == decided[-1]
                    free = task.ways.free_numbers(state, decided) if is_last else None
                    recurring.keep(state, name, free)

    def _price_ways(self, states: Sequence[HalfDecided]) -> list[PricedWay]:
        """Ways to decide the Func after some states, with what they cost by usual numbers."""
        task = self.task
        ways = [way for state in states for way in task.ways.list_ways(state, self.decided)]
        known = KnownCosts(task, self.part)
        return known.add_bounded_ways(
            price_in_phases(ways, self.places, known, task.policy.compared)
        )


def _added_cost(before: Sequence[HalfDecided], after: Sequence[HalfDecided]) -> float:
    """What the cheapest state costs more than the cheapest one before."""
    costs = [min((state.cost for state in states), default=np.inf) for states in (before, after)]
    return costs[1] - costs[0]


def _levels(way: PricedWay) -> Hashable:
    return way.levels


def _last(way: PricedWay) -> Hashable:
    return way.last


@frozen
class _Kept:
    """Which half-decided schedules a search keeps.

    Attributes:
        width: how many at most.
        alike: how many of them at most with the same ``trait``.
        trait: in which they should differ.
        numbered: at how many compute levels, counted over all states before, the cheapest way gets
            all numbers.
    """

    width: int
    alike: int
    trait: Callable[[PricedWay], Hashable]
    numbered: int

    def keep_cheapest(
        self, task: StageDecisions, part: Pipeline, ways: list[PricedWay]
    ) -> list[HalfDecided]:
        """The states of the cheapest ways that have a legal choice.

        Chooses the numbers, and checks the legality, only of the ways that may be among them: of at
        least two, and of ways at some more levels.
        """
        found: list[PricedWay] = []
        levels: set[Hashable] = set()
        ordered = sorted(ways, key=lambda way: way.cost)
        repeated = self._find_repeated(ordered) if task.pricer.adds_nests else set()
        for number, way in enumerate(ordered):
            level = id(way.way.state.before), way.way.entry.compute
            is_next = level not in levels and len(levels) < self.numbered
            levels.add(level)
            may_be_kept = (is_next or number < max(self.width, 2)) and number not in repeated
            priced = task.prices.price_all_numbers(part, way) if may_be_kept else way
            if priced is not None:
                found.append(priced)
        queue = [(way.cost, i) for i, way in enumerate(found)]
        heapq.heapify(queue)
        states: list[HalfDecided] = []
        alike: Counter[Hashable] = Counter()
        while queue and len(states) < self.width:
            cost, i = heapq.heappop(queue)
            if not np.isfinite(cost):
                break
            trait = self.trait(found[i]) if self.width > 1 else None
            if alike[trait] >= self.alike:
                continue
            is_usual = found[i].way.whole is not None
            if not is_usual and found[i].is_legal:
                alike[trait] += 1
                states.append(found[i].cheapest)
                continue
            next_step = task.prices.price_all_numbers if is_usual else task.prices.judge_way
            judged = next_step(part, found[i])
            if judged is None:
                continue
            found[i] = judged
            heapq.heappush(queue, (judged.cost, i))
            is_dearer = judged.is_legal and judged.cost > cost
            other = judged.otherwise if is_dearer else None
            instead = None if other is None else task.prices.price_way(part, other)
            if instead is not None:
                heapq.heappush(queue, (instead.cost, len(found)))
                found.append(instead)
        return states

    def _find_repeated(self, ordered: Sequence[PricedWay]) -> set[int]:
        """The places of the ways that give a Func at root the same loops as a cheaper way does
        after another state, where the search keeps only one of them. The numbers of the Func would
        be the same.
        """
        if self.alike > 1:
            return set()
        seen: set[Hashable] = set()
        found: set[int] = set()
        for number, way in enumerate(ordered):
            if way.way.entry.compute.is_root:
                alike = way.way.entry, self.trait(way) if self.width > 1 else None
                found |= {number} if alike in seen else set()
                seen.add(alike)
        return found
