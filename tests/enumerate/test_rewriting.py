"""A search rewrites the schedule that it has found, as long as this makes it cheaper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from numpy.typing import NDArray

import spaces
from spaces.enumerate.search import rewrites
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.rewrites import while_cheaper
from spaces.enumerate.search.rewrites.numbers import ChooseNumbers, find_stale_numbers
from spaces.enumerate.search.rewrites.price_change import price_by_nests, price_whole
from spaces.enumerate.search.rewrites.registry import list_rewrites
from spaces.enumerate.search.rewrites.rewrite import FoundSchedule, OpenNumbers
from spaces.enumerate.search.rewrites.while_cheaper import Rewriting
from spaces.enumerate.search.stagewise.stage_decisions import StageDecisions
from spaces.enumerate.search.stagewise.stagewise import Stagewise
from spaces.enumerate.search.stagewise.state import HalfDecided
from spaces.enumerate.space.structure import Structure
from spaces.model.algorithm.pipeline import Pipeline
from tests.cpus import WIDE_VECTORS
from tests.enumerate.pipelines import stencils

CPU = WIDE_VECTORS

WIDTH, HEIGHT = 4000, 3000
"""Images that fit no cache."""

IN_TWO_NESTS = """
stage4.split(y, y, yi, 32).split(x, x, xv, 32).reorder(xv, x, yi, y).vectorize(xv).parallel(y)
stage3.compute_at(stage4, y).split(x, x, xv, 32).vectorize(xv)
stage2.compute_root().split(y, y, yi, 32).split(x, x, xv, 32).vectorize(xv).parallel(y)
stage1.compute_at(stage2, y).split(x, x, xv, 32).vectorize(xv)
stage0.compute_root().split(y, y, yi, 32).split(x, x, xv, 32).vectorize(xv).parallel(y)
"""
"""Two nests in which a producer runs, and one without."""


def with_least_numbers(model: str | spaces.CostModel = "reuse") -> tuple[Rewriting, FoundSchedule]:
    """A schedule with numbers that are far from the best, and a search that rewrites it."""
    pipeline = stencils(5, WIDTH, HEIGHT)
    space = spaces.ScheduleSpace(pipeline, CPU).of_patterns
    schedule = spaces.parse_schedule(IN_TWO_NESTS, pipeline)
    *_, partial = space.start().towards(schedule)
    pricer = Pricer.of(space, spaces.cost_model(model, CPU), Limits())
    pricer.board.work = 1000  # as if a search had found the schedule
    task = StageDecisions(pricer, 4096, pricer.board.deadline)
    least = {name: menu[0] for name, menu in partial.state.menus.items()}
    state = task.price_complete(HalfDecided(partial, least, 0.0))
    found = FoundSchedule.of_states(pricer, space, (state,))
    return Rewriting(task, Stagewise(), (find_stale_numbers,), 1e9), found


def cost_after(rewriting: Rewriting, found: FoundSchedule) -> float:
    """The cost of the best schedule that rewrites offer."""
    list(rewriting.rewrite_while_cheaper(found))
    return rewriting.task.pricer.board.best[0].cost


def test_the_nests_that_numbers_change_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    rewriting, bad = with_least_numbers()
    by_nests = cost_after(rewriting, bad)
    monkeypatch.setattr(while_cheaper, "price_by_nests", price_whole)
    rewriting, bad = with_least_numbers()
    assert by_nests < 0.99 * bad.cost
    assert by_nests == pytest.approx(cost_after(rewriting, bad), rel=0.001)


def test_whole_schedules_decide_if_nests_mislead(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its nests each choice costs nothing, and the last one of a menu is taken."""
    wanted = cost_after(*with_least_numbers())

    def mislead(found: FoundSchedule, opening: OpenNumbers) -> FoundSchedule:
        last = {name: menu[-1] for name, menu in opening.menus.items()}
        return evolve(found, numbers={**found.numbers, **last}, cost=found.cost - 1.0)

    def exact(found: FoundSchedule) -> FoundSchedule:
        asked.append(found)
        return evolve(price_exactly(found), **({"cost": 1e30} if len(asked) == 1 else {}))

    asked: list[FoundSchedule] = []
    price_exactly = while_cheaper.price_exactly
    monkeypatch.setattr(while_cheaper, "price_by_nests", mislead)
    monkeypatch.setattr(while_cheaper, "price_exactly", exact)
    assert cost_after(*with_least_numbers()) == pytest.approx(wanted, rel=0.005)


@pytest.mark.parametrize("price", [price_by_nests, price_whole])
def test_numbers_without_a_cost_beside_open_ones_are_compared_by_their_own(
    price: Callable[[FoundSchedule, OpenNumbers], FoundSchedule | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a GPU the threads of a block may be too many in formulas over open numbers."""
    _, found = with_least_numbers()
    (opening,) = ChooseNumbers("stage2").open(found)
    wanted = price(found, opening)
    given = Pricer.price_structure

    def refuse_present(
        self: Pricer, structure: Structure, part: Pipeline | None = None
    ) -> NDArray[np.float64]:
        costs = given(self, structure, part)
        costs.flat[structure.index(found.numbers)] = np.inf
        return costs

    monkeypatch.setattr(Pricer, "price_structure", refuse_present)
    assert wanted is not None
    cheaper = price(found, opening)
    assert cheaper is not None
    assert cheaper.numbers == wanted.numbers != found.numbers
    assert cheaper.cost == pytest.approx(wanted.cost, rel=1e-6)


def test_numbers_that_were_chosen_for_a_complete_nest_are_kept() -> None:
    """Those of Funcs in whose nest no producer runs."""
    _, found = with_least_numbers()
    assert list(find_stale_numbers(found)) == [ChooseNumbers("stage2"), ChooseNumbers("stage4")]


def test_all_numbers_are_chosen_again_if_producers_at_root_may_matter() -> None:
    """The model does not say that it adds up the costs of nests."""
    _, found = with_least_numbers()
    plain = evolve(found, pricer=found.pricer.of_whole_schedules)
    stages = [ChooseNumbers(f"stage{number}") for number in range(5)]
    assert list(find_stale_numbers(plain)) == stages


@pytest.mark.parametrize("price", [price_by_nests, price_whole])
def test_a_change_costs_what_the_whole_schedule_then_costs(
    price: Callable[[FoundSchedule, OpenNumbers], FoundSchedule | None],
) -> None:
    """For all rewrites of numbers and loops that make a schedule cheaper. On a CPU where other
    numbers are cheaper, a nest alone may have another size, and its price is an estimate.
    """
    _, found = with_least_numbers()
    for find in list_rewrites():
        for rewrite in find(found):
            for opening in rewrite.open(found):
                assert isinstance(opening, OpenNumbers)
                cheaper = price(found, opening)
                if cheaper is not None:
                    whole = found.pricer.price_schedule(cheaper.with_numbers)
                    assert cheaper.cost == pytest.approx(whole, rel=1e-6), rewrite


def test_a_rewrite_is_found_in_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After those whose order matters; each of them once."""
    known = list_rewrites.__wrapped__()
    lines = ("def find_nothing(found):", "    return iter(())", "REWRITES = (find_nothing,)")
    (tmp_path / "nothing_more.py").write_text("\n".join(lines))
    monkeypatch.setattr(rewrites, "__path__", [*rewrites.__path__, str(tmp_path)])
    *before, added = list_rewrites.__wrapped__()
    assert tuple(before) == known
    assert added.__name__ == "find_nothing"
    assert len(set(known)) == len(known) == 7
