"""Search strategies: their streams of events, and their results."""

from __future__ import annotations

from importlib.util import find_spec

import attrs
import numpy as np
import pytest

from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch, BatchError
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.registry import cost_model
from spaces.cost.simple.weighted import Weighted
from spaces.enumerate.search.events import Done, Expanded, Improved, Scored
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.neighbours.annealing import Annealing
from spaces.enumerate.search.neighbours.bandit import Bandit
from spaces.enumerate.search.neighbours.genetic.strategy import Genetic
from spaces.enumerate.search.neighbours.latin_hypercube import LatinHypercube
from spaces.enumerate.search.neighbours.optuna_search import OptunaSearch
from spaces.enumerate.search.neighbours.random_draws import RandomDraws
from spaces.enumerate.search.papers.beam import Beam
from spaces.enumerate.search.papers.reuse_analysis.strategy import ReuseAnalysis
from spaces.enumerate.search.registry import UnknownStrategyError, register_strategy, strategy_names
from spaces.enumerate.search.search import best, search
from spaces.enumerate.search.stagewise.dominance import is_read_in_lanes, is_read_once
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.functions import cos, sin, sqrt
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import Schedule
from tests.clocks import Clock
from tests.cpus import FOUR_CORES
from tests.draw_counts import some
from tests.enumerate.pipelines import (
    X,
    Y,
    blur,
    chain,
    equalized,
    interleaved_colors,
    line,
    row_sums,
    two_outputs,
)
from tests.small_space import small_space

FEW = Options(
    root=("strips", "tiles"),
    inner=("serial", "vectors"),
    storage="compute",
    row_tiles=(64,),
    tiles=(8, 32),
    lanes=(1,),
)
REGISTERED = strategy_names()
"""The strategies of the library, before any test registers one."""

STRATEGIES = {
    "annealing": Annealing(steps=25),
    "bandit": Bandit(slices=8),
    "best-first": "best-first",
    "exhaustive": "exhaustive",
    "freezing": "freezing",
    "frozen-sampling": "frozen-sampling",
    "grouping": "grouping",
    "sampling": "sampling",
    "genetic": Genetic(population=10, generations=2),
    "improving": "improving",
    "latin-hypercube": LatinHypercube(rounds=1, size=16),
    "optuna": OptunaSearch(trials=12, startup=3),
    "random": RandomDraws(draws=16),
    "stagewise": "stagewise",
    "reuse-analysis": ReuseAnalysis(),
    "beam": Beam(depth=2, width=3, factors=(8, 32)),
}


NEEDS_OPTUNA = pytest.mark.skipif(find_spec("optuna") is None, reason="Optuna is not installed")


def cases(strategies):
    """The strategies as parameters of tests."""
    return [
        pytest.param(one, id=name, marks=[NEEDS_OPTUNA] if name == "optuna" else [])
        for name, one in strategies.items()
    ]


@pytest.fixture(params=some(cases(STRATEGIES)))
def strategy(request: pytest.FixtureRequest):
    return request.param


@pytest.fixture
def space() -> ScheduleSpace:
    return ScheduleSpace(blur(), FOUR_CORES, FEW)


def test_streams(space: ScheduleSpace, strategy) -> None:
    """Counts grow, every improvement lowers the cost, and the last event repeats the totals."""
    events = list(search(space, "reuse", strategy, Limits(top=3)))
    *running, done = events
    assert isinstance(done, Done)
    assert not any(isinstance(e, Done) for e in running)
    assert next(e.step for e in running if isinstance(e, Expanded)) == 1
    counts = [(e.structures, e.choices) for e in running if isinstance(e, Scored)]
    assert counts == sorted(counts)
    assert counts[-1] == (done.structures, done.choices)
    improvements = [e.best.cost for e in running if isinstance(e, Improved)]
    assert improvements == sorted(improvements, reverse=True)
    assert len(set(improvements)) == len(improvements)
    assert done.complete
    assert done.best[0].cost == improvements[-1]
    costs = [found.cost for found in done.best]
    assert costs == sorted(costs)


