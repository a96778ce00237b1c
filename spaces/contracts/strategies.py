"""What every search strategy promises."""

from __future__ import annotations

from time import monotonic

import numpy as np

from spaces.constraints.devices.device import device
from spaces.contracts.examples import blur
from spaces.cost.batch import Batch
from spaces.cost.model import CostModel
from spaces.cost.registry import cost_model
from spaces.enumerate.search.events import Done, Event, Improved, Scored
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.registry import Strategy
from spaces.enumerate.search.search import search
from spaces.enumerate.search.structure_distance import strip_factors
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.schedule import Schedule

CUT = 4
"""After this many structures, a search has not looked at most of the space of a test."""

LATE = 2.0
"""Seconds by which a search may miss its time limit on a busy machine; it should be half of one."""

ROUNDING = 1e-9
"""By how much of it two sums of the same cost may differ."""


class StrategyContract:
    """The tests of a search strategy."""

    def strategy(self) -> Strategy:
        """The strategy under test."""
        raise NotImplementedError("a contract test says which strategy it tests")

    def space(self) -> ScheduleSpace:
        """A space that the strategy searches in seconds."""
        few = Options(root=("strips",), storage="compute", row_tiles=(64,), tiles=(8, 32))
        return ScheduleSpace(blur(), device("cpu"), few)

    def events(self, limits: Limits) -> list[Event]:
        """The events of a search by weighted features."""
        return list(search(self.space(), "weighted", self.strategy(), limits))

    def done(self, limits: Limits) -> Done:
        """The last event of a search."""
        last = self.events(limits)[-1]
        assert isinstance(last, Done), f"A search ends with Done, not with {last}."
        return last

    def test_a_search_ends_with_its_best(self) -> None:
        *running, last = self.events(Limits(top=3))
        assert isinstance(last, Done), f"A search ends with Done, not with {last}."
        assert not any(isinstance(one, Done) for one in running), "Done comes once, at the end."
        costs = [found.cost for found in last.best]
        assert costs == sorted(costs), f"The best comes first: {costs}."
        improved = [one.best.cost for one in running if isinstance(one, Improved)]
        assert improved == sorted(improved, reverse=True), f"Costs only fall: {improved}."
        assert improved, "A search says when it finds something better."
        assert improved[-1] == costs[0], f"The last improvement is the best: {improved}, {costs}."

    def test_its_counts_grow(self) -> None:
        scored = [one for one in self.events(Limits()) if isinstance(one, Scored)]
        counts = [(one.structures, one.choices, one.considered) for one in scored]
        assert counts == sorted(counts), f"Counts only grow: {counts}."

    def test_what_it_finds_is_legal_and_costs_what_it_says(self) -> None:
        space = self.space()
        model = cost_model("weighted", space.device)
        for found in self.done(Limits(top=3)).best:
            verdict = space.verdict(found.schedule)
            assert verdict, f"It finds an illegal schedule.\n{verdict}"
            cost = float(model.cost(Batch.of(space.pipeline, found.schedule)))
            assert abs(cost - found.cost) <= 1e-6 * cost, f"It says {found.cost} for {cost}."

    def test_the_same_search_tells_the_same(self) -> None:
        limits = Limits(seed=3)
        assert self.events(limits) == self.events(limits), "A seed gives one stream of events."

    def test_its_certificate_is_true(self) -> None:
        space = self.space()
        found = [self.done(Limits(top=3)), self.done(Limits(top=3, structures=CUT))]
        certified = [done for done in found if done.certificate is not None]
        costs = _least_costs(space, cost_model("weighted", space.device)) if certified else []
        for done in certified:
            certificate = done.certificate
            assert certificate is not None
            assert certificate.bound <= costs[0] * (1 + ROUNDING), (
                f"It says that no schedule costs less than {certificate.bound}; one costs "
                f"{costs[0]}."
            )
            proven = [one.cost for one in done.best[: certificate.proven]]
            cheapest = costs[: certificate.proven]
            assert np.allclose(proven, cheapest, rtol=ROUNDING), (
                f"It says that {proven} are the least costs; these are {cheapest}."
            )

    def test_it_keeps_its_time_and_hands_over_something(self) -> None:
        began = monotonic()
        done = self.done(Limits(seconds=0.0))
        assert monotonic() - began < LATE, "It overruns its time limit."
        assert len(done.best) == 1, "It hands over a schedule even without time."

    def test_it_stops_after_so_many_structures(self) -> None:
        done = self.done(Limits(structures=3))
        assert done.structures <= 3, f"It scores {done.structures} structures instead of 3."


def _least_costs(space: ScheduleSpace, model: CostModel) -> list[float]:
    """The cost of the cheapest legal choice of each structure of a space, the least one first."""
    costs: dict[Schedule, float] = {}
    for structure in space.structures():
        batch = Batch.of(space.pipeline, structure.schedule, structure.columns)
        legal = np.where(space.legal(structure), model.cost(batch), np.inf)
        key = strip_factors(structure.schedule)
        costs[key] = min(costs.get(key, np.inf), float(legal.min()))
    return sorted(costs.values())
