"""Best-first search finds the cheapest schedules, and its certificates say no more than is true."""

from __future__ import annotations

import math
from functools import lru_cache

import attrs
import numpy as np
import pytest

import spaces
from spaces import Limits, Options, PartialSchedule, ScheduleSpace
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.simple.weighted import Weighted
from spaces.enumerate.search import pricer
from spaces.enumerate.search.bounds import lower_bound
from spaces.enumerate.search.events import Certificate, Done, Expanded
from spaces.enumerate.search.papers.best_first import BestFirst, _keep_promising
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.structure_distance import strip_factors
from spaces.enumerate.space.structure import Structure
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, row_sums, two_outputs
from tests.small_space import small_space

FEW = Options(
    root=("strips", "serial"),
    inner=("vectors",),
    storage="outside",
    row_tiles=(64,),
    tiles=(8, 32),
    lanes=(1,),
)


class FewestVisits:
    """A model of a user, which knows no bound."""

    def cost(self, batch: Batch) -> np.ndarray:
        visits = [func.visits * (1.0 + n) for n, func in enumerate(batch.features.funcs)]
        return batch.full(sum(visits) + 100.0 * len(visits))


MODELS = {
    "weighted": Weighted(),
    "reuse": Reuse(FOUR_CORES),
    "custom": FewestVisits(),
}

SPACES = {
    "blur": lambda: ScheduleSpace(blur(), FOUR_CORES, FEW),
    "two_outputs": lambda: ScheduleSpace(two_outputs(), FOUR_CORES, FEW),
    "row_sums": lambda: ScheduleSpace(row_sums(), FOUR_CORES, attrs.evolve(FEW, root=("strips",))),
    "restricted": lambda: ScheduleSpace(
        blur(),
        FOUR_CORES,
        FEW,
        where=[spaces.bytes_stored("blur_x") >= 1, spaces.parallel_tasks >= 16],
    ),
}


@lru_cache
def of(name: str) -> ScheduleSpace:
    return SPACES[name]()


@lru_cache
def choices(name: str) -> list[tuple[Structure, np.ndarray]]:
    """All structures of a space with the legality of each choice, which comes from ``verify`` and
    the restrictions, schedule by schedule.
    """
    space = of(name)
    return [
        (one, np.reshape([is_legal(space, one.at(i)) for i in range(one.size)], one.shape))
        for one in space.structures()
    ]


def is_legal(space: ScheduleSpace, schedule: spaces.Schedule) -> bool:
    is_broken = any(True for _ in space.restricted.broken(schedule))
    return bool(verify(space.pipeline, schedule, space.device)) and not is_broken


def listed(name: str, model: spaces.CostModel) -> list[float]:
    """The least cost of each structure, the least first."""
    least: dict[spaces.Schedule, float] = {}
    for structure, legal in choices(name):
        batch = Batch.of(of(name).pipeline, structure.schedule, structure.columns)
        costs = np.where(legal, model.cost(batch), math.inf)
        key = strip_factors(structure.schedule)
        least[key] = min(least.get(key, math.inf), float(costs.min()))
    return sorted(cost for cost in least.values() if cost < math.inf)


def found(space: ScheduleSpace, model: spaces.CostModel, limits: Limits, **settings: int) -> Done:
    return spaces.best(spaces.search(space, model, BestFirst(**settings), limits))


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("name", SPACES)
def test_the_best_are_those_of_a_list_of_all_schedules(name: str, model) -> None:
    costs = listed(name, model)
    for top, most_open in ((1, 20_000), (4, 3)):
        done = found(of(name), model, Limits(top=top), most_open=most_open)
        assert [one.cost for one in done.best] == pytest.approx(costs[:top])
        assert done.complete
        assert done.certificate == Certificate(done.best[0].cost, len(done.best))
    again = spaces.best(spaces.search(of(name), model, "exhaustive", Limits(top=4)))
    assert again.certificate == done.certificate


def test_a_model_with_bounds_scores_fewer_structures() -> None:
    space = of("blur")
    with_bounds, without = (
        found(space, model, Limits()) for model in (Weighted(), Weighted().cost)
    )
    assert with_bounds.structures < without.structures
    assert with_bounds.best[0].cost == without.best[0].cost


def test_bounds_that_are_too_high_lose_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison above would see it."""
    model = Reuse(FOUR_CORES)
    tripled = lambda partial, model: 3 * lower_bound(partial, model)  # noqa: E731
    monkeypatch.setattr(pricer, "lower_bound", tripled)
    done = found(of("blur"), model, Limits(top=4))
    assert [one.cost for one in done.best] != pytest.approx(listed("blur", model)[:4])


@pytest.mark.parametrize("structures", [1, 4])
@pytest.mark.parametrize("most_open", [2, 20_000])
def test_a_search_that_is_cut_says_what_it_knows(structures: int, most_open: int) -> None:
    model = Reuse(FOUR_CORES)
    least, *_ = listed("blur", model)
    done = found(of("blur"), model, Limits(top=4, structures=structures), most_open=most_open)
    assert not done.complete
    assert done.certificate is not None
    assert 0 < done.certificate.bound <= least
    assert done.certificate.proven < 4


def test_a_search_that_is_cut_without_bounds_proves_nothing() -> None:
    space = of("blur")
    assert found(space, FewestVisits(), Limits(structures=2)).certificate is None
    assert found(space, Weighted(), Limits(seconds=0.0)).certificate is None


def _expanded(space: ScheduleSpace, model: spaces.CostModel) -> int:
    """How many partial schedules a search looks at."""
    events = spaces.search(space, model, BestFirst(), Limits(top=4))
    return sum(1 for event in events if isinstance(event, Expanded))


def test_a_schedule_keeps_the_bound_of_the_one_before() -> None:
    *_, last = of("blur").way_to(spaces.Schedule.default(blur()))
    judge = Pricer.of(of("blur"), Weighted(), Limits())
    with judge.board.deadline.kept():
        (node,) = _keep_promising(judge, (last,), 1e9)
    assert lower_bound(last, Weighted()) < node.bound == 1e9


def test_what_cannot_be_legal_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Weighted()
    pruned = _expanded(of("restricted"), model)
    monkeypatch.setattr(PartialSchedule, "can_be_legal", True)
    assert pruned < _expanded(of("restricted"), model)


def test_only_the_cheapest_of_schedules_apart_is_proven() -> None:
    done = found(of("blur"), Weighted(), Limits(top=3, apart=3))
    assert done.certificate == Certificate(done.best[0].cost, 1)


def test_certain_movement_prunes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of the output and of the image move in every schedule, as no cache holds them."""
    cpu = attrs.evolve(FOUR_CORES, l3_bytes=FOUR_CORES.l2_bytes)
    space, model = small_space(blur(), cpu), Reuse(cpu)
    moved = spaces.best(spaces.search(space, model, "exhaustive"))
    monkeypatch.setattr(Reuse, "_certain_moves", lambda self, features, func: 0.0)
    worked = spaces.best(spaces.search(space, model, "exhaustive"))
    assert moved.best == worked.best
    assert moved.structures * 2 < worked.structures