def test_what_is_found_is_legal_and_costs_what_is_said(space: ScheduleSpace, strategy) -> None:
    model = Reuse(FOUR_CORES)
    done = best(search(space, model, strategy, Limits(top=3)))
    assert len(done.best) == 3
    for found in done.best:
        assert verify(space.pipeline, found.schedule, FOUR_CORES)
        cost = float(model.cost(Batch.of(space.pipeline, found.schedule)))
        assert cost == pytest.approx(found.cost)


def test_the_same_search_tells_the_same(space: ScheduleSpace, strategy) -> None:
    first, second = (list(search(space, "weighted", strategy)) for _ in range(2))
    assert first == second


SEARCHING = {name: one for name, one in STRATEGIES.items() if name != "reuse-analysis"}
"""Those that score many structures; an analysis scores hardly any."""


@pytest.mark.parametrize("strategy", some(cases(SEARCHING)))
def test_limits_of_structures_end_a_search(space: ScheduleSpace, strategy) -> None:
    """No clock decides, so the result is always the same. A function has no lower bounds, by which
    exact searches would end sooner.
    """
    limits = Limits(top=2, structures=5)
    unbounded = cost_model("reuse", space.device).cost
    first, second = (best(search(space, unbounded, strategy, limits)) for _ in range(2))
    assert first == second
    assert first.structures == 5
    assert not first.complete
    with pytest.raises(ValueError, match="structures is 0"):
        Limits(structures=0)


def test_a_user_s_function_decides(space: ScheduleSpace) -> None:
    """Minus the allocated bytes: the schedule that keeps the most bytes wins."""

    def spendthrift(batch: Batch):
        return 1e9 - batch.features.func("blur_x").allocation_bytes * 1.0 if _keeps(batch) else 2e9

    def _keeps(batch: Batch) -> bool:
        return any(func.name == "blur_x" for func in batch.features.funcs)

    done = best(search(space, spendthrift, "exhaustive"))
    assert done.best[0].schedule.of("blur_x").compute.is_root


@pytest.mark.parametrize("strategy", ["exhaustive", "stagewise"])
def test_what_is_illegal_is_not_found_however_cheap(strategy: str) -> None:
    """Tiles of 8 are shorter than a vector, and there are most of them."""

    def few_tiles_are_dear(batch: Batch):
        return 1e6 / batch.features.func("blur_y").stages[0].loops[1].runs

    options = Options(root=("tiles",), placements=("inline",), row_tiles=(8, 64), tiles=(8,))
    small = ScheduleSpace(blur(), FOUR_CORES, attrs.evolve(options, lanes=(1,)))
    done = best(search(small, few_tiles_are_dear, strategy))
    (order,) = done.best[0].schedule.of("blur_y").stages
    assert order.splits[0].factor == 64


def test_beams_keep_what_is_legal() -> None:
    """A line of 4096 is not split by 8192, though that makes the fewest tiles."""

    def tiles_are_dear(batch: Batch):
        return batch.features.func("f").stages[0].loops[0].runs * 1.0

    done = best(
        search(
            small_space(line(), FOUR_CORES),
            tiles_are_dear,
            Beam(depth=1, factors=(512, 8192)),
        )
    )
    (order,) = done.best[0].schedule.of("f").stages
    assert order.splits[0].factor == 512


def test_exhaustive_search_finds_the_minimum(space: ScheduleSpace) -> None:
    model = Reuse(FOUR_CORES)
    costs = {s: float(model.cost(Batch.of(space.pipeline, s))) for s in space}
    done = best(search(space, model.cost, "exhaustive"))  # a function has no lower bound
    assert done.best[0].cost == pytest.approx(min(costs.values()))
    assert costs[done.best[0].schedule] == pytest.approx(min(costs.values()))
    assert done.choices >= len(costs)


