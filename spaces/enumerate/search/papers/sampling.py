"""Hierarchical sampling, as in [A21] sections 3.1 and 4, for CPUs and GPUs.

The search decides one Func after another, consumers first, and keeps a beam of half-decided
schedules. It decides a Func in two phases: where it is computed, then how it is tiled. In each
phase the search groups the options of all schedules of the beam by the structural hashes of their
loop nests. Only a few random representatives of each group get a cost. Several passes hash deeper
and deeper, and avoid hashes whose representatives were dear before.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Generator, Iterable, Iterator, Sequence

import numpy as np
from attrs import define, evolve, field, frozen

from spaces.cost.model import CostModel
from spaces.enumerate.search.events import Event
from spaces.enumerate.search.first_schedules import offer_incumbents
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.stagewise.search_in_share import search_alone
from spaces.enumerate.search.stagewise.stage_decisions import StageDecisions
from spaces.enumerate.search.stagewise.state import HalfDecided, OpenWay, PricedWay
from spaces.enumerate.search.stagewise.structural_hash import NestOutline
from spaces.enumerate.search.stagewise.walk import last_step, walk_funcs
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule


@frozen(kw_only=True)
class HierarchicalSampling:
    """Beam search over representatives of the whole patterns of a space
    (``ScheduleSpace.of_patterns``), for the presets ``small`` and ``medium``, on CPUs and GPUs.

    An option is a structure: a cost model prices all its tile sizes at once, so the search samples
    structures, not tile sizes. A Func that is computed at root is placed with the loops of the
    first pattern that fits; the second phase compares all patterns. A Func in the loops of another
    one is tiled when it is placed ([A21] 4).

    It leaves out what ``stagewise`` leaves out. Stores between the compute level and the outermost
    one and compute levels inside vectors are dominated ([S19] section 3). A Func whose values are
    read once is only inlined ([S19] Algorithm 1, [A21] 4). All but ``log2(B)`` of the
    ``B`` options of a bucket are left out without proof; docs/papers.md measures the loss.

    Attributes:
        width: the number of half-decided schedules that a pass keeps after each phase.
        passes: the number of passes; pass ``d`` compares hashes up to depth ``d``.
        greedy: the number of further samples: one pass at depth 1 that keeps one schedule.
        penalty: the share of its cost that is added to a schedule with a known bad hash, once for
            each time that the search refused representatives with this hash. [A21] gives no number.
        lattice: a limit for the choices of tile sizes of all decided Funcs together. Up to it, the
            tile sizes of the loops around a Func are chosen anew with the Func; beyond it, they
            keep their values.
    """

    width: int = 4
    passes: int = 3
    greedy: int = 0
    penalty: float = 1.0
    lattice: int = 4096

    def __call__(self, space: ScheduleSpace, model: CostModel, limits: Limits) -> Iterator[Event]:
        pricer = Pricer.of(space, model, limits)
        yield from search_alone(self, pricer, offer_incumbents(pricer))

    def search_in_share(self, pricer: Pricer, share: float = 1.0) -> Generator[Event, None, bool]:
        """Searches in a share of the time limit, and offers to a board what it finds. Returns
        whether it ended in time.
        """
        patterns, board = pricer.within(pricer.space.of_patterns), pricer.board
        task = StageDecisions(patterns, self.lattice, board.until(share))
        found: list[HalfDecided] = []
        passes = list(self._all_passes(task, board.limits))
        start = task.start()
        for number, one in enumerate(passes, start=1):
            complete = yield from walk_funcs(
                task, start, one.decide_func, share, number, len(passes)
            )
            if complete is None:
                return False
            yield from task.offer_complete(complete.legal)
            found += complete.legal
        if pricer.adds_nests and not found:
            return (yield from self.search_in_share(pricer.of_whole_schedules, share))
        yield last_step(start, len(passes))
        yield board.scored
        return True

    def _all_passes(self, task: StageDecisions, limits: Limits) -> Iterator[_Pass]:
        """The passes of the beam, which learn from each other, and those of the greedy samples."""
        chosen, prices = random.Random(limits.seed), _Prices(task)
        known = _KnownHashes(self.passes)
        for depth in range(1, self.passes + 1):
            yield _Pass(task, prices, depth, self.width, self.penalty, chosen, known)
        for _ in range(self.greedy):
            yield _Pass(task, prices, 1, 1, self.penalty, chosen, _KnownHashes(1))


@define
class _KnownHashes:
    """What became of representatives, by the step, the depth and the hash.

    Attributes:
        deepest: the greatest depth that is asked for.
        poor: how often representatives were refused.
    """

    deepest: int
    poor: dict[tuple[object, ...], int] = field(init=False, factory=dict)
    _kept: set[tuple[object, ...]] = field(init=False, factory=set)

    def add(self, step: object, kept: Iterable[NestOutline], others: Iterable[NestOutline]) -> None:
        """Adds the representatives that a pass kept in a step, and those that it refused."""
        self._kept.update(key for one in kept for key in self._keys(step, one))
        refused = {key for one in others for key in self._keys(step, one)}
        for key in refused:
            self.poor[key] = self.poor.get(key, 0) + 1

    def _keys(self, step: object, outline: NestOutline) -> Iterator[tuple[object, ...]]:
        return ((step, depth, outline.hash(depth)) for depth in range(1, self.deepest + 1))

    def times_poor(self, step: object, depth: int, outline: NestOutline) -> int:
        """How often representatives with the same hash were refused; 0 if one of them was kept."""
        key = (step, depth, outline.hash(depth))
        return 0 if key in self._kept else self.poor.get(key, 0)


@define
class _Prices:
    """The costs of structures that a pass has priced: no pass prices them again."""

    task: StageDecisions
    _known: dict[Schedule, PricedWay | None] = field(init=False, factory=dict)

    def of(self, part: Pipeline, way: OpenWay) -> PricedWay | None:
        """A way with its costs; None if it has no loop nest."""
        key = way.structure.schedule
        if key not in self._known:
            self._known[key] = self.task.prices.price_way(part, way)
        known = self._known[key]
        return None if known is None else evolve(known, way=way)

    def legal(self, part: Pipeline, way: PricedWay) -> PricedWay:
        """The way with an infinite cost for each choice that is illegal."""
        judged = self._known[way.structure.schedule] = self.task.prices.judge_way(part, way)
        return judged


@frozen
class _Option:
    """One option of a phase.

    Attributes:
        way: the structure that gives it a cost.
        outline: of that structure.
        placed: the state that the beam keeps instead: its Func is computed at root, and not tiled
            yet.
    """

    way: OpenWay
    outline: NestOutline
    placed: HalfDecided | None = None


@frozen
class _PricedOption:
    """An option with its costs."""

    option: _Option
    priced: PricedWay

    @property
    def is_judged(self) -> bool:
        """Whether it is known to be legal, or is judged when it is tiled."""
        return self.priced.is_legal or self.option.placed is not None

    @property
    def cheapest(self) -> HalfDecided:
        """The state that the beam keeps."""
        if self.option.placed is None:
            return self.priced.cheapest
        return evolve(self.option.placed, cost=self.priced.cost)


@frozen
class _Pass:
    """One walk over all Funcs, consumers first."""

    task: StageDecisions
    prices: _Prices
    depth: int
    width: int
    penalty: float
    chosen: random.Random
    known: _KnownHashes

    def decide_func(self, states: list[HalfDecided], names: Sequence[str]) -> list[HalfDecided]:
        """The states in which the last of some Funcs is decided, in two phases."""
        return self.tile_func(self.place_func(states, names), names)

    def place_func(self, states: list[HalfDecided], names: Sequence[str]) -> list[HalfDecided]:
        """The states in which it is decided where the last of some Funcs is computed."""
        *_, name = names
        if not states or name in self.task.space.kept_names:
            return [self.task.pass_fixed_func(state, names) for state in states]
        part = self.task.part(states, names)
        options = _drop_alike(part, self._placements(states, names))
        placed = [option.placed for option in options if option.placed is not None]
        if len(placed) == len(options) <= self.width:
            return placed
        return self._keep_cheapest(part, options, [], (name, "where"))

    def _placements(
        self, states: list[HalfDecided], names: Sequence[str]
    ) -> Iterator[tuple[OpenWay, HalfDecided | None]]:
        *_, name = names
        for state in states:
            wanted = self.task.ways.filter_entries(state, names)
            for partial in state.partial.placements(name, wanted):
                draft = partial.state.draft
                ways = partial.ways(name, wanted)
                if draft is None or not draft.compute.is_root:
                    yield from ((way, None) for way in self.task.ways.open_ways(state, ways, names))
                    continue
                first = next(ways, None)
                if first is not None:
                    placed = evolve(state, partial=partial)
                    (way,) = self.task.ways.open_ways(state, [first], names)
                    yield way, placed

    def tile_func(self, states: list[HalfDecided], names: Sequence[str]) -> list[HalfDecided]:
        """The states in which the last of some Funcs has its loops."""
        *_, name = names
        still_open = [state for state in states if state.partial.state.draft is not None]
        if not still_open:
            return states
        decided = [state for state in states if state.partial.state.draft is None]
        part = self.task.part(states, names)
        ways = (
            (way, None) for state in still_open for way in self.task.ways.list_ways(state, names)
        )
        return self._keep_cheapest(part, _drop_alike(part, ways), decided, (name, "how"))

    def _keep_cheapest(
        self,
        part: Pipeline,
        options: list[_Option],
        decided: list[HalfDecided],
        step: object,
    ) -> list[HalfDecided]:
        """The ``width`` cheapest legal states of a phase: of the representatives of some options
        and of the states that are decided already. If no representative is legal, others follow.
        """
        buckets: dict[str, list[_Option]] = {}
        for option in options:
            buckets.setdefault(option.outline.hash(self.depth), []).append(option)
        priced: list[_PricedOption] = []
        states: list[HalfDecided] = []
        while not states:
            drawn = [one for bucket in buckets.values() for one in self._representatives(bucket)]
            ways = ((option, self.prices.of(part, option.way)) for option in drawn)
            priced += [_PricedOption(option, way) for option, way in ways if way is not None]
            states = self._take_first(part, priced, decided, step)
            if not drawn:
                break
        return states

    def _representatives(self, bucket: list[_Option]) -> list[_Option]:
        """Takes ``log2(B)`` random options out of a bucket of ``B``, at least one if it has any."""
        count = min(len(bucket), max(1, len(bucket).bit_length() - 1))
        places = sorted(self.chosen.sample(range(len(bucket)), count), reverse=True)
        return [bucket.pop(place) for place in places]

    def _take_first(
        self,
        part: Pipeline,
        priced: list[_PricedOption],
        decided: list[HalfDecided],
        step: object,
    ) -> list[HalfDecided]:
        """The states that are first in the order of costs. An option whose hash is known to be bad
        is set back once ([A21] 4.5). Legality is asked only of options that come first.
        """
        queue = [(one.priced.cost, place) for place, one in enumerate(priced)]
        queue += [(state.cost, len(priced) + place) for place, state in enumerate(decided)]
        heapq.heapify(queue)
        states: list[HalfDecided] = []
        kept: set[int] = set()
        set_back: set[int] = set()
        while queue and len(states) < self.width:
            cost, place = heapq.heappop(queue)
            if not np.isfinite(cost):
                break
            if place >= len(priced):
                states.append(decided[place - len(priced)])
                continue
            one = priced[place]
            if not one.is_judged:
                priced[place] = evolve(one, priced=self.prices.legal(part, one.priced))
                heapq.heappush(queue, (priced[place].priced.cost, place))
                continue
            poor = self.known.times_poor(step, self.depth, one.option.outline)
            if poor and place not in set_back:
                set_back.add(place)
                heapq.heappush(queue, (cost + self.penalty * poor * abs(cost), place))
                continue
            kept.add(place)
            states.append(one.cheapest)
        outlines = [one.option.outline for one in priced]
        self.known.add(
            step,
            (outline for place, outline in enumerate(outlines) if place in kept),
            (outline for place, outline in enumerate(outlines) if place not in kept),
        )
        return states


def _drop_alike(
    part: Pipeline, ways: Iterable[tuple[OpenWay, HalfDecided | None]]
) -> list[_Option]:
    """The options of different structures."""
    found: dict[Schedule, tuple[OpenWay, HalfDecided | None]] = {}
    for way, placed in ways:
        found.setdefault(way.structure.schedule, (way, placed))
    return [
        _Option(way, NestOutline.of(part, schedule), placed)
        for schedule, (way, placed) in found.items()
    ]


STRATEGIES = {"sampling": HierarchicalSampling()}
