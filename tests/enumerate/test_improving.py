"""The default search: a quick one, and changes within a time limit."""

from __future__ import annotations

import random

import pytest

import spaces
from spaces import Done, Improving, Limits, Options, ScheduleSpace
from spaces.cost.batch import Batch
from spaces.enumerate.search.improving import weigh_funcs
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.quick_search import QuickSearch
from spaces.enumerate.search.shares import share_cost
from spaces.enumerate.space.edits import DecidedSchedule
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int32, UInt8
from spaces.model.writing.text import format_schedule
from tests.clocks import Clock
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, line, row_sums

AMPLE = Limits(seconds=1e6)
"""Time until no change is cheaper."""

FEW = Options(
    root=("strips", "tiles"), inner=("vectors",), storage="compute", row_tiles=(64,), tiles=(8, 32)
)


def found(space: ScheduleSpace, limits: Limits | None = None) -> Done:
    return spaces.best(spaces.search(space, limits=limits))


def test_one_search_is_the_default_whatever_the_space() -> None:
    assert spaces.default_strategy() == "improving"
    expert, small = (
        ScheduleSpace(blur(), FOUR_CORES, one) for one in (Options.expert(FOUR_CORES), FEW)
    )
    for space in (expert, small):
        assert found(space) == spaces.best(spaces.search(space, None, "improving"))


@pytest.mark.parametrize("limits", [Limits(), Limits(top=3), Limits(structures=5)])
def test_without_a_time_limit_it_is_the_quick_search(limits: Limits) -> None:
    space = ScheduleSpace(blur(), FOUR_CORES)
    done = found(space, limits)
    assert done == spaces.best(spaces.search(space, None, "stagewise", limits))
    assert done.ending == ("cut" if limits.structures else "finished")


@pytest.mark.parametrize("make", [blur, row_sums, line])
def test_time_only_makes_it_cheaper_until_no_change_does(make) -> None:
    space = ScheduleSpace(make(), FOUR_CORES, FEW)
    events = list(spaces.search(space, limits=AMPLE))
    done = events[-1]
    assert done.ending == "no tried change is cheaper"
    assert done.best[0].cost <= found(space).best[0].cost
    costs = [event.best.cost for event in events if isinstance(event, spaces.Improved)]
    assert costs == sorted(costs, reverse=True)
    assert events == list(spaces.search(space, limits=AMPLE)), "A seed gives one stream of events."


def test_it_finds_what_the_quick_search_leaves_out() -> None:
    """By more than the models can tell apart."""
    space = ScheduleSpace(blur(), FOUR_CORES)
    quick = found(space).best[0].cost
    events = (one for one in spaces.search(space, limits=AMPLE) if isinstance(one, spaces.Improved))
    improved = next(event.best for event in events if event.best.cost < 0.99 * quick)
    assert improved.schedule in space


@pytest.mark.parametrize("is_whole_image", [False, True])
def test_a_histogram_of_a_large_image_keeps_its_two_loops(is_whole_image: bool) -> None:
    """A fused loop divides for each pixel: with sizes that compilers know it takes 1.8 times as
    long as the nest, and with the extents of an image 5 times (Zen 4).
    """
    image, bins = ImageParam(UInt8, 2, "image"), Func("bins")
    sizes = (image.width(), image.height()) if is_whole_image else (2048, 2048)
    w = RDom([(0, extent) for extent in sizes], "w")
    bins[Var("x")] = 0
    bins[cast(Int32, image[w.x, w.y])] += 1
    algorithm = pipeline(bins, estimates={bins: [256], image: [2048, 2048]})
    space = ScheduleSpace(algorithm, FOUR_CORES)
    written = format_schedule(found(space, AMPLE).best[0].schedule, algorithm)
    assert "fuse" not in written
    assert "atomic" not in written


def test_no_change_of_one_decision_makes_its_result_cheaper() -> None:
    space = ScheduleSpace(row_sums(), FOUR_CORES, FEW)
    model = spaces.cost_model("reuse", FOUR_CORES)
    (best,) = found(space, AMPLE).best
    decided = DecidedSchedule.of(space, best.schedule)
    for number, partial in enumerate(decided.way[:-1]):
        for option in partial.options:
            schedule = decided.edit(number, option).after
            if space.verdict(schedule):
                cost = float(model.cost(Batch.of(space.pipeline, schedule)))
                assert cost >= best.cost * (1 - 1e-9), option.label


