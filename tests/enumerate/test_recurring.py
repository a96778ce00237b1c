"""Decisions that recur are taken again, where all that they depend on is alike."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.model import CostFunction
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.search.stagewise.recurring_decisions import RecurringDecisions
from spaces.enumerate.space.schedule_space import ScheduleSpace
from tests.cpus import FOUR_CORES

LAYERS = 8


def _chain(layers: int = LAYERS, size: int = 512) -> Pipeline:
    """Stencils one after the other, all alike but for their extents."""
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "input")
    last = image
    for number in range(layers):
        func = Func(f"layer_{number}")
        func[x, y] = last[x, y - 1] + last[x, y] + last[x, y + 1]
        last = func
    widths = {last: [size, size], image: [(0, size), (-layers, size + 2 * layers)]}
    return spaces.pipeline(last, name="chain", estimates=widths)


@pytest.fixture
def space() -> ScheduleSpace:
    return ScheduleSpace(_chain(), FOUR_CORES).of_patterns


def _rooted(batch: Batch) -> NDArray[np.float64]:
    """A cost that prefers Funcs at root, so that most decisions recur."""
    return batch.full(1000.0 - sum(func.depth == 0 for func in batch.features.funcs))


@pytest.mark.parametrize(("size", "model"), [(300, "reuse"), (2048, _rooted)])
def test_a_search_that_remembers_looks_at_less_and_misses_little(
    size: int, model: str | CostFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For stencils one after the other, which are alike but for their extents."""
    space = ScheduleSpace(_chain(LAYERS, size), FOUR_CORES).of_patterns
    with_memory = best(search(space, model, "stagewise"))
    monkeypatch.setattr(RecurringDecisions, "find_decision", lambda *_: None)
    without = best(search(space, model, "stagewise"))
    assert with_memory.structures <= (0.6 if model is _rooted else 1.0) * without.structures
    assert with_memory.best[0].cost <= 1.05 * without.best[0].cost


def test_what_recurs_is_legal_and_renamed(space: ScheduleSpace) -> None:
    done = best(search(space, "reuse", "stagewise", Limits(top=2)))
    for found in done.best:
        assert verify(space.pipeline, found.schedule, space.device)
        for entry in found.schedule.funcs:
            level = entry.compute
            readers = space.pipeline.consumers(entry.name)
            assert level.is_root or level.is_inline or level.func in _below(space.pipeline, readers)


def _below(pipeline: Pipeline, readers: tuple[str, ...]) -> set[str]:
    """Some Funcs, and all that read them directly or not."""
    found = set(readers)
    for name in readers:
        found |= _below(pipeline, pipeline.consumers(name))
    return found


def test_a_chain_of_stencils_on_a_gpu_never_costs_much_more_for_one_stage() -> None:
    """A decision that recurs for a reader with other tiles may not fit: each stage costs about as
    much as the others.
    """
    pipeline = _chain(LAYERS, 2048)
    space = ScheduleSpace(pipeline, device("sm_90")).of_patterns
    found = best(search(space, "roofline"))
    apart = ScheduleSpace(_chain(1, 2048), device("sm_90")).of_patterns
    one = best(search(apart, "roofline")).best[0].cost
    assert found.best[0].cost <= 1.2 * LAYERS * one


def test_what_costs_much_more_than_all_compared_is_doubted() -> None:
    """A cost that is not finite compares nothing."""
    recurring = RecurringDecisions()
    for cost in (4.0, 10.0, math.inf, 6.0):
        recurring.note_cost(cost)
    assert recurring.is_plausible(10.0)
    assert recurring.is_plausible(14.0)
    assert not recurring.is_plausible(16.0)
