"""Decisions that recur are taken again, where all that they depend on is alike."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import spaces
from spaces import Float32, Func, ImageParam, Pipeline, Var
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.enumerate.search.board import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.search.stagewise.repeats import RecurringDecisions
from spaces.enumerate.search.stagewise.state import HalfDecided
from spaces.enumerate.space.schedule_space import ScheduleSpace

LAYERS = 12


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
    return ScheduleSpace(_chain(), device("cpu")).of_patterns


def _looked_at(space: ScheduleSpace) -> int:
    """The structures with a cost of a search that prefers Funcs at root."""

    def at_root(batch: Batch) -> NDArray[np.float64]:
        return batch.full(1000.0 - sum(func.depth == 0 for func in batch.features.funcs))

    return best(search(space, at_root, "stagewise")).structures


def test_a_search_of_repeated_stages_looks_at_few_options(
    space: ScheduleSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_memory = _looked_at(space)
    monkeypatch.setattr(RecurringDecisions, "again", lambda *_: None)
    assert with_memory < 0.5 * _looked_at(space)


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


def _decided(state: HalfDecided, *labels: str) -> HalfDecided:
    """The state after options with these labels, which decide one Func."""
    after = state.partial
    for label in labels:
        after = after.take(label)
    return HalfDecided(after, {}, 0.0, state)


def test_a_decision_is_taken_again_only_where_its_readers_are_scheduled_alike(
    space: ScheduleSpace,
) -> None:
    start = HalfDecided(space.start(), {}, 0.0)
    output = _decided(start, "layer_11 in strips")
    fused = _decided(
        output,
        "layer_10.compute_at(layer_11, yi)",
        "layer_10.store_at(layer_11, y)",
    )
    memory = RecurringDecisions()
    memory.keep(fused, "layer_10")
    at_root = _decided(output, "layer_10.compute_root()", "layer_10 in strips")
    tiled = _decided(output, "layer_10.compute_root()", "layer_10 in tiles")
    # layer_11 is an output, so its context is another one: only what layer_10 has recurs.
    assert memory.again(at_root, "layer_9") is None
    inner = _decided(at_root, "layer_9.compute_at(layer_10, yi)", "layer_9.store_at(layer_10, y)")
    memory.keep(inner, "layer_9")
    next_root = _decided(inner, "layer_8.compute_root()", "layer_8 in strips")
    again = memory.again(next_root, "layer_7")
    assert again is not None
    entry = next(one for one in again.state.entries if one.name == "layer_7")
    assert str(entry.compute) == "layer_8.yi"
    assert str(entry.store) == "layer_8.y"
    assert memory.again(tiled, "layer_9") is None
    assert memory.again(inner, "layer_8") is None


def test_a_decision_that_costs_much_more_than_compared_ones_is_not_plausible() -> None:
    recurring = RecurringDecisions()
    recurring.compared(3.0)
    recurring.compared(2.0)
    recurring.compared(np.inf)
    assert recurring.is_plausible(4.0)
    assert not recurring.is_plausible(5.0)


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
