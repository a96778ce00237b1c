"""Time limits of searches, counts, samples and completions, with a clock that tests move."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spaces.constraints.devices.device import Device, device
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.registry import cost_model
from spaces.enumerate.search.events import Done, Improved
from spaces.enumerate.search.first_schedules import UNIFORM_CHOICES, fill_schedule
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.papers.beam import Beam
from spaces.enumerate.search.search import best, search
from spaces.enumerate.search.structure_distance import strip_factors, structure_distance
from spaces.enumerate.space.completing.complete import complete
from spaces.enumerate.space.counting.estimate import CountEstimate
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.directives.directives import schedule
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import Schedule
from tests.clocks import Clock
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, chain, long_chain, row_sums, two_outputs
from tests.small_space import small_space

GPU = device("sm_80")
STRATEGIES = ("stagewise", "exhaustive", "beam")


def model_for(target: Device) -> str:
    return "reuse" if target is FOUR_CORES else "occupancy"


@pytest.mark.parametrize("target", [FOUR_CORES, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("make", [blur, row_sums, two_outputs])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_search_without_time_hands_over_a_legal_schedule(strategy, make, target) -> None:
    done = best(
        search(
            small_space(make(), target),
            model_for(target),
            strategy,
            Limits(seconds=0),
        )
    )
    assert not done.complete
    assert verify(make(), done.best[0].schedule, target)


@pytest.mark.parametrize("strategy", [*STRATEGIES, "best-first"])
def test_a_search_stops_soon_after_its_limit(strategy: str, clock: Clock) -> None:
    """Each look takes 10 ms: the search of 16 stages looks at the clock thousands of times."""
    space = small_space(long_chain(16), FOUR_CORES)
    _ = space.menus
    clock.step = 0.01
    done = best(search(space, "reuse", strategy, Limits(seconds=6.0)))
    assert clock.now < 6.5
    assert not done.complete
    assert verify(space.pipeline, done.best[0].schedule, FOUR_CORES)


@pytest.mark.parametrize("target", [FOUR_CORES, GPU], ids=["cpu", "gpu"])
@pytest.mark.parametrize("strategy", ["stagewise", "exhaustive"])
def test_the_first_event_of_a_search_is_a_legal_schedule(strategy: str, target: Device) -> None:
    space = small_space(blur(), target)
    first = next(iter(search(space, model_for(target), strategy)))
    assert isinstance(first, Improved)
    assert verify(space.pipeline, first.best.schedule, target)
    assert first.best.schedule in space


def test_without_time_to_price_it_a_schedule_has_an_infinite_cost(clock: Clock) -> None:
    space = small_space(blur(), FOUR_CORES)
    clock.step = 0.3
    done = best(search(space, "reuse", "stagewise", Limits(seconds=0.1)))
    assert [found.cost for found in done.best] == [np.inf]
    assert verify(space.pipeline, done.best[0].schedule, FOUR_CORES)


def test_the_first_schedules_have_blocks_of_threads_on_a_gpu() -> None:
    space = small_space(chain(), GPU)
    filling = fill_schedule(space.start(), {}, UNIFORM_CHOICES[0])
    for entry in filling.funcs:
        kinds = {loop.kind for loop in entry.stages[0].loops}
        assert {LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD} <= kinds


def test_the_first_schedules_keep_options_and_fixed_entries() -> None:
    inlined = ScheduleSpace(chain(), FOUR_CORES, Options(placements=("inline",)))
    for choice in UNIFORM_CHOICES:
        filling = fill_schedule(inlined.start(), {}, choice)
        assert filling.of("a").compute.is_inline
        assert filling in inlined
    other = fill_schedule(small_space(chain(), FOUR_CORES).start(), {}, UNIFORM_CHOICES[0])
    fixed = Schedule((other.of("b"),))
    filling = fill_schedule(
        small_space(chain(), FOUR_CORES, fixed=fixed).start(), {}, UNIFORM_CHOICES[1]
    )
    assert filling.of("b") == other.of("b")


def test_a_stagewise_search_completes_what_it_has_decided_when_its_time_ends(clock: Clock) -> None:
    """The last schedule costs less than the first ones, because half of its Funcs are searched."""
    space = small_space(long_chain(16), FOUR_CORES)
    clock.step = 0.001
    limit = 10.0
    improved = [
        event.best.cost
        for event in search(space, "reuse", "stagewise", Limits(seconds=limit))
        if isinstance(event, Improved)
    ]
    simple = [_price(space, choice) for choice in UNIFORM_CHOICES]
    assert improved[-1] < min(simple)


def _price(space: ScheduleSpace, choice) -> float:
    filling = fill_schedule(space.start(), {}, choice)
    model = cost_model("reuse", space.device)
    return float(model.cost(Batch.of(space.pipeline, filling)))


# Beams and the options of their space


def test_beams_keep_the_placements_and_the_storage_of_the_space() -> None:
    rooted = Options(placements=("root",), storage="compute")
    done = best(
        search(
            ScheduleSpace(chain(), FOUR_CORES, rooted),
            "reuse",
            Beam(depth=2, width=3),
            Limits(top=3),
        )
    )
    for found in done.best:
        assert all(entry.compute.is_root for entry in found.schedule.funcs)
    stored = Options(placements=("inline", "at"), storage="compute")
    done = best(search(ScheduleSpace(blur(), FOUR_CORES, stored), "reuse", Beam(depth=3, width=8)))
    entry = done.best[0].schedule.of("blur_x")
    assert not entry.compute.is_root
    assert entry.store == entry.compute


def test_beams_keep_fixed_entries() -> None:
    other = fill_schedule(small_space(chain(), FOUR_CORES).start(), {}, UNIFORM_CHOICES[0])
    fixed = Schedule((other.of("b"),))
    space = small_space(chain(), FOUR_CORES, fixed=fixed)
    done = best(search(space, "reuse", Beam(depth=2, width=5), Limits(top=3)))
    assert all(found.schedule.of("b") == other.of("b") for found in done.best)


# The best schedules differ


@pytest.mark.parametrize("strategy", ["stagewise", "exhaustive", Beam(depth=3, width=8)])
def test_the_best_schedules_differ_in_their_structure_or_more(strategy) -> None:
    options = Options(root=("strips", "tiles"), row_tiles=(64,), tiles=(8, 32), lanes=(1, 2))
    space = ScheduleSpace(blur(), FOUR_CORES, options)
    least = _least_apart(space, strategy, 1)
    assert least >= 1
    assert _least_apart(space, strategy, least + 1) > least


def _least_apart(space: ScheduleSpace, strategy, asked: int) -> int:
    """The least distance between two of the three best."""
    done = best(search(space, "reuse", strategy, Limits(top=3, apart=asked)))
    found = [strip_factors(f.schedule) for f in done.best]
    assert len(found) > 1
    return min(structure_distance(one, other) for one, other in itertools.combinations(found, 2))


def test_structures_differ_in_decisions_and_not_in_factors() -> None:
    pipe = blur()
    one = schedule(pipe).func("blur_x").compute_root().split("x", "x", "xi", 8).schedule
    wider = schedule(pipe).func("blur_x").compute_root().split("x", "x", "xi", 32).schedule
    fast = schedule(pipe).func("blur_x").compute_root().split("x", "x", "xi", 8).vectorize("xi")
    assert structure_distance(strip_factors(one), strip_factors(wider)) == 0
    assert structure_distance(strip_factors(one), strip_factors(fast.parallel("y").schedule)) == 2


# Counts, samples and completions


def test_a_count_ends_with_what_it_counted(clock: Clock) -> None:
    space = small_space(chain(), FOUR_CORES)
    clock.step = 0.001
    with pytest.raises(TimeoutError, match=r"in 0\.5 s: [1-9].* are legal so far; bounds\(\)"):
        space.count(seconds=0.5)
    assert clock.now < 0.6


def test_running_totals_end_with_the_count() -> None:
    options = Options(root=("strips",), row_tiles=(64,), tiles=(8, 32), lanes=(1,))
    space = ScheduleSpace(blur(), FOUR_CORES, options)
    totals = list(space.counting())
    assert [t.considered for t in totals] == sorted(t.considered for t in totals)
    assert totals[-1].considered == space.candidates
    assert totals[-1].legal == space.count() == len(list(space))


def test_estimates_and_samples_end_in_time(clock: Clock) -> None:
    space = small_space(blur(), FOUR_CORES)
    _ = space.candidates
    clock.step = 0.01
    estimate = space.estimate(10_000, seconds=5.0)
    assert 0 < estimate.samples < 10_000
    assert clock.now < 5.1
    with pytest.raises(TimeoutError, match="are legal, and sample was asked for 10000"):
        space.sample(10_000, seconds=5.0)
    assert clock.now < 10.3


def test_an_uncountable_space_is_not_estimated_without_end(clock: Clock) -> None:
    space = small_space(long_chain(16), FOUR_CORES)
    clock.step = 0.01
    with pytest.raises(TimeoutError, match="give estimate more seconds"):
        space.estimate(seconds=0.1)


def test_estimates_have_a_width_if_every_draw_is_legal() -> None:
    """Wilson's interval of 20 of 20: from n / (n + z^2) of the candidates to all of them."""
    estimate = CountEstimate(candidates=10_000, samples=20, legal=20)
    assert estimate.mean == estimate.high == 10_000
    assert estimate.low == pytest.approx(10_000 * 20 / (20 + 1.96**2), rel=1e-4)
    assert CountEstimate(1000, 20, 0).high == pytest.approx(
        1000 * 1.96**2 / (20 + 1.96**2), rel=1e-4
    )
    assert str(estimate).startswith("about 10,000 (8,389 to 10,000 with 95 % confidence, 20 sam")