@pytest.mark.parametrize(
    ("model", "limits"),
    [
        (Weighted(), Limits(top=3, apart=3)),
        (Reuse(FOUR_CORES), Limits()),
        (Reuse(FOUR_CORES), Limits(top=4)),
    ],
    ids=["weighted, apart", "reuse", "reuse, four"],
)
def test_pruning_changes_no_result(space: ScheduleSpace, model, limits: Limits) -> None:
    *events, pruned = search(space, model, "exhaustive", limits)
    *_, whole = search(space, model.cost, "exhaustive", limits)
    assert pruned.best == whole.best
    assert pruned.structures < whole.structures
    left_out = [event.pruned for event in events if isinstance(event, Scored)]
    assert left_out == sorted(left_out)
    assert left_out[-1] > 0


@pytest.mark.parametrize("make", [blur, chain], ids=["blur", "chain"])
def test_stage_by_stage_finds_the_minimum_of_small_spaces(make) -> None:
    options = attrs.evolve(FEW, inner=("vectors",), root=("strips",), storage="outside")
    if make is chain:
        options = attrs.evolve(options, tiles=(8,))
    small = ScheduleSpace(make(), FOUR_CORES, options)
    everything = best(search(small, "reuse", "exhaustive"))
    stages = best(search(small, "reuse", "stagewise"))
    assert stages.best[0].cost <= everything.best[0].cost * 1.01


def test_stage_by_stage_decides_further_directives() -> None:
    """This model wants bounds of each Func, which no pattern has."""

    def without_bounds(batch: Batch) -> np.ndarray:
        return np.array(3.0 - sum(bool(entry.bounds) for entry in batch.schedule.funcs))

    options = attrs.evolve(FEW, placements=("root",), directives=("align_bounds", "in_"))
    done = best(search(ScheduleSpace(blur(), FOUR_CORES, options), without_bounds, "stagewise"))
    assert done.best[0].cost == 1.0
    assert all(entry.bounds for entry in done.best[0].schedule.funcs)


def test_stage_by_stage_finds_what_people_write() -> None:
    """Strips or tiles in parallel, vectors along rows, and a window that slides line by line."""
    done = best(
        search(
            small_space(blur(2048, 2048), FOUR_CORES),
            "reuse",
            "stagewise",
        )
    )
    found = done.best[0].schedule
    kinds = {loop.kind for loop in found.of("blur_y").stages[0].loops}
    assert {LoopKind.PARALLEL, LoopKind.VECTORIZED} <= kinds
    blur_x = found.of("blur_x")
    assert str(blur_x.compute) == "blur_y.yi"
    assert blur_x.store != blur_x.compute
    default = Reuse(FOUR_CORES).cost(Batch.of(blur(2048, 2048), Schedule.default(blur(2048, 2048))))
    assert done.best[0].cost * 4 < float(default)


def test_stage_by_stage_on_a_gpu() -> None:
    gpu = device("sm_75")
    done = best(
        search(
            small_space(blur(2048, 2048), gpu),
            "occupancy",
            "stagewise",
            Limits(top=2),
        )
    )
    for found in done.best:
        verdict = verify(blur(2048, 2048), found.schedule, gpu)
        assert verdict
        assert verdict.kernels


def test_updates_are_searched_too() -> None:
    done = best(search(small_space(row_sums(), FOUR_CORES), "reuse", "stagewise"))
    assert not done.best[0].schedule.of("sums").compute.is_inline


@pytest.mark.parametrize("name", ["cpu", "sm_80"])
@pytest.mark.parametrize("make", [two_outputs, equalized, interleaved_colors, line])
def test_pipelines_of_all_shapes(make, name: str) -> None:
    """Several outputs, scatters and scans, short rows, one dimension."""
    target = FOUR_CORES if name == "cpu" else device(name)
    space = small_space(make(), target)
    model = "reuse" if name == "cpu" else "occupancy"
    (found,) = best(search(space, model, "stagewise")).best
    assert verify(space.pipeline, found.schedule, target)
    assert all(verify(space.pipeline, s, target) for s in space.sample(2))
    assert found.schedule in space


