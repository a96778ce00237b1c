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
from spaces.enumerate.search.board import Limits
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.stagewise.known_costs import Glances
from spaces.enumerate.search.stagewise.stagewise import Stagewise, _Kept
from spaces.enumerate.search.stagewise.state import HalfDecided, OpenWay, PricedWay
from spaces.enumerate.search.stagewise.ways import StageDecisions
from spaces.enumerate.space.estimated_boxes import sizes_of
from spaces.enumerate.space.restrictions.text import parse_restriction
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, interleaved_colors, long_chain, two_outputs

REUSE = Reuse.of(FOUR_CORES)


def decisions(
    pipeline: spaces.Pipeline, model: CostModel = REUSE, device: spaces.Device = FOUR_CORES
) -> tuple[StageDecisions, list[OpenWay]]:
    """A search with the ways to decide its first Func."""
    space = spaces.ScheduleSpace(pipeline, device).of_patterns
    pricer = Pricer.of(space, model, Limits())
    task = StageDecisions(pricer, 4096, pricer.board.deadline)
    name = pipeline.functions[-1].name
    return task, list(task.ways(task.start(), [name]))


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


def test_a_glance_is_one_of_the_prices() -> None:
    task, ways = decisions(blur())
    for way in ways:
        part = task.part([way.state], way.decided)
        glance, whole = task.glanced(part, way), task.scored(part, way)
        assert glance is not None
        assert whole is not None
        assert glance.cost == pytest.approx(_price_at(whole, glance.way.state.numbers))


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
        glance = task.glanced(part, way)
        assert task.scored(part, way.usual) is None
        assert glance is not None
        assert glance.way is way
        assert np.isfinite(glance.cost)


def test_for_gpus_all_numbers_count() -> None:
    gpu = spaces.device("sm_80")
    task, ways = decisions(blur(), spaces.cost_model("occupancy", gpu), gpu)
    assert any(way.free for way in ways)
    for way in ways:
        glance = task.glanced(task.part([way.state], way.decided), way)
        assert glance is not None
        assert glance.way is way


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
    decided = Stagewise._decided
    compared: list[float] = []

    def checked(self, task, states, names, recurring):
        found: list[HalfDecided] = decided(self, task, states, names, recurring)
        part = task.part(states, names)
        ways = [way for one in states for way in task.ways(one, names)]
        for way in ways:
            for state in found:
                if way.state.partial.taken == state.partial.taken:
                    whole = task.scored(part, way)
                    assert whole is not None
                    compared.append(state.cost / whole.cost)
        return found

    monkeypatch.setattr(Stagewise, "_decided", checked)
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
    further = list(task.ways(evolve(state, cost=1.0), ["out", "low"]))
    assert any(unrolls(way, "c") for way in further)
    assert not any(judged_before(task, way) for way in further)


def judged_before(task: StageDecisions, way: OpenWay) -> bool:
    """Whether a way needs a verdict, as it does if it may unroll a loop without a constant
    extent.
    """
    priced = task.scored(task.part([way.state], way.decided), way)
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
        glance = task.glanced(part, way)
        assert glance is not None
        again = task.with_all_numbers(part, glance)
        assert again is not None
        assert again.way is way
        assert task.pricer.board.structures == number


@pytest.mark.parametrize("stages", [10, 12, 14])
def test_chains_cost_no_more_than_with_all_numbers(
    monkeypatch: pytest.MonkeyPatch, stages: int
) -> None:
    """The cheapest way at its best numbers may be the second one at usual numbers."""
    medium = spaces.Options.medium(FOUR_CORES)
    space = spaces.ScheduleSpace(long_chain(stages), FOUR_CORES, medium)
    found = spaces.best(spaces.search(space, "reuse", "stagewise")).best[0].cost
    monkeypatch.setattr(StageDecisions, "glanced", StageDecisions.scored)
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
    sizes = [{"f13": [200, 100]}]
    space = spaces.ScheduleSpace(long_chain(14), FOUR_CORES, sizes=sizes)
    with_sizes = spaces.best(spaces.search(space, "reuse", "stagewise")).structures
    without = spaces.best(spaces.search(evolve(space, sizes=()), "reuse", "stagewise")).structures
    assert with_sizes <= 1.3 * without


