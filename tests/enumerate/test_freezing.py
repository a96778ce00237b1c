"""The search that freezes the Funcs that cost little."""

from __future__ import annotations

import numpy as np
import pytest

import spaces
from spaces import Freezing, Func, Improved, Limits, Stagewise, Var, search
from spaces.cost.batch import Batch
from spaces.cost.model import FunctionModel
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.stagewise.freezing import added_costs
from tests.clocks import Clock
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, long_chain, stencils
from tests.small_space import small_space

CPU = FOUR_CORES


def of_one_func(name: str):
    """A cost model that sees the loops of one Func only."""

    def cost(batch: Batch) -> np.ndarray:
        if not any(entry.name == name for entry in batch.schedule.funcs):
            return batch.full(0.0)
        return batch.full(100.0 + len(batch.schedule.of(name).stages[0].loops))

    return cost


@pytest.mark.parametrize("text", ["", "stage2.compute_root()\nstage0.compute_root()"])
def test_what_funcs_add_makes_the_whole_cost(text: str) -> None:
    """Whether the model adds up nests, or is asked about whole pipelines."""
    space = small_space(stencils(4), CPU)
    schedule = spaces.parse_schedule(text, space.pipeline)
    model = spaces.cost_model("reuse", CPU)
    added = added_costs(Pricer.of(space, model, Limits()), schedule)
    assert list(added) == ["stage3", "stage2", "stage1", "stage0"]
    whole = float(model.cost(Batch.of(space.pipeline, schedule)))
    assert sum(added.values()) == pytest.approx(whole)
    of_wholes = added_costs(Pricer.of(space, FunctionModel(model.cost), Limits()), schedule)
    assert added == pytest.approx(of_wholes)


def test_an_output_that_another_one_reads_adds_all_of_its_cost() -> None:
    """Not only that of the part that is read."""
    x, y = Var("x"), Var("y")
    large, small, other = Func("large"), Func("small"), Func("other")
    large[x, y] = x * y
    small[x, y] = large[x, y] + large[x, y + 1]
    other[x, y] = x + y
    sizes = {large: [2048, 2048], small: [64, 64], other: [64, 64]}
    pipeline = spaces.pipeline([large, small, other], estimates=sizes)
    space = small_space(pipeline, CPU)
    schedule = spaces.Schedule.default(pipeline)
    model = spaces.cost_model("reuse", CPU)
    added = added_costs(Pricer.of(space, model, Limits()), schedule)
    assert sum(added.values()) == pytest.approx(float(model.cost(Batch.of(pipeline, schedule))))


@pytest.mark.parametrize("dear", ["stage0", "stage3", "stage7"])
def test_only_the_dearest_funcs_are_decided_twice(dear: str, monkeypatch) -> None:
    """Of 8 Funcs, 3 stay open: the only one with a cost is among them."""
    space = small_space(stencils(8), CPU)
    second = []
    search_in_share = Stagewise.search_in_share

    def recorded(self, pricer, share=1.0):
        second.append(pricer.space)
        return search_in_share(self, pricer, share)

    monkeypatch.setattr(Stagewise, "search_in_share", recorded)
    done = spaces.best(spaces.search(space, of_one_func(dear), Freezing(opened=1)))
    frozen = {entry.name: entry for entry in second[-1].fixed.funcs}
    assert len(frozen) == 5
    assert dear not in frozen
    assert all(entry.compute.is_inline or entry.compute.is_root for entry in frozen.values())
    assert all(done.best[0].schedule.of(name) == entry for name, entry in frozen.items())
    assert "at" not in second[0].options.placements
    assert second[-1].options == space.options


def wants_blur_x_inside(batch: Batch) -> np.ndarray:
    """A cost model that likes ``blur_x`` inside the loops of ``blur_y``."""
    levels = {entry.name: entry.compute for entry in batch.schedule.funcs}
    is_inside = "blur_x" in levels and levels["blur_x"].func == "blur_y"
    return batch.full(1.0 if is_inside else float(len(levels) ** 2))


def test_open_funcs_may_be_computed_inside_frozen_ones() -> None:
    space = small_space(blur(), CPU)
    (found,) = spaces.best(spaces.search(space, wants_blur_x_inside, "freezing")).best
    assert found.cost == 1.0
    assert found.schedule.of("blur_x").compute.func == "blur_y"
    assert found.schedule in space


def test_it_keeps_what_the_space_fixes() -> None:
    pipeline = blur()
    hand = spaces.parse_schedule("blur_y.parallel(y)\nblur_x.compute_at(blur_y, y)", pipeline)
    fixed = hand.with_funcs((hand.of("blur_y"),))
    space = small_space(pipeline, CPU, fixed=fixed)
    (found,) = spaces.best(spaces.search(space, "reuse", "freezing")).best
    assert found.schedule.of("blur_y") == hand.of("blur_y")


def test_it_uses_its_time_if_the_first_search_does_not_end(clock: Clock) -> None:
    """The first search has half of the time. What it has then is frozen, but for a few Funcs, and
    the rest of the time makes it cheaper.
    """
    space = small_space(long_chain(16), FOUR_CORES)
    clock.step, limit = 0.001, 5.0
    costs: dict[bool, float] = {}
    for event in search(space, "reuse", "freezing", Limits(seconds=limit)):
        if isinstance(event, Improved):
            costs[clock.now > limit / 2] = event.best.cost
    assert costs[True] < costs[False]
    assert 0.6 * limit < clock.now < limit + 0.5
