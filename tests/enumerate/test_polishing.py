"""The numbers of complete schedules are chosen again."""

from __future__ import annotations

import pytest
from attrs import evolve

import spaces
from spaces.enumerate import stagewise
from spaces.enumerate.half_decided import HalfDecided
from spaces.enumerate.stage_decisions import StageDecisions
from tests.enumerate.pipelines import stencils

CPU = spaces.device("cpu")


def at_root(count: int) -> spaces.ScheduleSpace:
    """A space with all Funcs at root, each in a nest of its own."""
    options = evolve(spaces.Options.small(CPU), placements=("root",))
    return spaces.ScheduleSpace(stencils(count), CPU, options)


def complete(monkeypatch: pytest.MonkeyPatch, count: int) -> tuple[StageDecisions, HalfDecided]:
    """A complete state of a search, before its numbers are chosen again."""
    seen: list[tuple[StageDecisions, HalfDecided]] = []
    polished = stagewise.polished

    def recorded(task, states, rounds):
        seen.append((task, states[0]))
        return polished(task, states, rounds)

    monkeypatch.setattr(stagewise, "polished", recorded)
    spaces.best(spaces.search(at_root(count), "reuse", "stagewise"))
    return seen[0]


def test_the_nests_that_numbers_change_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    (by_nests,) = spaces.best(spaces.search(at_root(5), "reuse", "stagewise")).best
    monkeypatch.setattr(StageDecisions, "nests_around", lambda *_: (None, 0.0))
    (of_wholes,) = spaces.best(spaces.search(at_root(5), "reuse", "stagewise")).best
    assert by_nests.cost == pytest.approx(of_wholes.cost, rel=0.01)


def test_tiles_that_reach_far_beyond_a_func_change_all_that_it_reads(monkeypatch) -> None:
    task, state = complete(monkeypatch, 5)
    entries = {entry.name: entry for entry in state.partial.state.entries}
    split = entries["stage3"].stages[0].splits[0]
    extent = {"x": 512, "y": 256}[split.old]

    def around(number: int) -> frozenset[str] | None:
        numbers = {**state.numbers, split.factor: number}
        nests, _ = task.nests_around(evolve(state, numbers=numbers), "stage3")
        return None if nests is None else nests.funcs

    assert around(2) == {"stage3", "stage2"}
    assert around(extent * 2 // 3) is None
