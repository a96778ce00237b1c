"""Tests of spaces whose schedules are legal at several sizes."""

from __future__ import annotations

import pickle

import pytest
from attrs import evolve

import spaces
from spaces import Device, Limits, Options, Schedule, ScheduleSpace, schedule, verify
from spaces.constraints.solver.encode import encode, models
from spaces.enumerate.search.stagewise.state import OpenWay
from spaces.enumerate.search.stagewise.way_prices import WayPrices
from spaces.model.algorithm.pipeline import Estimate, Pipeline
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, row_sums, two_outputs

CPU, GPU = FOUR_CORES, spaces.device("sm_80")
BLUR = blur()
SMALLER = {"blur_y": [100, 20]}
SMALL = {
    CPU: Options(row_tiles=(64, 128), tiles=(8, 32), lanes=(1,), storage="compute"),
    GPU: Options(
        root=("blocks",), inner=("threads",), storage="compute", row_tiles=(16, 128), tiles=(1, 32)
    ),
}

TILES = Options(
    root=("tiles",), row_tiles=(32, 64), tiles=(16, 32), lanes=(1,), placements=("root",)
)


def at_smaller(pipeline: Pipeline) -> Pipeline:
    """The blur at the smaller size, whose image has an unknown size."""
    return evolve(pipeline, estimates=(Estimate("blur_y", ((0, 100), (0, 20))),))


def is_legal_at_both(schedule: Schedule, device: Device) -> bool:
    return all(verify(one, schedule, device) for one in (BLUR, at_smaller(BLUR)))


@pytest.mark.parametrize("device", [CPU, GPU], ids=lambda device: device.name)
def test_every_schedule_is_legal_at_each_size_and_none_is_missing(device: Device) -> None:
    whole = ScheduleSpace(BLUR, device, SMALL[device])
    wanted = [one for one in whole if is_legal_at_both(one, device)]
    space = ScheduleSpace(BLUR, device, SMALL[device], sizes=[SMALLER])
    found = list(space)
    assert 0 < len(wanted) < whole.count()
    assert all(is_legal_at_both(one, device) for one in found)
    assert set(wanted) <= set(found)  # a smaller size may bring loops that fit it
    assert space.count() == len(found)
    assert space[len(found) - 1] == found[-1]
    assert space.rank(found[-1]) == len(found) - 1
    lost = next(one for one in whole if one not in wanted)
    assert lost in whole
    assert lost not in space
    assert "(At the further size blur_y = 100 x 20.)" in str(space.verdict(lost))
    with pytest.raises(ValueError, match="At the further size blur_y = 100 x 20"):
        space.rank(lost)
    assert all(is_legal_at_both(one, device) for one in space.sample(5))


ELSEWHERE = {
    "an update": (row_sums(64, 32), FOUR_CORES, {"out": [64, 16]}, SMALL[CPU]),
    "shared memory": (blur(64, 32), GPU, {"blur_y": [40, 12]}, SMALL[GPU]),
    "two outputs": (two_outputs(64), FOUR_CORES, {"first": [40, 64], "second": [64, 64]}, TILES),
}


@pytest.mark.parametrize("case", ELSEWHERE.values(), ids=ELSEWHERE)
def test_several_sizes_against_brute_force(
    case: tuple[Pipeline, Device, dict[str, list[int]], Options],
) -> None:
    pipeline, device, size, options = case
    whole = list(ScheduleSpace(pipeline, device, options))
    ranges = {name: tuple((0, extent) for extent in extents) for name, extents in size.items()}
    smaller = evolve(pipeline, estimates=tuple(Estimate(*one) for one in ranges.items()))
    wanted = [schedule for schedule in whole if verify(smaller, schedule, device)]
    space = ScheduleSpace(pipeline, device, options, sizes=[size])
    found = list(space)
    assert 0 < len(wanted) < len(whole)
    assert set(wanted) <= set(found)
    assert all(verify(one, schedule, device) for schedule in found for one in (pipeline, smaller))
    assert space.count() == len(found)


def test_completions_are_legal_at_each_size() -> None:
    partial = spaces.parse_partial("blur_x.compute_root()", BLUR)
    every = list(spaces.complete(BLUR, partial, CPU, options=SMALL[CPU]))
    found = list(spaces.complete(BLUR, partial, CPU, options=SMALL[CPU], sizes=[SMALLER]))
    assert found == [one for one in every if is_legal_at_both(one, CPU)]
    assert 0 < len(found) < len(every)