def test_edits_change_each_decision_to_each_option() -> None:
    space = ScheduleSpace(blur(), FOUR_CORES, FEW)
    schedule = found(space).best[0].schedule
    decided = DecidedSchedule.of(space, schedule)
    structural = [one for one in decided.way[:-1] if not one.state.has_structure]
    with_numbers = [
        name
        for name in ("blur_x", "blur_y")
        if any(one.startswith(f"{name}_") for one in decided.way[-1].state.numbers)
    ]
    edits = list(decided.shuffle_edits(random.Random(0)))
    assert len(edits) == sum(len(one.options) - 1 for one in structural) + len(with_numbers)
    pricer = Pricer.of(space, spaces.cost_model("reuse", FOUR_CORES), Limits())
    best = [pricer.find_cheapest(edit.open_numbers(random.Random(0), 8)) for edit in edits]
    assert all(one is None or one.schedule in space for one in best)


def test_edits_of_a_func_with_a_large_share_come_first() -> None:
    space = ScheduleSpace(blur(), FOUR_CORES, FEW)
    decided = DecidedSchedule.of(space, found(space).best[0].schedule)
    shares = {"blur_x": 1e-9, "blur_y": 1.0}
    for seed in range(5):
        edits = list(decided.shuffle_edits(random.Random(seed), shares))
        alike = list(decided.shuffle_edits(random.Random(seed)))
        assert len(edits) == len(alike)
        others = [one.way for one in alike]
        assert all(any(edit.way == way for way in others) for edit in edits)
        named = [one.way[-1].state.entries for one in edits]
        own = decided.way[-1].state.entries
        differs = [[a.name for a, b in zip(n, own, strict=True) if a != b] for n in named]
        about_y = [number for number, one in enumerate(differs) if one == ["blur_y"]]
        about_x = [number for number, one in enumerate(differs) if one == ["blur_x"]]
        assert max(about_y) < min(about_x)


def test_funcs_weigh_as_much_as_they_cost_on_a_gpu_and_alike_on_a_cpu() -> None:
    """Half of the cost is the kernel of blur_y, whose Funcs share it."""
    gpu = spaces.device("sm_90")
    space, model = ScheduleSpace(blur(), gpu), spaces.cost_model("occupancy", gpu)
    apart = spaces.parse_schedule(
        "blur_y.gpu_tile(x, y, xi, yi, 32, 8)\nblur_x.compute_root().gpu_tile(x, y, xi, yi, 32, 8)",
        space.pipeline,
    )
    shares = share_cost(Pricer.of(space, model, Limits()), apart)
    assert shares.keys() == {"blur_x", "blur_y"}
    assert sum(shares.values()) == pytest.approx(1.0)
    inlined = spaces.parse_schedule("blur_y.gpu_tile(x, y, xi, yi, 32, 8)", space.pipeline)
    assert share_cost(Pricer.of(space, model, Limits()), inlined) == {
        "blur_x": 1.0,
        "blur_y": 1.0,
    }
    cpu = ScheduleSpace(blur(), FOUR_CORES)
    default = spaces.schedule(cpu.pipeline).schedule
    reuse = Pricer.of(cpu, spaces.cost_model("reuse", FOUR_CORES), Limits())
    assert weigh_funcs(reuse, default) == {}
    on_gpu = Pricer.of(space, model, Limits())
    assert weigh_funcs(on_gpu, apart) == shares


def test_it_stops_soon_after_its_limit_and_says_so(clock: Clock) -> None:
    space = ScheduleSpace(blur(), FOUR_CORES)
    clock.step = 0.001
    quick = found(space)
    for event in spaces.search(space, limits=AMPLE):
        if isinstance(event, spaces.Expanded) and event.what == "improvement":
            break
    used = clock.now
    done = found(space, Limits(seconds=2 * used))
    assert 2 * used <= clock.now - used < 2 * used + 0.5
    assert (done.ending, done.complete) == ("cut", False)
    assert done.best[0].cost <= quick.best[0].cost


def test_restrictions_of_loops_that_patterns_lack_leave_the_changes() -> None:
    """There is no quick search: the changes begin with a random schedule."""
    algorithm = line()
    cpu = FOUR_CORES
    where = [spaces.parse_restriction("factor(f, xoi) >= 2")]
    space = ScheduleSpace(algorithm, cpu, where=where)
    assert not space.has_patterns
    done = found(space)
    assert done.ending == "no tried change is cheaper"
    assert done.best[0].schedule in space


def test_a_schedule_outside_the_space_is_handed_over_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = ScheduleSpace(blur(), FOUR_CORES, FEW)
    plain = spaces.Schedule.default(space.pipeline)
    assert plain not in space

    def search_in_share(self, pricer, share=1.0):
        yield from pricer.board.offer(spaces.Found(0.5, plain))
        return True

    monkeypatch.setattr(QuickSearch, "search_in_share", search_in_share)
    done = spaces.best(spaces.search(space, lambda batch: batch.full(1.0), Improving(), AMPLE))
    assert done.best == (spaces.Found(0.5, plain),)
    assert done.seconds > 0