def _trig():
    g, f = Func("g"), Func("f")
    g[X, Y] = sqrt(cos(X) + sin(Y))
    f[X, Y] = g[X + 1, Y] + g[X, Y] + g[X + 1, Y + 1] + g[X, Y + 1]
    return pipeline(f, estimates={f: [2048, 2048]})


def test_beam_of_one_move_makes_the_best_move() -> None:
    """Benchmark 1 of [TOY]: computing g apart saves three quarters of its roots.

    By hand: default 9 sums and 8 functions a point. g at root, 2049 x 2049: 2 functions more than
    one (cos and sin are of one coordinate each), 3 each.
    """
    pipe = _trig()
    done = best(search(small_space(pipe, FOUR_CORES), "weighted", Beam(depth=1)))
    apart = schedule(pipe).func("g").compute_root().schedule
    assert done.best[0].schedule == apart
    n, halo = 2048 * 2048, 2049 * 2049
    expected = 0.1 * 4 * halo + 0.5 * 4 * n + 0.5 * halo + (halo + 3 * n) + 10.0 * 3 * halo
    assert done.best[0].cost == pytest.approx(expected)


def test_beam_goes_on_from_there() -> None:
    """The second move stores g in a window of lines: less memory, all else the same."""
    pipe = _trig()
    done = best(
        search(
            small_space(pipe, FOUR_CORES),
            "weighted",
            Beam(depth=2, width=20),
        )
    )
    g = done.best[0].schedule.of("g")
    assert str(g.compute) in ("f.x", "f.y")  # they cost the same
    assert g.store.is_root


def test_beam_scores_all_factors_of_a_split_at_once() -> None:
    """One dimension: a split is one structure whatever the menu."""
    done = best(
        search(
            small_space(line(), FOUR_CORES),
            "reuse",
            Beam(depth=1, factors=(2, 4, 8, 16)),
        )
    )
    # The default, the split, and the kinds of the loop that need no constant extent: parallel.
    assert done.structures == 3
    assert done.choices == 1 + 4 + 1


def test_beam_uses_threads_and_lanes() -> None:
    beam = Beam(depth=4, width=12, factors=(8, 65536))
    done = best(search(small_space(line(1 << 20), FOUR_CORES), "reuse", beam))
    kinds = {loop.kind for loop in done.best[0].schedule.of("f").stages[0].loops}
    assert kinds >= {LoopKind.PARALLEL, LoopKind.VECTORIZED}


def test_nothing_legal_is_said(clock: Clock) -> None:
    clock.step = 0.5  # the time to look for a first schedule is over after some draws
    too_long = schedule(blur()).split("x", "x", "xi", 100_000).schedule.of("blur_y")
    few = Options(root=("strips",), row_tiles=(32,), tiles=(8,), lanes=(1,))
    small = ScheduleSpace(blur(), FOUR_CORES, few, fixed=Schedule((too_long,)))
    with pytest.raises(EmptySpaceError, match="found no legal schedule of blur_y for cpu"):
        best(search(small, "reuse", "exhaustive"))


def test_names_of_strategies(space: ScheduleSpace) -> None:
    assert set(REGISTERED) == set(STRATEGIES), "STRATEGIES above lacks a registered strategy"
    with pytest.raises(UnknownStrategyError, match="No search strategy is called 'luck'; there"):
        search(space, "reuse", "luck")
    register_strategy("two steps", Beam(depth=2, width=2, factors=(8,)))
    assert best(search(space, Weighted(), "two steps")).best