def test_partial_schedules_end_where_a_further_size_breaks_a_rule() -> None:
    whole = ScheduleSpace(BLUR, CPU, SMALL[CPU])
    space = ScheduleSpace(BLUR, CPU, SMALL[CPU], sizes=[SMALLER])
    lost = next(one for one in whole if one not in space)
    assert whole.way_to(lost)[-1].can_be_legal
    assert not space.way_to(lost)[-1].can_be_legal


def test_the_solver_lists_the_schedules_that_are_legal_at_all_sizes() -> None:
    space = ScheduleSpace(BLUR, CPU, SMALL[CPU], sizes=[SMALLER])
    everything = spaces.universe(space)
    found = models(encode(everything, CPU), seconds=60)
    assert found.end == "all"
    assert {everything.schedule(choice) for choice in found.choices} == set(space)


def test_the_reason_of_an_empty_space_names_the_size() -> None:
    long = schedule(BLUR).split("x", "x", "xi", 64).schedule.of("blur_y")
    fixed, roots = Schedule((long,)), Options(placements=("root",), lanes=(1,))
    assert ScheduleSpace(BLUR, CPU, roots, fixed=fixed).count()
    space = ScheduleSpace(BLUR, CPU, roots, fixed=fixed, sizes=[{"blur_y": [8, 8]}])
    reason = str(spaces.explain_empty(space))
    assert "of blur_y at blur_y = 8 x 8: " in reason


@pytest.mark.parametrize("strategy", ["stagewise", "exhaustive", "beam", "annealing"])
def test_searches_find_schedules_that_are_legal_at_all_sizes(strategy: str) -> None:
    space = ScheduleSpace(BLUR, CPU, SMALL[CPU], sizes=[SMALLER])
    done = spaces.best(spaces.search(space, "reuse", strategy, Limits(top=3, structures=40)))
    assert done.best
    assert all(is_legal_at_both(found.schedule, CPU) for found in done.best)


def test_spaces_of_several_sizes_survive_text_and_copies() -> None:
    space = ScheduleSpace(BLUR, CPU, sizes=[SMALLER, {"blur_y": [640, 480]}])
    again = spaces.from_json(spaces.to_json(space), ScheduleSpace)
    assert again == space == pickle.loads(pickle.dumps(space))
    fewer = ScheduleSpace(BLUR, CPU, sizes=[SMALLER])
    assert again.fingerprint == space.fingerprint != fewer.fingerprint


def test_mistakes_in_sizes_come_as_sentences_all_at_once() -> None:
    sizes = [{"blr_y": [3, 3]}, {"blur_y": [3]}, {"blur_y": [0, 2**40]}]
    with pytest.raises(ValueError, match="sizes") as caught:
        ScheduleSpace(BLUR, CPU, sizes=sizes)
    text = str(caught.value)
    for part in (
        "sizes[0] names 'blr_y', and pipeline blur_y has no such output or image",
        "sizes[0] gives no size of output blur_y; name every output.",
        "sizes[1] gives 1 extent of blur_y, which has 2 dimensions.",
        "sizes[2]: The estimated extent of dimension 0 of blur_y is 0; it must be at least 1.",
        "sizes[2]: The estimate of dimension 1 of blur_y is",
    ):
        assert part in text
    for wrong in (SMALLER, "640 480", 3, [3]):
        with pytest.raises(TypeError, match="sizes takes a list of mappings"):
            ScheduleSpace(BLUR, CPU, sizes=wrong)
    with pytest.raises(ValueError, match="The estimate of blur_y is"):
        ScheduleSpace(BLUR, CPU, sizes=[{"blur_y": "ab"}])


def test_a_search_judges_at_further_sizes_before_it_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is legal at the estimates alone must not take the places of others in the beam."""
    needs_verdict, asked = WayPrices.is_doubtful, list[bool]()

    def recorded(prices: WayPrices, way: OpenWay) -> bool:
        asked.append(needs_verdict(prices, way))
        return asked[-1]

    monkeypatch.setattr(WayPrices, "is_doubtful", recorded)
    space = ScheduleSpace(BLUR, CPU, SMALL[CPU])
    for further, some_need_none in (((), True), ((SMALLER,), False)):
        asked.clear()
        found = spaces.best(spaces.search(evolve(space, sizes=further), "reuse", "stagewise"))
        assert (sum(asked) < len(asked)) == some_need_none
        assert asked
        assert is_legal_at_both(found.best[0].schedule, CPU) or not further
