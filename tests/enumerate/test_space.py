"""Spaces: their members against brute force and against the solver; counts and samples."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import attrs
import pytest

from spaces.apps.catalog import APPS
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.enumerate.space.counting.candidate_menus import candidate_menus
from spaces.enumerate.space.counting.census import Census
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.places import FuncPlaces
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.directives.directives import schedule
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, OrderedLoop
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, chain, line, long_chain, row_sums
from tests.small_space import small_space

GPU = device("sm_80")

STRIPS = Options(root=("strips",), inner=("vectors",), row_tiles=(64,), tiles=(8,), lanes=(1,))
TILES = Options(
    root=("strips", "tiles"),
    inner=("vectors",),
    row_tiles=(8, 64),
    tiles=(8, 512),
    lanes=(1,),
    storage="compute",
)
BLOCKS = Options(
    root=("blocks",),
    inner=("threads", "serial"),
    storage="compute",
    row_tiles=(32, 64),
    tiles=(8, 16),
)
FEW_BLOCKS = Options(
    root=("blocks",), inner=("threads",), storage="compute", row_tiles=(32,), tiles=(8, 30)
)

SMALL = {
    "blur, strips": (blur(), FOUR_CORES, STRIPS),
    "blur, tiles": (blur(), FOUR_CORES, TILES),
    "blur, blocks": (blur(), GPU, BLOCKS),
    "chain, strips": (chain(), FOUR_CORES, attrs.evolve(STRIPS, storage="compute")),
    "chain, blocks": (chain(), GPU, FEW_BLOCKS),
    "sums, strips": (row_sums(), FOUR_CORES, STRIPS),
}


@pytest.fixture(params=SMALL, ids=str)
def small(request: pytest.FixtureRequest) -> ScheduleSpace:
    return ScheduleSpace(*SMALL[request.param])


def test_every_schedule_is_a_member_and_counted(small: ScheduleSpace) -> None:
    listed = list(small)
    assert small.count() == len(listed) <= small.candidates
    assert all(s in small for s in listed)


def test_iteration_is_repeatable(small: ScheduleSpace) -> None:
    again = ScheduleSpace(small.pipeline, small.device, small.options)
    assert list(itertools.islice(small, 20)) == list(itertools.islice(again, 20))


def test_candidates_are_numbered_one_to_one(small: ScheduleSpace) -> None:
    """Every index gives a different candidate, so a uniform index gives a uniform candidate."""
    numbered = [small.candidate(i) for i in range(small.candidates)]
    listed = [structure.at(i) for structure in small.structures() for i in range(structure.size)]
    assert len(set(numbered)) == small.candidates == len(listed)
    assert set(numbered) == set(listed)
    with pytest.raises(IndexError):
        small.candidate(small.candidates)


@pytest.mark.parametrize(
    ("pipe", "options", "count"),
    [
        # Parallel strips y, lines yi, x, lanes: blur_x inlined, at root, or at y, yi or x, and
        # stored there or at any loop outside up to y: 1 + 1 + (1 + 2 + 3).
        (blur(), STRIPS, 8),
        # Likewise for b. With b inlined or at root, a has as many ways as blur_x above; with b
        # at loop d of y, yi, x (and stored in d ways) a has d + 2 loops, the first parallel, to
        # be computed at, and 2 + (1 + 2 + ... + d + 2) ways.
        (chain(), STRIPS, 8 + 8 + 1 * 8 + 2 * 12 + 3 * 17),
        # One dimension: a tile of x in parallel, with lanes inside.
        (line(), STRIPS, 1),
    ],
    ids=["blur", "chain", "line"],
)
def test_golden_counts(pipe, options, count: int) -> None:
    space = ScheduleSpace(pipe, FOUR_CORES, options)
    assert space.candidates == count
    assert space.count() == count


def test_golden_candidates_on_a_gpu() -> None:
    """Blocks in 2 x 2 sizes; blur_x inlined, in 4 kernels of its own, shared by a block (in
    threads or by one of them), or private to a thread.
    """
    space = ScheduleSpace(blur(), GPU, BLOCKS)
    assert space.candidates == 4 * (1 + 4 + 2 + 1)


def test_golden_candidates_with_updates() -> None:
    """Row sums at root, or at y, yi or x of the output, stored there or outside up to y; with two,
    four or eight lanes, each in a row of its own.
    """
    assert ScheduleSpace(row_sums(), FOUR_CORES, STRIPS).candidates == 3 * (1 + (1 + 2 + 3))


def test_kinds_of_loops_tell_states_apart() -> None:
    """Two outputs whose orders have the same loops; one loop is parallel in one output. Storage
    outside it is possible only for the other output.
    """
    producer, consumer = (
        attrs.evolve(menu, places=FuncPlaces(inline=False, root=False, at=True, outside=True))
        for menu in reversed(ScheduleSpace(blur(), FOUR_CORES, STRIPS).menus.values())
    )
    rows = DomainOrder(loops=(OrderedLoop("y"), OrderedLoop("x")))
    threads = DomainOrder(loops=(OrderedLoop("y", LoopKind.PARALLEL), OrderedLoop("x")))
    at_root = FuncPlaces(inline=False, root=True, at=False, outside=True)
    consumer = attrs.evolve(consumer, places=at_root, root={"a": (rows,), "b": (threads,)})
    producer = attrs.evolve(producer, inner={"serial": (rows,)})
    census = Census(candidate_menus({"blur_y": consumer, "blur_x": producer}))
    assert census.total == (2 + 3) + (1 + 2)


def test_numbers_multiply_structures() -> None:
    wide = Options(
        root=("strips",), inner=("vectors",), row_tiles=(64,), tiles=(8, 16, 32), lanes=(1, 2)
    )
    space = ScheduleSpace(blur(), FOUR_CORES, wide)
    # blur_y: 3 strips x 2 lanes; blur_x: inlined 1, root 3 x 2, at six places 2.
    assert space.candidates == 6 * (1 + 6 + 6 * 2)
    # At the loop over vectors 32 lanes overrun the 16 read: 3 places to store, 3 strips.
    assert space.count() == space.candidates - 3 * 3


def test_illegal_sizes_are_left_out() -> None:
    """Rows of 8 are shorter than the 16 lanes of a vector of uint16, so that output is overrun."""
    tiles = Options(root=("tiles",), placements=("inline",), row_tiles=(8, 64), tiles=(8,))
    space = ScheduleSpace(blur(), FOUR_CORES, tiles)
    assert space.candidates == 4
    assert {_factor(s, "blur_y", "xi") for s in space} == {64}


def _factor(found: Schedule, func: str, inner: str) -> int:
    (order,) = found.of(func).stages
    return next(split.factor for split in order.splits if split.inner == inner)


def test_hand_schedules_may_be_members() -> None:
    pipe = blur()
    tiled = schedule(pipe).split("y", "y", "yi", 8).split("x", "x", "xv", 16).vectorize("xv")
    by_hand = tiled.reorder("xv", "x", "yi", "y").parallel("y").func("blur_x")
    by_hand = by_hand.store_at("blur_y", "y").compute_at("blur_y", "yi")
    by_hand = by_hand.split("x", "x", "xv", 16).vectorize("xv")
    space = ScheduleSpace(pipe, FOUR_CORES, STRIPS)
    assert by_hand.schedule in space
    found = space.find(by_hand.schedule)
    assert found is not None
    structure, index = found
    assert structure.at(index) == by_hand.schedule


@pytest.mark.parametrize(
    "other",
    [
        lambda pipe: Schedule.default(pipe),
        lambda pipe: schedule(pipe).split("y", "y", "yi", 9).parallel("y").schedule,
        lambda pipe: Schedule.default(chain()),
        lambda pipe: "blur_y.parallel(y)",
    ],
    ids=["serial", "factor not in the menu", "another pipeline", "no schedule"],
)
def test_others_are_no_members(other) -> None:
    pipe = blur()
    assert other(pipe) not in ScheduleSpace(pipe, FOUR_CORES, STRIPS)


def test_illegal_candidates_are_no_members() -> None:
    space = ScheduleSpace(blur(), FOUR_CORES, TILES)
    legal = set(space)
    illegal = [s for i in range(space.candidates) if (s := space.candidate(i)) not in legal]
    assert len(illegal) > 5
    assert all(s not in space for s in illegal[:5])


def test_samples_are_legal_and_repeatable() -> None:
    space = ScheduleSpace(blur(), GPU, BLOCKS)
    drawn = space.sample(12, seed=3)
    assert len(drawn) == 12
    assert all(verify(space.pipeline, s, GPU) for s in drawn)
    assert drawn == space.sample(12, seed=3)
    assert drawn != space.sample(12, seed=4)


def test_samples_reach_everything() -> None:
    space = ScheduleSpace(blur(), FOUR_CORES, STRIPS)
    assert set(space.sample(80, seed=1)) == set(space)


def _exceeded_once_in_1000(freedom: int) -> float:
    """The bound of a chi-square statistic, as [Wilson and Hilferty 1931] approximate it."""
    spread = 2 / (9 * freedom)
    return freedom * (1 - spread + 3.09 * math.sqrt(spread)) ** 3


def test_samples_are_uniform() -> None:
    """One structure has 4 choices and one 16; the statistic exceeds its bound one time in 1000."""
    wide = attrs.evolve(STRIPS, placements=("inline", "root"), tiles=(8, 32), lanes=(1, 2))
    space = ScheduleSpace(blur(), FOUR_CORES, wide)
    legal = list(space)
    draws = 5 * len(legal)
    times = Counter(space.sample(draws, seed=1))
    assert set(times) <= set(legal)
    statistic = sum((times[schedule] - 5) ** 2 / 5 for schedule in legal)
    assert len(legal) == 4 + 16
    assert statistic < _exceeded_once_in_1000(len(legal) - 1)


def test_estimates_agree_with_counts() -> None:
    """Of ten intervals of 95 % at least seven hold the count, but for one time in 900."""
    space = ScheduleSpace(blur(), FOUR_CORES, TILES)
    estimates = [space.estimate(samples=15, seed=seed) for seed in range(10)]
    for estimate in estimates:
        assert 0 < estimate.low < estimate.mean < estimate.high < space.candidates
    assert sum(e.low < space.count() < e.high for e in estimates) >= 7


def test_a_space_of_single_loops_has_no_number_of_candidates() -> None:
    space = ScheduleSpace(blur(), FOUR_CORES)
    with pytest.raises(ValueError, match="candidates of this space of blur_y are not counted"):
        _ = space.candidates
    assert space.bounds(seconds=0.1).high == math.inf


def test_astronomic_spaces_are_counted_at_once() -> None:
    """Sixteen stages, with far more candidates than a test can list."""
    space = small_space(long_chain(16), FOUR_CORES)
    assert space.candidates > 10**20
    (drawn,) = space.sample(1, seed=0)
    assert verify(space.pipeline, drawn, FOUR_CORES)


def test_nothing_legal_is_said() -> None:
    too_long = schedule(blur()).split("x", "x", "xi", 100_000).schedule.of("blur_y")
    space = ScheduleSpace(blur(), FOUR_CORES, Options(), fixed=Schedule((too_long,)))
    assert space.count() == 0
    with pytest.raises(EmptySpaceError, match="Of 20 candidates drawn for blur_y on cpu only 0"):
        space.sample(2, attempts=10)


def test_updates_are_never_inlined_and_their_reductions_stay_serial() -> None:
    space = ScheduleSpace(row_sums(), FOUR_CORES, STRIPS)
    for found in space:
        sums = found.of("sums")
        assert not sums.compute.is_inline
        assert sums.stages[1].kind("r.x") is LoopKind.SERIAL


@pytest.mark.parametrize(
    ("menus", "message"),
    [
        ({"tiles": ()}, "The menu tiles needs numbers of at least 1, each once; it has \\(\\)"),
        ({"lanes": (1, 1)}, "The menu lanes needs"),
        ({"row_tiles": (0,)}, "The menu row_tiles needs"),
        ({"root": ("spiral",)}, "Options.root has no 'spiral'"),
    ],
)
def test_menus_are_checked(menus, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Options(**menus)


def test_draws_are_judged_as_verify_judges() -> None:
    algorithm = APPS["unsharp"].pipeline()
    space = small_space(algorithm, FOUR_CORES)
    chosen, legal = random.Random(3), 0
    for draw in itertools.islice(space.draws(seed=3), 16):
        schedule = space.candidate(chosen.randrange(space.candidates))
        verdict = verify(algorithm, schedule, FOUR_CORES)
        assert draw.schedule == (schedule if verdict else None)
        assert {v.rule for v in draw.verdict.violations} <= {v.rule for v in verdict.violations}
        assert bool(draw.verdict.violations) is not bool(verdict)
        legal += bool(verdict)
    assert 0 < legal < 16


def test_schedules_read_like_a_person_s() -> None:
    first = next(iter(ScheduleSpace(blur(), FOUR_CORES, STRIPS)))
    assert format_schedule(first, blur()).strip() == (
        "blur_y.split(y, y, yi, 8).split(x, x, xv, 16).vectorize(xv).parallel(y)\n"
        "blur_x.compute_root().split(y, y, yi, 8).split(x, x, xv, 16).vectorize(xv).parallel(y)"
    )


def test_a_pipeline_without_estimates_gets_a_sentence() -> None:
    algorithm = attrs.evolve(blur(), estimates=())
    expected = r"none of blur_y: give .*estimates={blur_y: \[extent of x, extent of y\]}"
    with pytest.raises(ValueError, match=expected):
        small_space(algorithm, device("cpu"))
