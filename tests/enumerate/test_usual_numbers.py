"""Ways to decide a Func are ranked by usual numbers; all numbers count only for those kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from attrs import evolve
from numpy.typing import NDArray

import spaces
from spaces.apps.catalog import APPS
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.model import CostModel, FunctionModel
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.stagewise.stage_decisions import StageDecisions
from spaces.enumerate.search.stagewise.stagewise import Stagewise
from spaces.enumerate.search.stagewise.state import HalfDecided, OpenWay, PricedWay
from spaces.enumerate.search.stagewise.way_prices import WayPrices
from spaces.enumerate.space.estimated_boxes import sizes_of
from tests.cpus import FOUR_CORES
from tests.draw_counts import some
from tests.enumerate.pipelines import blur, long_chain

REUSE = Reuse.of(FOUR_CORES)


def decisions(
    pipeline: spaces.Pipeline, model: CostModel = REUSE, device: spaces.Device = FOUR_CORES
) -> tuple[StageDecisions, list[OpenWay]]:
    """A search with the ways to decide its first Func."""
    space = spaces.ScheduleSpace(pipeline, device).of_patterns
    pricer = Pricer.of(space, model, Limits())
    task = StageDecisions(pricer, 4096, pricer.board.deadline)
    name = pipeline.functions[-1].name
    return task, list(task.ways.list_ways(task.start(), [name]))


def test_usual_numbers_are_in_the_middle() -> None:
    _, ways = decisions(blur())
    with_choice = [way for way in ways if any(len(menu) > 1 for menu in way.free.values())]
    assert with_choice
    for way in with_choice:
        usual = way.usual
        assert usual.whole is way
        assert usual.structure.size == 1
        for name, menu in way.free.items():
            assert usual.state.numbers[name] == menu[len(menu) // 2]
        assert usual.usual is usual


def test_without_another_number_the_usual_one_is_all() -> None:
    _, ways = decisions(blur())
    way = next(way for way in ways if way.free)
    single = evolve(way, free={name: menu[:1] for name, menu in way.free.items()})
    assert single.usual.whole is None
    assert single.usual.structure.size == 1
    assert {name: single.usual.state.numbers[name] for name in way.free} == {
        name: menu[0] for name, menu in way.free.items()
    }


def test_numbers_chosen_before_give_way_to_the_middle() -> None:
    """Those of a reader were chosen without what it reads."""
    _, ways = decisions(blur())
    way = next(way for way in ways if way.free)
    name, menu = next(iter(way.free.items()))
    known = {name: menu[0], "other": 7}
    again = evolve(way, state=evolve(way.state, numbers=known))
    assert again.usual.state.numbers[name] == menu[len(menu) // 2]
    assert again.usual.state.numbers["other"] == 7


def test_the_price_of_usual_numbers_is_one_of_all() -> None:
    task, ways = decisions(blur())
    for way in ways:
        part = task.part([way.state], way.decided)
        usual, whole = task.prices.price_usual_numbers(part, way), task.prices.price_way(part, way)
        assert usual is not None
        assert whole is not None
        assert usual.cost == pytest.approx(_price_at(whole, usual.way.state.numbers))


def _price_at(priced: PricedWay, numbers: dict[str, int]) -> float:
    index = priced.structure.index(numbers)
    assert index is not None
    return float(priced.costs.flat[index])


def test_all_numbers_count_where_the_usual_ones_have_no_cost() -> None:
    def only_small(batch: spaces.Batch) -> NDArray[np.float64]:
        trips = [
            np.asarray(loop.trips, float)
            for func in batch.features.funcs
            for loop in func.stages[0].own
            if loop.loop == "yi"
        ]
        return sum((np.where(trip <= 8, trip, np.inf) for trip in trips), np.array(1.0))

    task, ways = decisions(blur(2048, 2048), FunctionModel(only_small))
    tiled = [way for way in ways if any(name.endswith("_yi") for name in way.free)]
    assert tiled
    for way in tiled:
        part = task.part([way.state], way.decided)
        usual = task.prices.price_usual_numbers(part, way)
        assert task.prices.price_way(part, way.usual) is None
        assert usual is not None
        assert usual.way is way
        assert np.isfinite(usual.cost)


def test_for_gpus_all_numbers_count() -> None:
    gpu = spaces.device("sm_80")
    task, ways = decisions(blur(), spaces.cost_model("occupancy", gpu), gpu)
    assert any(way.free for way in ways)
    for way in ways:
        usual = task.prices.price_usual_numbers(task.part([way.state], way.decided), way)
        assert usual is not None
        assert usual.way is way


def test_completions_that_are_illegal_are_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    def offered() -> list[object]:
        task, (way, *_) = decisions(blur())
        return list(task.offer_completions([way.state]))

    assert offered()
    monkeypatch.setattr(Pricer, "is_legal", lambda self, schedule: False)
    assert not offered()


def scaled_sums(beyond: int = 64) -> spaces.Pipeline:
    """Neighbors of sums: a stage that reads sums, and may be computed in many places. The image is
    ``beyond`` pixels larger than what is read.
    """
    x, y, r = spaces.Var("x"), spaces.Var("y"), spaces.RDom([(0, 64)], "r")
    image = spaces.ImageParam("float32", 2, "image")
    sums, scaled, out = spaces.Func("sums"), spaces.Func("scaled"), spaces.Func("out")
    sums[x, y] = 0.0
    sums[x, y] += image[x + r.x, y]
    scaled[x, y] = sums[x, y] * 2.0
    out[x, y] = scaled[x, y] + scaled[x + 1, y] + scaled[x, y + 1]
    sizes = {out: [1024, 1024], image: [1088 + beyond, 1025 + beyond]}
    return spaces.pipeline(out, estimates=sizes)


@pytest.mark.parametrize("make", [blur, scaled_sums])
def test_what_is_kept_has_the_cheapest_numbers(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[], spaces.Pipeline]
) -> None:
    """Also if the ways that look cheapest are alike, and others are kept."""
    decided = Stagewise._decide_func
    compared: list[float] = []

    def checked(self, task, states, names, recurring):
        found: list[HalfDecided] = decided(self, task, states, names, recurring)
        part = task.part(states, names)
        ways = [way for one in states for way in task.ways.list_ways(one, names)]
        for way in ways:
            for state in found:
                if way.state.partial.taken == state.partial.taken:
                    whole = task.prices.price_way(part, way)
                    assert whole is not None
                    compared.append(state.cost / whole.cost)
        return found

    monkeypatch.setattr(Stagewise, "_decide_func", checked)
    medium = spaces.Options.medium(FOUR_CORES)
    space = spaces.ScheduleSpace(make(), FOUR_CORES, medium)
    spaces.best(spaces.search(space, "reuse", "stagewise"))
    assert len(compared) >= 2
    assert compared == pytest.approx([1.0] * len(compared))


def test_dimensions_of_constant_extent_are_known() -> None:
    x, y, c = spaces.Var("x"), spaces.Var("y"), spaces.Var("c")
    image = spaces.ImageParam("uint8", 2, "image")
    low, sums, out = spaces.Func("low"), spaces.Func("sums"), spaces.Func("out")
    r, wide = spaces.RDom([(0, 3)], "r"), spaces.RDom([(0, image.width())], "q")
    again = spaces.RDom([(0, 3)], "q")
    low[x, y, c] = image[x, y] + c
    sums[x, y] = 0
    sums[x, y] += low[x, y, r.x]
    sums[x, y] += image[wide.x, y]
    sums[x, y] += image[again.x, y]
    out[x, y] = sums[x, y]
    known = sizes_of(spaces.pipeline(out, estimates={out: [64, 48], image: [64, 48]}))
    assert known.constant == {"low": {"c"}, "sums": {"r.x"}, "out": frozenset()}


def test_channels_of_constant_extent_need_no_verdict_before_the_end() -> None:
    x, y, c = spaces.Var("x"), spaces.Var("y"), spaces.Var("c")
    image = spaces.ImageParam("uint8", 2, "image")
    low, out = spaces.Func("low"), spaces.Func("out")
    low[x, y, c] = image[x, y] + c
    out[x, y, c] = low[x, y, 0] + low[x, y, 2] + c
    sizes = {out: [2048, 1024, 3], image: [2048, 1024]}
    pipeline = spaces.pipeline(out, estimates=sizes)
    task, ways = decisions(pipeline)
    assert all(judged_before(task, way) for way in ways), "Tiles may be longer than an output."
    state = ways[0].usual.state
    further = list(task.ways.list_ways(evolve(state, cost=1.0), ["out", "low"]))
    assert any(unrolls(way, "c") for way in further)
    assert not any(judged_before(task, way) for way in further)


def judged_before(task: StageDecisions, way: OpenWay) -> bool:
    """Whether a way needs a verdict, as it does if it may unroll a loop without a constant
    extent.
    """
    priced = task.prices.price_way(task.part([way.state], way.decided), way)
    assert priced is not None
    return not priced.is_legal


def unrolls(way: OpenWay, loop: str) -> bool:
    """Whether a loop of the Func decided last is unrolled."""
    loops = (one for order in way.entry.stages for one in order.loops)
    return any(one.name == loop and one.kind is spaces.LoopKind.UNROLLED for one in loops)


def test_a_structure_counts_once() -> None:
    """Though it may be priced with usual numbers first, and then with all."""
    task, ways = decisions(blur())
    for number, way in enumerate(ways, start=1):
        part = task.part([way.state], way.decided)
        usual = task.prices.price_usual_numbers(part, way)
        assert usual is not None
        again = task.prices.price_all_numbers(part, usual)
        assert again is not None
        assert again.way is way
        assert task.pricer.board.structures == number


@pytest.mark.parametrize("stages", some([8, 12, 14]))
def test_chains_cost_no_more_than_with_all_numbers(
    monkeypatch: pytest.MonkeyPatch, stages: int
) -> None:
    """The cheapest way at its best numbers may be the second one at usual numbers."""
    medium = spaces.Options.medium(FOUR_CORES)
    space = spaces.ScheduleSpace(long_chain(stages), FOUR_CORES, medium)
    found = spaces.best(spaces.search(space, "reuse", "stagewise")).best[0].cost
    monkeypatch.setattr(WayPrices, "price_usual_numbers", WayPrices.price_way)
    assert found <= 1.01 * spaces.best(spaces.search(space, "reuse", "stagewise")).best[0].cost


def test_blocks_of_registers_are_found_that_are_too_large_with_usual_numbers() -> None:
    """Of conv_layer: with more half-decided schedules, nothing cheaper is found."""
    wide = evolve(FOUR_CORES, vector_bits=512)
    space = spaces.ScheduleSpace(APPS["conv_layer"].pipeline(), wide)
    one, of_five = (
        spaces.best(spaces.search(space, Reuse.of(wide), Stagewise(), Limits(top=top))).best[0]
        for top in (1, 5)
    )
    assert one.cost == of_five.cost


def test_further_sizes_are_judged_early() -> None:
    """Else what is illegal there shows in the end only, and all is searched again."""
    sizes = [{"f4": [200, 100]}]
    space = spaces.ScheduleSpace(long_chain(5), FOUR_CORES, sizes=sizes)
    with_sizes = spaces.best(spaces.search(space, "reuse", "stagewise")).structures
    without = spaces.best(spaces.search(evolve(space, sizes=()), "reuse", "stagewise")).structures
    assert with_sizes <= 1.3 * without


@pytest.mark.parametrize("strategy", some(["stagewise", "freezing", "sampling", "frozen-sampling"]))
def test_where_nearly_all_is_illegal_a_random_schedule_is_better_than_none(strategy: str) -> None:
    """Most tiles read beyond the image; so do all completions of what the search keeps."""
    pipeline = scaled_sums(beyond=0)
    space = spaces.ScheduleSpace(pipeline, FOUR_CORES, spaces.Options.medium(FOUR_CORES))
    found = spaces.best(spaces.search(space, "reuse", strategy)).best[0].schedule
    assert spaces.verify(pipeline, found, FOUR_CORES)