@pytest.mark.parametrize("strategy", ["stagewise", "freezing", "sampling", "frozen-sampling"])
def test_where_nearly_all_is_illegal_a_random_schedule_is_better_than_none(strategy: str) -> None:
    """Most tiles read beyond the image; so do all completions of what the search keeps."""
    pipeline = scaled_sums(beyond=0)
    space = spaces.ScheduleSpace(pipeline, FOUR_CORES, spaces.Options.medium(FOUR_CORES))
    found = spaces.best(spaces.search(space, "reuse", strategy)).best[0].schedule
    assert spaces.verify(pipeline, found, FOUR_CORES)


def colored_sums() -> spaces.Pipeline:
    """Sums of an image with three channels, read by lines and by the lines below."""
    x, y, c, r = spaces.Var("x"), spaces.Var("y"), spaces.Var("c"), spaces.RDom([(0, 5)], "r")
    image = spaces.ImageParam("float32", 3, "image")
    sums, out = spaces.Func("sums"), spaces.Func("out")
    sums[x, y, c] = 0.0
    sums[x, y, c] += image[x + r.x, y, c]
    out[x, y, c] = sums[x, y, c] + sums[x, y + 1, c]
    return spaces.pipeline(out, estimates={out: [2048, 1536, 3], image: [2056, 1540, 3]})


def after_output(
    model: CostModel = REUSE, device: spaces.Device = FOUR_CORES
) -> tuple[StageDecisions, list[OpenWay]]:
    """The ways to decide the sums after each way to decide the output."""
    task, ways = decisions(colored_sums(), model, device)
    part = task.part([ways[0].state], ["out"])
    states = [one.chosen for way in ways if (one := task.scored(part, way)) is not None]
    return task, [way for state in states for way in task.ways(state, ["out", "sums"])]


def priced_by(
    task: StageDecisions, ways: list[OpenWay], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[PricedWay | None], int]:
    """The prices of some ways one after the other, and how many of them were calculated."""
    asked: list[OpenWay] = []
    glanced = StageDecisions.glanced

    def counted(self, part, way):
        asked.append(way)
        return glanced(self, part, way)

    monkeypatch.setattr(StageDecisions, "glanced", counted)
    glances = Glances(task, task.part([ways[0].state], ways[0].decided))
    found = [glances(way) for way in ways]
    monkeypatch.setattr(StageDecisions, "glanced", glanced)
    return found, len(asked)


def test_loops_at_root_are_compared_after_one_state(monkeypatch: pytest.MonkeyPatch) -> None:
    task, ways = after_output()
    at_root = [way for way in ways if way.entry.compute.is_root and not way.entry.bounds]
    states = {id(way.state.before) for way in at_root}
    entries = {way.entry for way in at_root if way.free}
    found, calculated = priced_by(task, at_root, monkeypatch)
    assert len(states) > 3
    assert len(entries) > 3
    assert calculated <= len(states) + len(entries) + sum(not way.free for way in at_root)
    part = task.part([ways[0].state], ways[0].decided)
    for way, price in zip(at_root, found, strict=True):
        glance = task.glanced(part, way)
        assert price is not None
        assert glance is not None
        assert price.cost == pytest.approx(glance.cost, rel=1e-9)
        assert price.way.state.numbers == glance.way.state.numbers


def test_a_bound_that_is_required_anyway_waits_until_it_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task, ways = after_output()
    found, _ = priced_by(task, ways, monkeypatch)
    part = task.part([ways[0].state], ways[0].decided)
    bounded = [(way, one) for way, one in zip(ways, found, strict=True) if way.entry.bounds]
    waiting = [way for way, one in bounded if one is None]
    dearer = [way for way, one in bounded if one is not None]
    assert waiting
    assert dearer, "In a loop over channels a bound makes each iteration compute all of them."
    prices = {(id(way.state.before), way.entry): task.glanced(part, way) for way in ways}

    def cost(way: OpenWay, *, bounds: bool) -> float:
        entry = way.entry if bounds else evolve(way.entry, bounds=())
        price = prices[id(way.state.before), entry]
        assert price is not None
        return price.cost

    for way in waiting:
        assert cost(way, bounds=True) == pytest.approx(cost(way, bounds=False), rel=1e-9)
    for way in dearer:
        assert cost(way, bounds=True) > 1.01 * cost(way, bounds=False)


