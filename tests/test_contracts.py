"""What the library has keeps the contracts that plug-ins keep, and what breaks them is found."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import ClassVar

import attrs
import numpy as np
import pytest

from spaces.apps.catalog import APPS
from spaces.constraints.devices.device import device
from spaces.contracts.apps import AppContract
from spaces.contracts.cost_models import CostModelContract
from spaces.contracts.patterns import PatternContract
from spaces.contracts.strategies import StrategyContract
from spaces.contracts.tuning_strategies import TuningStrategyContract
from spaces.enumerate.search.events import Certificate, Done
from spaces.enumerate.search.improving import Improving
from spaces.enumerate.search.neighbours.annealing import Annealing
from spaces.enumerate.search.neighbours.bandit import Bandit
from spaces.enumerate.search.neighbours.genetic.strategy import Genetic
from spaces.enumerate.search.neighbours.latin_hypercube import LatinHypercube
from spaces.enumerate.search.neighbours.optuna_search import OptunaSearch
from spaces.enumerate.search.neighbours.random_draws import RandomDraws
from spaces.enumerate.search.papers.beam import Beam
from spaces.enumerate.search.papers.best_first import BestFirst
from spaces.enumerate.search.papers.exhaustive import exhaustive
from spaces.enumerate.search.papers.grouping import Grouping
from spaces.enumerate.search.papers.reuse_analysis.strategy import ReuseAnalysis
from spaces.enumerate.search.papers.sampling import HierarchicalSampling
from spaces.enumerate.search.registry import Strategy
from spaces.enumerate.search.stagewise.freezing import Freezing
from spaces.enumerate.search.stagewise.stagewise import Stagewise
from spaces.enumerate.space.patterns.by_name import ROOT_PATTERNS
from spaces.model.registry import PluginError
from spaces.model.writing.text import parse_schedule
from spaces.tuning.evolving import Evolving
from spaces.tuning.iterated import Iterated
from spaces.tuning.random_trials import RandomTrials
from spaces.tuning.strategy import TuningStrategy
from spaces.tuning.top_ranked import TopRanked
from spaces.tuning.trial import Proposal

STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "exhaustive": lambda: exhaustive,
    "best first": BestFirst,
    "stagewise": Stagewise,
    "reuse analysis": ReuseAnalysis,
    "freezing": Freezing,
    "sampling": lambda: HierarchicalSampling(greedy=1),
    "frozen sampling": lambda: Freezing(
        first=HierarchicalSampling(passes=1), second=HierarchicalSampling()
    ),
    "annealing": lambda: Annealing(steps=20),
    "improving": Improving,
    "grouping": Grouping,
    "genetic": lambda: Genetic(population=8, generations=2),
    "random draws": lambda: RandomDraws(draws=20),
    "latin hypercube": lambda: LatinHypercube(rounds=2, size=8),
    "bandit": lambda: Bandit(slices=8),
    "optuna": lambda: pytest.importorskip("optuna") and OptunaSearch(trials=12, startup=2),
    "beam": lambda: Beam(depth=2, width=2, factors=(8, 32)),
}
TUNING: dict[str, Callable[[], TuningStrategy]] = {
    "evolving": lambda: Evolving(found=3, structures=20, size=3, pool=6),
    "iterated": lambda: Iterated(size=2, found=3, strategy=HierarchicalSampling(width=1, passes=1)),
    "top ranked": lambda: TopRanked(found=3, structures=20),
    "random trials": lambda: RandomTrials(size=3),
}
ON_GPUS = {"blocks", "grid", "thread_blocks", "atomic_blocks"}
"""The patterns for GPUs."""

PATTERNS = [name for name in ROOT_PATTERNS if name != "thread_boxes"]
"""Thread boxes are for stages of three long dimensions, and the contract has none."""


class TestStrategies(StrategyContract):
    """The first search of a test is the one that a test before made within the same limits; a
    further one is made anew.
    """

    made: ClassVar = {}

    @pytest.fixture(autouse=True, params=STRATEGIES)
    def _named(self, request):
        self.strategy = STRATEGIES[request.param]
        self.name, self.is_first = request.param, True

    def events(self, limits):
        is_first, self.is_first = self.is_first, False
        if is_first and (self.name, limits) in self.made:
            return self.made[self.name, limits]
        found = super().events(limits)
        self.made.setdefault((self.name, limits), found)
        return found


class TestTuningStrategies(TuningStrategyContract):
    """The first generations that a test asks for are those of the test before it; further ones are
    made anew.
    """

    made: ClassVar = {}

    @pytest.fixture(autouse=True, params=TUNING)
    def _named(self, request):
        self.strategy = TUNING[request.param]
        self.name, self.is_first = request.param, True

    def generations(self, space):
        is_first, self.is_first = self.is_first, False
        if is_first and self.name in self.made:
            return self.made[self.name]
        found = super().generations(space)
        self.made.setdefault(self.name, found)
        return found


class TestPatterns(PatternContract):
    @pytest.fixture(autouse=True, params=PATTERNS)
    def _named(self, request):
        self.name = request.param

    def maker(self):
        return ROOT_PATTERNS[self.name]

    def device(self):
        return device("sm_80") if self.name in ON_GPUS else super().device()


class TestAnApp(AppContract):
    def app(self):
        return APPS["unsharp"]


class _Forgetful(CostModelContract):
    """Costs that depend on what is beside them, negative ones, and a new one each time."""

    calls = 0

    def model(self):
        return self

    def cost(self, batch):
        type(self).calls += 1
        return batch.full(-1.0 * type(self).calls) - np.arange(np.size(batch.full(0.0))).reshape(
            np.shape(batch.full(0.0))
        )


class _Stale(StrategyContract):
    def strategy(self):
        return lambda space, model, limits: iter(list(Stagewise()(space, model, limits))[:-1])


class _Boastful(StrategyContract):
    """Says of what it finds that nothing is cheaper."""

    def strategy(self):
        def boast(space, model, limits):
            for event in Stagewise()(space, model, limits):
                if isinstance(event, Done):
                    proven = Certificate(event.best[0].cost, len(event.best))
                    event = attrs.evolve(event, certificate=proven)
                yield event

        return boast


class _Torn(PatternContract):
    name = "strips"

    def maker(self):
        return lambda shape: None


class _Stubborn(TuningStrategyContract):
    """Proposes one illegal schedule, again and again."""

    calls = 0

    def strategy(self):
        return self

    def generation(self, space, model, trials, seed):
        type(self).calls += 1
        illegal = parse_schedule(f"blur_x.compute_at(blur_y, q{self.calls})", space.pipeline)
        return [Proposal(illegal, "stubborn")] * 2


@pytest.mark.parametrize(
    ("contract", "failing"),
    [
        (_Forgetful, {"test_costs_order_choices", "test_the_same_batch_costs_the_same",
                      "test_a_lattice_costs_what_its_points_cost",
                      "test_numbers_cost_what_parameters_cost"}),
        (_Stale, {"test_a_search_ends_with_its_best",
                  "test_what_it_finds_is_legal_and_costs_what_it_says",
                  "test_its_certificate_is_true",
                  "test_it_keeps_its_time_and_hands_over_something",
                  "test_it_stops_after_so_many_structures",
                  "test_the_same_search_tells_the_same", "test_its_counts_grow"}),
        (_Boastful, {"test_its_certificate_is_true"}),
        (_Torn, {"test_it_fits_every_stage_or_gives_none"}),
        (_Stubborn, {"test_what_it_proposes_is_legal", "test_it_proposes_nothing_twice",
                     "test_the_same_results_give_the_same_proposals"}),
    ],
)  # fmt: skip
def test_broken_things_fail(contract: type, failing: set[str]) -> None:
    failed = set()
    for name, test in inspect.getmembers(contract(), inspect.ismethod):
        if name.startswith("test_"):
            try:
                test()
            except (AssertionError, PluginError):
                failed.add(name)
    assert failed == failing
