"""Restricted spaces have exactly the schedules of the whole space that their user wants."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable
from functools import cache
from itertools import islice

import numpy as np
import pytest

import spaces
from spaces import (
    Annealing,
    Device,
    FeatureCondition,
    KiB,
    Limits,
    Options,
    PartialPredicate,
    Schedule,
    ScheduleSpace,
    Stagewise,
    parse_restriction,
)
from spaces.constraints.solver.encode import encode, models
from spaces.features.extraction import extract_features
from spaces.features.features import Features
from spaces.features.named_features import NAMED_FEATURES
from spaces.model.formulas.algebra import INTEGERS, read
from spaces.model.schedules.domain_order import LoopKind, Split
from spaces.model.schedules.parameters import bind
from tests.cpus import WIDE_VECTORS
from tests.draw_counts import examples
from tests.enumerate.pipelines import blur, row_sums
from tests.small_space import small_space

CPU, GPU = WIDE_VECTORS, spaces.device("sm_80")
BLUR = blur()

SMALL = {
    CPU: Options(row_tiles=(64, 128), tiles=(8, 32), lanes=(1,), storage="compute"),
    GPU: Options(
        root=("blocks",), inner=("threads",), storage="compute", row_tiles=(16, 64), tiles=(1, 4)
    ),
}


def factors(schedule: Schedule, func: str, loop: str) -> list[object]:
    """The factors of the splits whose inner loop has this name."""
    splits = (r for r in schedule.of(func).stages[0].splits if isinstance(r, Split))
    return [record.factor for record in splits if record.inner == loop]


def stored(features: Features, func: str) -> int:
    """The bytes of one allocation of a Func; 0 if it is inlined."""
    return sum(one.allocation_bytes for one in features.funcs if one.name == func)


WANTED: dict[tuple[Device, str], Callable[[Schedule, Features], bool]] = {
    (CPU, "bytes_stored(blur_x) <= 8 * KiB"): lambda s, f: stored(f, "blur_x") <= 8192,
    (CPU, "factor(blur_y, xi) == 64 and not factor(blur_y, yi) < 32"): lambda s, f: (
        factors(s, "blur_y", "xi") == [64] and factors(s, "blur_y", "yi") == [32]
    ),
    (CPU, "parallel_tasks >= 16 * cores"): lambda s, f: all(
        math.prod(loop.trips for loop in stage.loops if loop.kind is LoopKind.PARALLEL)
        >= 16 * CPU.cores
        for stage in f.stages
    ),
    (CPU, "bytes_stored(blur_x) == 0 or 8 <= iterations(blur_y, yi) <= 9"): lambda s, f: (
        stored(f, "blur_x") == 0
        or any(one.loop == "yi" and 8 <= one.trips <= 9 for one in f.func("blur_y").stages[0].own)
    ),
    (GPU, "threads(blur_y) % 64 == 0"): lambda s, f: f.kernels[-1].threads % 64 == 0,
    (GPU, "max(shared_bytes(blur_y), total_bytes) <= 2 * KiB"): lambda s, f: (
        max(f.kernels[-1].shared_bytes, sum(one.allocation_bytes for one in f.funcs)) <= 2048
    ),
}
CASES = [pytest.param(*case, id=case[1]) for case in WANTED]


def is_at_root(schedule: Schedule) -> bool:
    """Whether every Func decided so far is at root."""
    return all(entry.compute.is_root for entry in schedule.funcs)


@cache
def members(device: Device) -> dict[Schedule, Features]:
    """All schedules of a space without restrictions, with their features."""
    sizes = BLUR.sizes()
    space = ScheduleSpace(BLUR, device, SMALL[device])
    return {one: extract_features(BLUR, one).read_ints(sizes) for one in space}


@pytest.mark.parametrize(("device", "text"), CASES)
def test_a_restricted_space_is_the_space_filtered(device: Device, text: str) -> None:
    whole = members(device)
    where = [parse_restriction(text)]
    restricted = ScheduleSpace(BLUR, device, SMALL[device], where=where)
    wanted = [one for one in whole if WANTED[device, text](one, whole[one])]
    assert 0 < len(wanted) < len(whole)
    assert list(restricted) == wanted
    assert restricted.count() == len(wanted)
    assert restricted.rank(wanted[-1]) == len(wanted) - 1
    assert set(restricted.sample(3, seed=3)) <= set(wanted)
    assert bool(restricted.verdict(next(iter(whole)))) == (next(iter(whole)) in wanted)


@pytest.mark.parametrize(
    "text", ["parallel_tasks >= 16", "total_bytes <= 4096", "parallel_tasks * 512 >= total_bytes"]
)
def test_conditions_on_whole_schedules_prune_only_what_breaks_them(text: str) -> None:
    whole = ScheduleSpace(BLUR, CPU, Options.expert(CPU))
    space = ScheduleSpace(BLUR, CPU, Options.expert(CPU), where=[parse_restriction(text)])
    for draw in islice(whole.draws(seed=2), 6):
        if draw.schedule is not None:
            *half, complete = space.way_to(draw.schedule)
            broken = list(space.restricted.broken(complete.schedule))
            assert broken or all(one.can_satisfy for one in half)


@pytest.mark.parametrize(
    ("text", "ruled_out"),
    [
        ("parallel_tasks >= 2 * cores", True),
        ("parallel_tasks <= 2 * cores", False),
        ("parallel_tasks - 1 > total_bytes", True),
        ("total_bytes >= 1 * KiB", False),
    ],
)
def test_a_serial_output_limits_the_tasks_of_all_completions(text: str, ruled_out: bool) -> None:
    """More Funcs can only have fewer tasks, and more bytes."""
    options = Options(root=("serial", "strips"), inner=("serial",))
    space = ScheduleSpace(BLUR, CPU, options, where=[parse_restriction(text)])
    serial, strips = (space.start().take(option) for option in space.start().options)
    assert [entry.name for entry in serial.state.entries] == ["blur_y"]
    assert strips.can_satisfy
    assert serial.can_satisfy == (not ruled_out)


@pytest.mark.parametrize(
    "text",
    [
        "bytes_stored(blur_x) <= 64 * KiB",
        "parallel_tasks >= 2 * cores or lanes(blur_y) == 8",
        "extent(blur_x, x) % 4 == 0 and stores(blur_x) < loads(blur_y)",
    ],
)
def test_masks_agree_with_single_schedules_where_loops_are_decided(text: str) -> None:
    chosen = random.Random(text)
    space = ScheduleSpace(BLUR, CPU, Options.expert(CPU), where=[parse_restriction(text)])
    for _ in range(examples(2, fewest=1)):
        state = space.start().at_random(chosen).state
        structure = Schedule(state.entries, state.pipeline.derivations)
        names = list(state.numbers)[:2]
        structure = bind(structure, {n: v for n, v in state.numbers.items() if n not in names})
        menus = {n: tuple(chosen.sample(state.menus[n], 2)) for n in names}
        columns = dict(zip(names, np.ix_(*menus.values()), strict=True))
        shape = (2,) * len(names)
        mask = space.restricted.mask(structure, columns, np.ones(shape, dtype=bool))
        for index in np.ndindex(shape):
            numbers = {n: menus[n][i] for n, i in zip(names, index, strict=True)}
            broken = list(space.restricted.broken(bind(structure, numbers)))
            assert mask[index] == (not broken)


def test_the_solver_lists_the_schedules_of_a_restricted_space() -> None:
    where = [parse_restriction("bytes_stored(blur_x) <= 8 * KiB or parallel_tasks == 32")]
    space = ScheduleSpace(BLUR, CPU, SMALL[CPU], where=where)
    assert 0 < space.count() < ScheduleSpace(BLUR, CPU, SMALL[CPU]).count()
    everything = spaces.universe(space)
    found = models(encode(everything, CPU), seconds=60)
    assert found.end == "all"
    assert {everything.schedule(choice) for choice in found.choices} == set(space)


@pytest.mark.parametrize("strategy", ["stagewise", "exhaustive", "beam"])
def test_searches_find_schedules_that_satisfy_the_restrictions(strategy: str) -> None:
    where = [spaces.bytes_stored("blur_x") > 4 * KiB, lambda s: s.of("blur_x").compute.is_root]
    space = ScheduleSpace(BLUR, CPU, SMALL[CPU], where=where)
    done = spaces.best(spaces.search(space, "reuse", strategy, Limits(top=2, structures=40)))
    assert done.best
    assert all(space.verdict(found.schedule) for found in done.best)
    assert all(found.schedule.of("blur_x").compute.is_root for found in done.best)


def test_annealing_obeys_restrictions_in_spaces_that_decide_loops() -> None:
    where = [spaces.bytes_stored("blur_x") > 4 * KiB, spaces.lanes("blur_y") > 8]
    space = ScheduleSpace(BLUR, CPU, Options.expert(CPU), where=where)
    found = spaces.best(
        spaces.search(space, "reuse", Annealing(opening=Stagewise(), steps=20))
    ).best[0]
    assert found.schedule in space


def test_a_predicate_of_partial_schedules_prunes() -> None:
    seen: list[int] = []

    def counts(schedule: Schedule) -> bool:
        seen.append(len(schedule.funcs))
        return is_at_root(schedule)

    whole = ScheduleSpace(BLUR, CPU, SMALL[CPU])
    space = ScheduleSpace(BLUR, CPU, SMALL[CPU], where=[PartialPredicate(counts)])
    assert list(space) == [one for one in whole if is_at_root(one)]
    assert 1 in seen
    after_whole = ScheduleSpace(BLUR, CPU, SMALL[CPU], where=[is_at_root])
    assert list(after_whole) == list(space)
    assert len(list(space.structures())) < len(list(after_whole.structures()))


def test_a_python_predicate_is_estimated_and_not_counted() -> None:
    space = ScheduleSpace(BLUR, CPU, SMALL[CPU], where=[is_at_root])
    with pytest.raises(ValueError, match="The Python restriction is_at_root judges schedules one"):
        space.count()
    estimate = space.estimate(samples=60)
    assert estimate.low <= len(list(space)) <= estimate.high
    with pytest.raises(ValueError, match="is_at_root has no fingerprint"):
        _ = space.fingerprint


@pytest.mark.usefixtures("clock")  # which stands still: to explain it takes as long as it takes
def test_an_empty_restricted_space_is_explained() -> None:
    space = ScheduleSpace(BLUR, CPU, SMALL[CPU], where=[spaces.bytes_stored("blur_x") < 0])
    assert space.count() == 0
    assert "where bytes_stored(blur_x) < 0: a restriction of this space" in str(
        spaces.explain_empty(space)
    )
    with pytest.raises(spaces.EmptySpaceError, match=r"break is where bytes_stored\(blur_x\) < 0"):
        space.sample(1, attempts=20)


def test_funcs_that_are_left_out_keep_the_default_schedule() -> None:
    space = ScheduleSpace(BLUR, CPU, SMALL[CPU], leave=["blur_x"])
    plain = Schedule.default(BLUR).of("blur_x")
    whole = [one for one in ScheduleSpace(BLUR, CPU, SMALL[CPU]) if one.of("blur_x") == plain]
    assert list(space) == whole
    assert whole
    everything = ScheduleSpace(BLUR, CPU, Options.everything(CPU), leave=["blur_x"])
    for seed in range(4):
        drawn = everything.start().at_random(random.Random(seed)).schedule
        assert drawn.of("blur_x") == plain
        assert all(step.func != "blur_x" for step in drawn.derivations)


def test_spaces_with_conditions_survive_text_and_copies() -> None:
    where = [spaces.tasks("blur_y") >= 4, spaces.bytes_stored("blur_x") <= 8 * KiB]
    space = small_space(BLUR, CPU, leave=["blur_x"], where=where)
    again = spaces.from_json(spaces.to_json(space), ScheduleSpace)
    assert again == space == pickle.loads(pickle.dumps(space))
    other = small_space(BLUR, CPU, leave=["blur_x"], where=where[:1])
    assert again.fingerprint == space.fingerprint != other.fingerprint


def test_a_restriction_reads_update_stages() -> None:
    algorithm = row_sums()
    where = [parse_restriction("lanes(sums, 1) == 1 and stores(sums) > 0")]
    space = small_space(algorithm, CPU, where=where)
    assert all(space.verdict(one) for one in islice(space, 3))
    with pytest.raises(ValueError, match="sums has 2 stages, from number 0; it has no stage 2"):
        small_space(algorithm, CPU, where=[spaces.lanes("sums", 2) == 1])


MISTAKES = {
    "threads(blur_y) % 32 == 0": "threads is a feature of GPUs, and cpu is a CPU",
    "bytes_stored(blr_x) < 3": r"has no Func 'blr_x' \(is blur_x meant\?\)",
    "factor(blur_y, zz) == 64": "blur_y has no loop 'zz'; it has x, xv, y, yi, xi",
    "extent(blur_x, z) == 64": "blur_x has no Var 'z'; it has x, y",
    "1 < 2": "names no feature of a schedule",
}

UNREADABLE = {
    "threads(blur_y) % 32": "is a number and no condition",
    "foo(blur_y) > 2": "No feature is called 'foo'",
    "__import__('os') == 2": "No feature is called '__import__'",
    "blur_y.threads > 1": "'blur_y.threads' is not part of a restriction",
    "lanes() == 2": r"write lanes\(func, stage\)",
    "lanes(blur_y == 2": "is no expression",
    "lanes(blur_y) == 2 " + "+ 1" * 1000: "at most 2000 characters",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_condition_that_makes_no_sense_is_explained(text: str) -> None:
    with pytest.raises(ValueError, match=MISTAKES[text]):
        small_space(BLUR, CPU, where=[parse_restriction(text)])


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_text_that_is_no_condition_is_explained(text: str) -> None:
    with pytest.raises(spaces.RestrictionSyntaxError, match=UNREADABLE[text]):
        parse_restriction(text)


def test_a_restriction_is_a_text_a_condition_or_a_function_alone_or_in_a_list() -> None:
    def first(**given: object) -> list[spaces.Schedule]:
        return list(islice(small_space(BLUR, CPU, **given), 10))

    wanted, every = first(where=[spaces.bytes_stored("blur_x") <= 256]), first()
    assert len(wanted) == 10
    assert wanted != every
    for where in (
        spaces.bytes_stored("blur_x") <= 256,
        "bytes_stored(blur_x) <= 256",
        ["bytes_stored(blur_x) <= 256"],
        spaces.parse_restriction("bytes_stored(blur_x) <= 256"),
    ):
        assert first(where=where) == wanted
    assert first(where=lambda schedule: True) == every


def test_where_and_leave_name_what_they_take() -> None:
    with pytest.raises(TypeError, match="where takes a list of restrictions, not 8"):
        small_space(BLUR, CPU, where=8)
    with pytest.raises(TypeError, match=r"where\[0\] is the number `lanes\(blur_y\)`"):
        small_space(BLUR, CPU, where=[spaces.lanes("blur_y")])
    with pytest.raises(spaces.RestrictionSyntaxError, match="No feature is called 'lames'"):
        small_space(BLUR, CPU, where=["lames(blur_y) == 8"])
    with pytest.raises(TypeError, match="lanes takes the name of a Func as func, not 3"):
        spaces.lanes(3)
    with pytest.raises(ValueError, match="leave names 'blr', and pipeline blur_y has no such Func"):
        small_space(BLUR, CPU, leave=["blr"])
    with pytest.raises(TypeError, match="leave takes a list of names of Funcs"):
        small_space(BLUR, CPU, leave="blur_x")
    space = small_space(BLUR, CPU, where=[lambda schedule: 1])
    with pytest.raises(TypeError, match="a predicate returns True or False"):
        next(iter(space))


def test_every_feature_has_a_number_for_some_schedule() -> None:
    arguments = {"func": "blur_y", "loop": "xi", "var": "x", "stage": "0"}
    for device in (CPU, GPU):
        space = small_space(BLUR, device)
        drawn = next(s for s in space if len(s.of("blur_y").stages[0].splits) > 1)
        for name, feature in NAMED_FEATURES.items():
            if feature.device is not None and not isinstance(device, feature.device):
                continue
            takes = ", ".join(arguments[one] for one in feature.takes)
            called = f"{name}({takes})" if takes else name
            (check,) = (
                FeatureCondition(parse_restriction(f"{called} >= 0"))
                .rule(BLUR, device)
                .check(drawn, "blur_y")
            )
            assert not check.holds.names
            assert read(check.holds, {}, INTEGERS)
