"""Annealing in spaces that decide loop by loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import spaces
from spaces import Annealing, Limits, Options, ScheduleSpace, Stagewise
from spaces.enumerate.search.neighbours.annealing import is_taken
from spaces.enumerate.search.rewrites.draw import draw_rewrite
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, long_chain

BLUR = blur()
CPU, SM80 = FOUR_CORES, spaces.device("sm_80")


@pytest.mark.parametrize("device", [CPU, SM80], ids=lambda device: device.name)
def test_what_it_finds_is_in_the_space(device: spaces.Device) -> None:
    space = ScheduleSpace(BLUR, device, Options.expert(device))
    model = "occupancy" if device is SM80 else "reuse"
    events = list(spaces.search(space, model, Annealing(steps=40), Limits(top=3)))
    costs = [event.best.cost for event in events if isinstance(event, spaces.Improved)]
    assert costs == sorted(costs, reverse=True)
    done = spaces.best(iter(events))
    assert done.structures > 10
    assert all(found.schedule in space for found in done.best)


def test_it_improves_the_schedule_that_it_starts_at() -> None:
    space = ScheduleSpace(BLUR, CPU, Options.expert(CPU))
    slow = spaces.parse_schedule("blur_y.unroll(x, 2)\nblur_x.compute_at(blur_y, x)", BLUR)
    events = list(spaces.search(space, "reuse", Annealing(start=slow, steps=60)))
    first, *_, last = [event.best for event in events if isinstance(event, spaces.Improved)]
    assert first.schedule == slow
    assert last.cost < first.cost / 2
    assert last.schedule in space


def test_it_tries_rewrites_and_goes_on_from_a_cheaper_one() -> None:
    """By a model to which the loops that edits change are all the same."""

    def count_stored(batch: spaces.Batch) -> NDArray[np.float64]:
        return batch.full(1.0 + len(batch.features.funcs))

    pipeline = long_chain(4)
    space = ScheduleSpace(pipeline, CPU)
    text = "\n".join(f"{one.name}.compute_root()" for one in pipeline.functions[:-1])
    start = spaces.parse_schedule(text, pipeline)
    with_rewrites, without = (
        spaces.best(
            spaces.search(space, count_stored, Annealing(start=start, steps=20, rewrites=rewrites))
        ).best[0]
        for rewrites in (draw_rewrite, None)
    )
    assert with_rewrites.cost < without.cost
    assert with_rewrites.schedule in space


def test_it_starts_at_the_best_of_whole_patterns() -> None:
    small = ScheduleSpace(BLUR, CPU, Options.small(CPU))
    best = spaces.best(spaces.search(small, "reuse", Stagewise())).best[0]
    expert = ScheduleSpace(BLUR, CPU, Options.expert(CPU))
    found = spaces.best(spaces.search(expert, "reuse", Annealing(opening=Stagewise(), steps=1)))
    assert found.best[0].cost <= best.cost


def test_a_start_outside_the_space() -> None:
    space = ScheduleSpace(BLUR, CPU, Options(root=("strips",)))
    start = spaces.parse_schedule("blur_y.unroll(x, 2)", BLUR)
    with pytest.raises(ValueError, match="The space of blur_y has no such schedule"):
        list(spaces.search(space, "reuse", Annealing(start=start, steps=2)))


def test_heat_takes_dearer_schedules_and_no_heat_does_not() -> None:
    assert is_taken(1.0, 0.9, 0.0, 0.99)
    assert not is_taken(1.0, 1.1, 0.0, 0.0)
    assert is_taken(1.0, 2.0, 0.3, 0.09)
    assert not is_taken(1.0, 2.0, 0.3, 0.11)
    assert not is_taken(1.0, math.inf, 0.3, 0.0)


def test_costs_may_be_negative() -> None:
    """What is worse by the size of the current cost is equally worse, whatever its sign."""
    for draw in (0.05, 0.09, 0.11, 0.5):
        assert is_taken(1.0, 2.0, 0.3, draw) == is_taken(-1.0, 0.0, 0.3, draw)
    assert is_taken(-1.0, -1.1, 0.0, 0.99)
    assert is_taken(-1.0, 0.0, 0.3, 0.09)
    assert not is_taken(-1.0, 0.0, 0.3, 0.11)
    assert is_taken(-1.0, 1.0, 0.3, 0.02)
    assert not is_taken(0.0, 1.0, 0.3, 0.0)


def test_stagewise_searches_the_patterns_of_a_wider_space() -> None:
    space = ScheduleSpace(BLUR, CPU)
    assert space.options == Options.expert(CPU)
    done = spaces.best(spaces.search(space, "reuse", "stagewise"))
    assert done == spaces.best(spaces.search(space.of_patterns, "reuse", "stagewise"))
    assert done.best[0].schedule in space