def test_what_is_read_once_needs_no_storage() -> None:
    x, y, c = Var("x"), Var("y"), Var("c")
    point, wide, out = Func("point"), Func("wide"), Func("out")
    point[x, y] = x + y
    wide[x, y] = x * y
    out[x, y, c] = point[x, y] + wide[x, y] + wide[x + 1, y] + c
    three = pipeline(out)
    assert not is_read_once(three, Schedule.default(three), "wide")
    assert not is_read_once(three, Schedule.default(three), "point")  # once for each c
    flat = Func("flat")
    flat[x, y] = point[x, y] + wide[x, y] + wide[x + 1, y]
    two = pipeline(flat)
    computed = schedule(two).func("point").compute_root().func("wide").compute_root().schedule
    assert is_read_once(two, computed, "point")
    assert not is_read_once(two, computed, "wide")


def test_what_is_read_in_order_may_be_computed_in_lanes_first() -> None:
    """A reader without vectorized loops computes an inlined Func value by value."""
    x, y = Var("x"), Var("y")
    point, out = Func("point"), Func("out")
    point[x, y] = x + y
    out[x, y] = point[x, y] * 2
    pipe = pipeline(out)
    computed = schedule(pipe).func("point").compute_root()
    assert not is_read_in_lanes(pipe, computed.schedule, "point")
    assert is_read_in_lanes(pipe, computed.func("out").vectorize("x", 8).schedule, "point")


class Operations:
    """A user's cost model: an object whose cost is a plain number."""

    def cost(self, batch):
        return sum(s.points * s.work.operations.arithmetic for s in batch.features.stages) + 0.0


@pytest.mark.parametrize("strategy", cases(STRATEGIES))
def test_a_cost_model_may_give_one_number_for_all_choices(strategy):
    """No tile size changes how much of a single stage is computed."""
    space = ScheduleSpace(line(4096), FOUR_CORES, FEW)
    done = best(search(space, Operations(), strategy))
    assert verify(space.pipeline, done.best[0].schedule, FOUR_CORES)
    assert done.best[0].cost == best(search(space, lambda b: Operations().cost(b))).best[0].cost


def test_what_has_no_number_is_never_found():
    space = ScheduleSpace(blur(2048, 2048), FOUR_CORES, FEW)
    with pytest.raises(BatchError, match="takes one number a choice"):
        best(search(space, lambda batch: None))
    with pytest.raises(EmptySpaceError, match=r"cost model gives no finite cost to any of"):
        best(search(space, lambda batch: float("nan")))

    def tiles_alone(batch):
        return 7.0 if batch.columns else np.nan

    done = best(search(space, tiles_alone, "exhaustive", Limits(top=3)))
    assert [f.cost for f in done.best] == [7.0] * 3


def test_a_search_checks_its_arguments():
    space = ScheduleSpace(line(4096), FOUR_CORES, FEW)
    with pytest.raises(TypeError, match=r"as in Limits\(top=3"):
        search(space, "reuse", limits={"top": 3})
    with pytest.raises(TypeError, match="takes a ScheduleSpace, not a Pipeline"):
        search(space.pipeline, "reuse")
    with pytest.raises(ValueError, match=r"Limits\.top is 0"):
        Limits(top=0)
    with pytest.raises(ValueError, match=r"Limits\.seconds is '5'"):
        Limits(seconds="5")
    with pytest.raises(ValueError, match="not -2"):
        space.sample(-2)


def test_a_result_knows_how_the_search_came_to_it() -> None:
    found = best(search(ScheduleSpace(blur(), FOUR_CORES, FEW)))
    steps = found.improvements
    assert [one.cost for one in steps] == sorted({one.cost for one in steps}, reverse=True)
    assert steps[-1].cost == found.best[0].cost
    seconds = [one.seconds for one in steps]
    assert seconds == sorted(seconds)
    assert 0 < seconds[-1] <= found.seconds
    assert len(found.best) <= found.structures <= found.considered
    assert f"{found.considered:,} looked at" in found._repr_html_()
