"""A walk judges no more complete schedules than are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import pytest
from attrs import evolve

import spaces
from spaces.cost.cpu.reuse import Reuse
from spaces.enumerate.search.events import Event
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.papers.sampling import HierarchicalSampling
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.registry import Strategy
from spaces.enumerate.search.stagewise.stage_decisions import StageDecisions
from spaces.enumerate.search.stagewise.stagewise import Stagewise
from spaces.enumerate.search.stagewise.state import HalfDecided, OpenWay
from spaces.enumerate.search.stagewise.walk import Complete, walk_funcs
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur
from tests.enumerate.test_wrapping import product
from tests.small_space import small_space

KEPT = 3


def _walk(wanted: int | None, *, priced_as: float | None = None) -> Complete:
    """A walk that keeps three states after each Func.

    Args:
        wanted: how many complete schedules are wanted.
        priced_as: the cost of all states after the last Func, if not what they cost.
    """
    space = small_space(product(64), FOUR_CORES).of_patterns
    pricer = Pricer.of(space, Reuse.of(FOUR_CORES), Limits())
    task = StageDecisions(pricer, 4096, pricer.board.deadline)

    def deciding(states: list[HalfDecided], decided: Sequence[str]) -> list[HalfDecided]:
        part = task.part(states, decided)
        ways = [way for state in states for way in task.ways.list_ways(state, decided)]
        priced = [one for way in ways if (one := task.prices.price_way(part, way)) is not None]
        legal = [
            task.prices.judge_way(part, one) for one in sorted(priced, key=lambda one: one.cost)
        ]
        kept = [one.cheapest for one in legal if one.cheapest.is_priced][:KEPT]
        if priced_as is None or len(decided) < 2:
            return kept
        return [evolve(one, cost=priced_as) for one in reversed(kept)]

    found: list[Complete | None] = []

    def walk() -> Iterator[Event]:
        found.append((yield from walk_funcs(task, task.start(), deciding, 1.0, wanted=wanted)))

    assert list(walk())
    (states,) = found
    assert states is not None
    return states


def test_all_complete_schedules_are_judged_if_no_number_is_wanted() -> None:
    states = _walk(None)
    assert len(states.legal) == KEPT
    assert states.unjudged == []
    assert states.legal == sorted(states.legal, key=lambda state: state.cost)


def test_only_wanted_schedules_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    cheapest, *others = _walk(None).legal
    exact, judged = StageDecisions.price_complete, []

    def counted(task: StageDecisions, state: HalfDecided) -> HalfDecided:
        judged.append(state)
        return exact(task, state)

    monkeypatch.setattr(StageDecisions, "price_complete", counted)
    states = _walk(1)
    assert len(judged) == 1
    assert [one.cost for one in states.legal] == [cheapest.cost]
    assert [one.partial.schedule for one in states.unjudged] == [
        one.partial.schedule for one in others
    ]


def test_states_without_a_price_are_all_judged() -> None:
    """Which of them is the cheapest is not known before."""
    states = _walk(1, priced_as=inf)
    assert [one.cost for one in states.legal] == [one.cost for one in _walk(None).legal]
    assert states.unjudged == []


def test_what_the_start_decides_is_not_decided_again() -> None:
    space = small_space(product(64), FOUR_CORES).of_patterns
    pricer = Pricer.of(space, Reuse.of(FOUR_CORES), Limits())
    task = StageDecisions(pricer, 4096, pricer.board.deadline)
    names = [one.name for one in reversed(space.pipeline.functions)]
    asked: list[Sequence[str]] = []

    def deciding(states: list[HalfDecided], decided: Sequence[str]) -> list[HalfDecided]:
        asked.append(decided)
        part = task.part(states, decided)
        ways = [way for state in states for way in task.ways.list_ways(state, decided)]
        priced = [one for way in ways if (one := task.prices.price_way(part, way)) is not None]
        return [min(priced, key=lambda one: one.cost).cheapest]

    (start,) = deciding([task.start()], names[:1])
    asked.clear()
    assert list(walk_funcs(task, start, deciding, 1.0, known=names[:1]))
    assert asked == [names[:step] for step in range(2, len(names) + 1)]


@pytest.mark.parametrize(
    "strategy",
    [Stagewise(width=1), HierarchicalSampling(width=1, passes=1)],
    ids=["beam", "samples"],
)
def test_schedules_that_are_illegal_as_a_whole_are_searched_for_again(
    strategy: Strategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nests are priced one by one first; if the whole is illegal, whole schedules are judged."""
    judged: list[bool] = []

    def refused(task: StageDecisions, state: HalfDecided) -> HalfDecided:
        judged.append(task.pricer.adds_nests)
        cost = float("inf") if judged[-1] else state.cost
        return HalfDecided(state.partial, state.numbers, cost)

    monkeypatch.setattr(StageDecisions, "price_complete", refused)
    space = small_space(blur(), FOUR_CORES)
    (found,) = spaces.best(spaces.search(space, "reuse", strategy)).best
    assert judged == [True, False]
    assert spaces.verify(space.pipeline, found.schedule, space.device)


def test_fixed_funcs_cost_what_all_that_is_decided_costs() -> None:
    """The price of the nest that reads one is added to what is known of the others."""
    x, y = spaces.Var("x"), spaces.Var("y")
    image = spaces.ImageParam(spaces.Float32, 2, "image")
    first, middle, out = (spaces.Func(name) for name in ("first", "middle", "out"))
    first[x, y] = image[x, y] * 2.0
    middle[x, y] = first[x, y] + first[x, y + 1]
    out[x, y] = middle[x, y] + middle[x + 1, y]
    made = spaces.pipeline(out, estimates={out: [256, 64]})
    whole = spaces.parse_schedule("first.compute_root().parallel(y)", made)
    space = spaces.ScheduleSpace(made, FOUR_CORES, fixed=spaces.Schedule((whole.of("first"),)))
    pricer = Pricer.of(space.of_patterns, Reuse.of(FOUR_CORES), Limits())
    task = StageDecisions(pricer, 4096, pricer.board.deadline)
    state, names = task.start(), ("out", "middle", "first")
    for count in (1, 2):
        part = task.part([state], names[:count])
        ways = (way for way in task.ways.list_ways(state, names[:count]) if _is_at_root(way))
        priced = (one for way in ways if (one := task.prices.price_way(part, way)) is not None)
        state = min(priced, key=lambda one: one.cost).cheapest
    passed = task.pass_fixed_func(state, names)
    assert state.cost < passed.cost < inf
    assert passed.cost == pytest.approx(task.cost_so_far(passed))


def _is_at_root(way: OpenWay) -> bool:
    return way.entry.compute.is_root
