"""The numbers of complete schedules are chosen again."""

from __future__ import annotations

import pytest
from attrs import evolve

import spaces
from spaces.enumerate.search.board import Board
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.rewrites import numbers as polishing
from spaces.enumerate.search.stagewise import stagewise
from spaces.enumerate.search.stagewise.state import HalfDecided
from spaces.enumerate.search.stagewise.ways import StageDecisions
from tests.enumerate.pipelines import stencils
from tests.enumerate.test_wrapping import product

CPU = spaces.device("cpu")

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


def complete() -> tuple[StageDecisions, HalfDecided]:
    """A complete state of a search in which no numbers are chosen yet."""
    pipeline = stencils(5, WIDTH, HEIGHT)
    space = spaces.ScheduleSpace(pipeline, CPU).of_patterns
    schedule = spaces.parse_schedule(IN_TWO_NESTS, pipeline)
    *_, partial = space.start().towards(schedule)
    assert partial.is_complete
    pricer = Pricer.of(space, spaces.cost_model("reuse", CPU), spaces.Limits())
    task = StageDecisions(pricer, 4096, pricer.board.deadline)
    return task, HalfDecided(partial, {}, 0.0)


def with_least_numbers(task: StageDecisions, state: HalfDecided) -> HalfDecided:
    """A complete state with numbers that are far from the best."""
    least = {name: menu[0] for name, menu in state.partial.state.menus.items()}
    return task.exact(evolve(state, numbers=least))


def best_after(task: StageDecisions, state: HalfDecided) -> float:
    """The cost of the best of what polishing offers."""
    board = Board(spaces.Limits())
    for _ in stagewise.polished(evolve(task, pricer=evolve(task.pricer, board=board)), state, 1):
        pass
    return board.best[0].cost


def test_the_nests_that_numbers_change_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    task, state = complete()
    bad = with_least_numbers(task, state)
    by_nests = best_after(task, bad)
    monkeypatch.setattr(StageDecisions, "nests_around", lambda *_: None)
    assert by_nests < 0.99 * bad.cost
    assert by_nests == pytest.approx(best_after(task, bad), rel=0.001)


def test_all_nests_decide_if_some_mislead(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was chosen by some nests makes the whole schedule dearer; nothing is lost."""
    task, state = complete()
    bad = with_least_numbers(task, state)
    wanted = best_after(task, bad)
    exact = StageDecisions.exact
    seen: list[float] = []

    def misled(self, state):
        seen.append(state.cost)
        is_first = len(seen) == 1
        return evolve(state, cost=2 * bad.cost) if is_first else exact(self, state)

    monkeypatch.setattr(StageDecisions, "exact", misled)
    assert best_after(task, bad) == pytest.approx(wanted, rel=0.005)
    assert len(seen) == 2


def test_the_nests_around_are_those_of_all_that_a_nest_reads() -> None:
    """Also of what Funcs inside the nest read."""
    task, state = complete()
    nests = task.nests_around(state, "stage4")
    assert nests is not None
    assert nests.funcs == {"stage4", "stage3", "stage2", "stage1"}


def polished_funcs(
    monkeypatch: pytest.MonkeyPatch, task: StageDecisions, state: HalfDecided
) -> list[str]:
    """The Funcs whose numbers are chosen again first."""
    asked: list[str] = []

    def recorded(self, state, name):
        asked.append(name)

    monkeypatch.setattr(StageDecisions, "nests_around", recorded)
    best_after(task, state)
    return asked


def test_numbers_that_were_chosen_for_a_complete_nest_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of Funcs in whose nest no producer runs."""
    task, state = complete()
    bad = with_least_numbers(task, state)
    assert polished_funcs(monkeypatch, task, bad) == ["stage2", "stage4"]


def test_all_numbers_are_chosen_again_if_producers_at_root_may_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The model does not say that it adds up the costs of nests."""
    task, state = complete()
    plain = evolve(task, pricer=task.pricer.of_whole_schedules)
    asked = polished_funcs(monkeypatch, plain, with_least_numbers(plain, state))
    assert asked == [f"stage{number}" for number in range(5)]


@pytest.mark.parametrize("top", [1, 3])
def test_only_the_first_schedule_is_polished(monkeypatch: pytest.MonkeyPatch, top: int) -> None:
    """Not also the best schedule without a wrapper, when one with it is cheaper, and no runner-up:
    the path of a search does not depend on how many schedules it returns.
    """
    polished = stagewise.polished
    costs: list[float] = []

    def recorded(task, state, rounds):
        costs.append(state.cost)
        return polished(task, state, rounds)

    monkeypatch.setattr(stagewise, "polished", recorded)
    space = spaces.ScheduleSpace(product(1024), CPU)
    found = spaces.best(spaces.search(space, "reuse", "stagewise", spaces.Limits(top=top)))
    assert "right_in" in str(found.best[0].schedule)
    assert len(costs) == 1


def test_what_was_found_is_polished_if_the_time_ends_at_a_wrapper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walked, polished = stagewise.walked, stagewise.polished
    walks: list[str] = []
    costs: list[float] = []

    def ended(*given, **named):
        walks.append("walk")
        if len(walks) == 1:
            return (yield from walked(*given, **named))
        return None

    def recorded(task, state, rounds):
        costs.append(state.cost)
        return polished(task, state, rounds)

    monkeypatch.setattr(stagewise, "walked", ended)
    monkeypatch.setattr(stagewise, "polished", recorded)
    done = spaces.best(
        spaces.search(spaces.ScheduleSpace(product(1024), CPU), "reuse", "stagewise")
    )
    assert len(walks) == 2
    assert len(costs) == 1
    assert not done.complete


def test_beyond_its_work_it_chooses_for_funcs_at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    task, state = complete()
    state = with_least_numbers(task, state)
    chosen: list[str] = []

    def noted(task, state, entry, nests):
        chosen.append(entry.name)
        return state

    monkeypatch.setattr(polishing, "_chosen_again", noted)
    monkeypatch.setattr(polishing, "_unsettled", lambda task, state: state.partial.state.entries)
    list(polishing.polished(task, state, 1))
    assert chosen == [f"stage{number}" for number in range(5)]
    chosen.clear()
    monkeypatch.setattr(polishing, "MOST", 0)
    list(polishing.polished(task, state, 1))
    assert chosen == ["stage0", "stage2", "stage4"]