def test_a_bound_is_taken_where_the_way_without_it_is_illegal() -> None:
    """The unrolled loop over the channels of the output has no constant extent."""
    task, ways = decisions(colored_sums())
    part = task.part([ways[0].state], ["out"])
    glances = Glances(task, part)
    found = glances.with_bounds([one for way in ways if (one := glances(way)) is not None])
    (way, *_) = [one for one in found if one.otherwise is not None]
    assert way.otherwise is not None
    assert way.otherwise.entry.bounds
    assert not way.way.entry.bounds
    kept = _Kept(1, 1, lambda one: one.levels, 1)
    (state,) = kept.of(task, part, [way])
    assert state.partial.taken == way.otherwise.state.partial.taken
    assert kept.of(task, part, [evolve(way, otherwise=None)]) == []


def test_the_same_loops_at_root_get_all_numbers_after_the_cheapest_state_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task, ways = after_output()
    part = task.part([ways[0].state], ways[0].decided)
    at_root = [way for way in ways if way.entry.compute.is_root and way.usual.whole is not None]
    entry = at_root[0].entry
    alike = [one for way in at_root if way.entry == entry and (one := task.glanced(part, way))]
    asked: list[PricedWay] = []
    numbered = StageDecisions.with_all_numbers

    def recorded(self, part, glance):
        asked.append(glance)
        return numbered(self, part, glance)

    monkeypatch.setattr(StageDecisions, "with_all_numbers", recorded)
    (state,) = _Kept(1, 1, lambda one: one.levels, 4).of(task, part, alike)
    assert len(alike) > 3
    assert asked == [min(alike, key=lambda one: one.cost)]
    assert state.partial.taken == asked[0].way.state.partial.taken
    asked.clear()
    several = _Kept(4, 1, lambda one: id(one.way.state.before), 1).of(task, part, alike)
    assert len(asked) >= len(several) > 1, "Others may be kept, too."


def test_other_models_price_each_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not say that they add up the costs of nests."""
    task, ways = after_output(FunctionModel(REUSE.cost))
    _, calculated = priced_by(task, ways[:40], monkeypatch)
    assert calculated == 40


def test_on_gpus_nothing_is_told_by_other_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their ways have all numbers at once."""
    gpu = spaces.device("sm_80")
    task, ways = after_output(spaces.cost_model("occupancy", gpu), gpu)
    found, calculated = priced_by(task, ways[:80], monkeypatch)
    assert calculated == sum(one is not None for one in found) > 0
    assert all(one.way is way for way, one in zip(ways, found, strict=False) if one is not None)


def test_bounds_of_serial_loops_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops of constant extent may cost less; restricted spaces keep such bounds."""
    where = [parse_restriction("total_bytes >= 0")]
    medium = spaces.Options.medium(FOUR_CORES)
    space = spaces.ScheduleSpace(interleaved_colors(), FOUR_CORES, medium, where=where)
    pricer = Pricer.of(space.of_patterns, REUSE, Limits())
    task = StageDecisions(pricer, 4096, pricer.board.deadline)
    ways = list(task.ways(task.start(), ["out"]))
    found, _ = priced_by(task, ways, monkeypatch)
    serial = [one for way, one in zip(ways, found, strict=True) if bounds_a_serial_loop(way)]
    assert serial
    assert None not in serial


def bounds_a_serial_loop(way: OpenWay) -> bool:
    """Whether a serial loop runs along a bound of the Func decided last."""
    bounded = {bound.dimension for bound in way.entry.bounds}
    loops = (loop for order in way.entry.stages for loop in order.loops)
    return any(one.name in bounded and one.kind is spaces.LoopKind.SERIAL for one in loops)


def test_funcs_that_share_loops_are_priced_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Func at root has no nest of its own then."""
    options = evolve(spaces.Options.small(FOUR_CORES), directives=("compute_with",))
    space = spaces.ScheduleSpace(two_outputs(), FOUR_CORES, options)
    pricer = Pricer.of(space.of_patterns, REUSE, Limits())
    task = StageDecisions(pricer, 4096, pricer.board.deadline)
    part = task.part([task.start()], ["second"])
    first = [one for way in task.ways(task.start(), ["second"]) if (one := task.scored(part, way))]
    ways = [way for one in first for way in task.ways(one.chosen, ["second", "first"])]
    fused = [way for way in ways if any(e.companions for e in way.state.partial.state.entries)]
    assert fused
    _, calculated = priced_by(task, fused, monkeypatch)
    assert calculated == len(fused)