def test_completions_end_in_time(clock: Clock) -> None:
    clock.step = 0.001
    completions = complete(chain(), Schedule(()), FOUR_CORES, seconds=1.0)
    found = list(completions)
    assert completions.end == "unknown"
    assert found
    assert clock.now < 1.1


def test_a_structure_in_parts_has_the_same_choices_in_the_same_order() -> None:
    space = small_space(chain(), FOUR_CORES)
    structure = next(s for s in space.structures() if s.size > 100)
    parts = list(structure.parts(24))
    assert all(part.size <= 24 for part in parts)
    whole = [structure.at(i) for i in range(structure.size)]
    assert [part.at(i) for part in parts for i in range(part.size)] == whole


def test_a_choice_costs_the_same_in_each_part() -> None:
    space, model = small_space(chain(), FOUR_CORES), cost_model("reuse", FOUR_CORES)
    structures = (s for s in space.structures() if s.size == 800)
    for structure in itertools.islice(structures, 3):
        batch = Batch.of(space.pipeline, structure.schedule, structure.columns)
        whole = model.cost(batch).ravel()
        parts = [batch.at(part.all_columns) for part in structure.parts(24)]
        costs = [model.cost(part).ravel() for part in parts]
        assert list(np.concatenate(costs)) == list(whole)


def test_nothing_simple_is_legal_and_the_sentence_says_so(clock: Clock) -> None:
    clock.step = 0.5  # the time to look for a first schedule is over after some draws
    too_long = schedule(blur()).split("x", "x", "xi", 100_000).schedule.of("blur_y")
    few = Options(root=("strips",), row_tiles=(32,), tiles=(8,), lanes=(1,))
    space = ScheduleSpace(blur(), FOUR_CORES, few, fixed=Schedule((too_long,)))
    with pytest.raises(
        EmptySpaceError, match=r"No simple .* search found no legal schedule of blur_y"
    ):
        best(search(space, "reuse", "stagewise"))


def test_the_last_event_counts_the_funnel() -> None:
    *_, scored, done = search(small_space(blur(), FOUR_CORES), "reuse", "stagewise")
    assert isinstance(done, Done)
    assert scored.considered >= scored.legal > 0
