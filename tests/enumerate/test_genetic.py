"""The genetic search of [RK13] section 5: its mutation rules, crossover, judge and start."""

from __future__ import annotations

import random

import pytest

import spaces
from spaces import Genetic, Limits, Options, ScheduleSpace
from spaces.enumerate.search.events import Found
from spaces.enumerate.search.neighbours.genetic import mutations, templates
from spaces.enumerate.search.neighbours.genetic.population import (
    Individual,
    Offspring,
    OffspringJudge,
    draw_cut,
    win_tournament,
)
from spaces.enumerate.search.neighbours.genetic.starting import draw_reasonable, has_footprint_one
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.edits import DecidedSchedule, cross_forms
from spaces.enumerate.space.patterns.stage_shapes import stage_shapes
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import Schedule
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, chain, equalized, row_sums

CHAIN = chain()
EXPERT = ScheduleSpace(CHAIN, FOUR_CORES, Options.expert(FOUR_CORES))
SMALL = ScheduleSpace(CHAIN, FOUR_CORES, Options.small(FOUR_CORES))
WRITTEN = spaces.parse_schedule(
    "a.compute_root().split(x, xo, xi, 8)\n"
    "b.compute_root().parallel(y)\n"
    "c.split(y, yo, yi, 32).parallel(yo)",
    CHAIN,
)
PARENT = DecidedSchedule.of(EXPERT, WRITTEN)
SPACES = pytest.mark.parametrize("space", [SMALL, EXPERT], ids=["small", "expert"])


def made(
    rule: mutations.Mutation, func: str, seed: int, parent: DecidedSchedule = PARENT
) -> Schedule:
    """The schedule that a rule makes."""
    way = rule(parent, func, random.Random(seed))
    assert way is not None
    labels = way[-1].taken
    assert [one.taken for one in way] == [labels[:count] for count in range(len(labels) + 1)]
    return way[-1].schedule


def form(schedule: Schedule) -> spaces.CanonicalForm:
    return spaces.canonical_form(CHAIN, schedule)


def others_stay(schedule: Schedule, func: str, old: Schedule = WRITTEN) -> bool:
    """Whether all parts of a form are those of the old one, but for those of a Func."""
    new, before = form(schedule), form(old)
    parts = {**new.parts, **before.parts}
    changed = {name for name in parts if new.parts.get(name) != before.parts.get(name)}
    return all(name.split()[0] == func for name in changed)


def shape(schedule: Schedule, func: str) -> list[tuple[str, LoopKind]]:
    """The loops of a Func, outermost first: the origin and the kind of each."""
    (order,) = schedule.of(func).stages
    names = form(schedule).loops[func]
    return [(name, loop.kind) for name, loop in zip(names, order.loops, strict=True)]


def test_constants_change_numbers_alone() -> None:
    found = [made(mutations.randomize_constants, "a", seed) for seed in range(6)]
    assert all(shape(one, "a") == shape(WRITTEN, "a") and others_stay(one, "a") for one in found)
    assert len({form(one).parts["a factor x"] for one in found}) > 2
    assert mutations.randomize_constants(PARENT, "b", random.Random(0)) is None  # b has none


def test_a_random_schedule_replaces_that_of_one_func() -> None:
    found = [made(mutations.randomize_schedule, "a", seed) for seed in range(6)]
    assert all(others_stay(one, "a") for one in found)
    assert len({form(one) for one in found}) > 2
    assert all(EXPERT.verdict(one) for one in found)


def test_a_copy_has_the_loops_of_another_func() -> None:
    for seed in range(4):
        found = made(mutations.copy_schedule, "b", seed)
        assert others_stay(found, "b")
        assert shape(found, "b") in [shape(WRITTEN, "a"), shape(WRITTEN, "c")]
        assert found.of("b").compute.is_root


def test_copies_go_dimension_by_dimension() -> None:
    """The sum of rows has one dimension, the output two: y of the one is x of the other."""
    sums = row_sums()
    space = ScheduleSpace(sums, FOUR_CORES, Options.expert(FOUR_CORES))
    written = spaces.parse_schedule("sums.compute_root().parallel(y)\nout.parallel(y)", sums)
    way = mutations.copy_schedule(DecidedSchedule.of(space, written), "out", random.Random(0))
    assert way is not None
    (order,) = way[-1].schedule.of("out").stages
    assert [(one.name, one.kind) for one in order.loops] == [
        ("y", LoopKind.SERIAL),
        ("x", LoopKind.PARALLEL),
    ]


@pytest.mark.parametrize("seed", range(4))
def test_transformations_are_added_removed_and_replaced(seed: int) -> None:
    """The count is that of splits, fuses and loops that are not serial."""

    for rule, func in (
        (mutations.add_transformation, "a"),
        (mutations.remove_transformation, "c"),
        (mutations.replace_transformation, "c"),
    ):
        found = made(rule, func, seed)
        assert shape(found, func) != shape(WRITTEN, func) or form(found) != form(WRITTEN)
        before, after = (mutations.count_transformations(one.of(func)) for one in (WRITTEN, found))
        if rule is mutations.add_transformation:
            assert after > before == 1
        elif rule is mutations.remove_transformation:
            assert after < before == 2
        else:
            assert after == before == 2


def test_fusion_tiles_a_func_and_computes_callees_in_its_tiles() -> None:
    fused = [made(mutations.fuse_loops, "c", seed) for seed in range(6)]
    for found in fused:
        assert [kind for _, kind in shape(found, "c")] == [
            LoopKind.PARALLEL,
            *[LoopKind.SERIAL] * 3,
            LoopKind.VECTORIZED,
        ]
        assert [name for name, _ in shape(found, "c")] == ["y.0", "x.0", "y.1", "x.1.0", "x.1.1"]
        parts = form(found).parts
        assert parts["b compute"] == parts["b store"] == "c x.1.0"
        assert shape(found, "b")[-1][1] is LoopKind.VECTORIZED
    below = {form(found).parts["a compute"] for found in fused}
    assert below == {"c x.1.0", "root"}  # the coin decides about callees of callees


def test_templates_are_the_three_patterns() -> None:
    kinds = set()
    for seed in range(12):
        way = mutations.apply_template(PARENT, "b", random.Random(seed))
        assert way is not None
        found = way[-1].schedule
        names = tuple(name for name, _ in shape(found, "b"))
        kinds.add((names, form(found).parts["b compute"]))
    assert kinds == {
        (("y", "x.0", "x.1"), "c x"),  # vectors under the loop of the reader over x
        (("y", "x.0", "x.1"), "root"),  # rows in parallel, vectors along x
        (("y.0", "x.0", "y.1", "x.1.0", "x.1.1"), "root"),  # fully tiled
    }


def test_templates_tile_what_is_long() -> None:
    """Eight channels are too few to tile and come first in memory; the loop over x is inside."""
    c, x, y = spaces.Var("c"), spaces.Var("x"), spaces.Var("y")
    channels = spaces.Func("channels")
    channels[c, x, y] = c + x + y
    whole = spaces.pipeline(channels, estimates={channels: [8, 640, 480]})
    space = ScheduleSpace(whole, FOUR_CORES, Options.small(FOUR_CORES))
    (shape,) = stage_shapes(whole, FOUR_CORES, space.start().state.choices)["channels"]
    assert shape.free == ("c", "x", "y")
    plane = templates._choose_plane(shape, random.Random(0))
    assert (plane.free[0], plane.long) == ("x", ("x", "y"))
    assert sorted(plane.free) == ["c", "x", "y"]


def test_a_gpu_has_tiles_of_threads() -> None:
    gpu = spaces.device("sm_80")
    space = ScheduleSpace(CHAIN, gpu, Options.small(gpu))
    found = draw_reasonable(space.start().state, random.Random(0))
    kinds = {loop.kind for entry in found.funcs for loop in entry.stages[0].loops}
    assert kinds == {LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD}
    assert spaces.verify(CHAIN, found, gpu)


def test_crosses_keep_the_funcs_outside_the_cut() -> None:
    plain = spaces.parse_schedule("a.compute_root()\nb.compute_root().unroll(x, 4)", CHAIN)
    other = DecidedSchedule.of(EXPERT, plain)
    for cut in ({"a"}, {"b"}, {"a", "b"}, {"b", "c"}):
        child = cross_forms(PARENT.way[0], PARENT.form, other.form, cut).after
        for func in ("a", "b", "c"):
            parent = plain if func in cut else WRITTEN
            assert shape(child, func) == shape(parent, func)
            own = {name: part for name, part in form(child).parts.items() if name[0] == func}
            parts = form(parent).parts
            assert own == {name: part for name, part in parts.items() if name[0] == func}


def test_cuts_are_between_draw_cut() -> None:
    chosen = random.Random(0)
    cuts = {draw_cut(CHAIN, chosen) for _ in range(60)}
    assert cuts == {frozenset(one) for one in ("a", "b", "c", "ab", "bc")}


def test_tournaments_take_the_cheapest_of_a_few() -> None:
    rivals = [Individual(spaces.Found(float(cost), WRITTEN), PARENT) for cost in range(8)]
    chosen = random.Random(0)
    assert win_tournament(rivals, 8, chosen).cost == 0
    costs = [win_tournament(rivals, 2, chosen).cost for _ in range(400)]
    assert max(costs) == 6  # the dearest one never wins
    assert sum(cost == 0 for cost in costs) == pytest.approx(400 * 2 / 8, abs=30)


@SPACES
def test_elitism_keeps_the_best(space: ScheduleSpace) -> None:
    settings = Genetic(population=10, elites=0.2)
    chosen = random.Random(1)
    pricer = Pricer.of(space, spaces.cost_model("reuse", FOUR_CORES), Limits())
    judge, offspring = (
        OffspringJudge(pricer, chosen, 1),
        Offspring(pricer, chosen, settings.tournament),
    )
    last: list[Individual] = []
    for _ in range(3):
        best = last[:2]
        last = _run(settings.breed_generation(last, offspring, judge))
        assert len(last) == 10
        assert all(one in last for one in best)
        assert [one.cost for one in last] == sorted(one.cost for one in last)
        assert all(space.verdict(one.found.schedule) for one in last)


def test_a_cross_has_parts_of_two_schedules() -> None:
    """One has all Funcs at root, the other none; a cross of one with itself has nothing new."""
    at_root = spaces.parse_schedule("a.compute_root()\nb.compute_root()", CHAIN)
    inlined = Schedule.default(CHAIN)
    parents = [
        Individual(Found(1.0, one), DecidedSchedule.of(EXPERT, one)) for one in (at_root, inlined)
    ]
    pricer = Pricer.of(EXPERT, spaces.cost_model("reuse", FOUR_CORES), Limits())
    offspring = Offspring(pricer, random.Random(1), 1)
    levels = {
        tuple(crossed.after.of(name).compute.is_root for name in ("a", "b"))
        for crossed in (offspring.cross_parents(parents) for _ in range(20))
    }
    assert levels & {(True, False), (False, True)}


def test_what_reads_one_value_is_inlined_at_the_start() -> None:
    assert not has_footprint_one(blur(), "blur_x")  # three values
    assert not has_footprint_one(row_sums(), "sums")  # it has an update
    assert not has_footprint_one(equalized(), equalized().functions[0].name)
    x, y = spaces.Var("x"), spaces.Var("y")
    point, twice, out = map(spaces.Func, ("point", "twice", "out"))
    point[x, y] = x + y
    twice[x, y] = x * y
    out[x, y] = point[y, x] + twice[x, y] + twice[x + 1, y]
    flat = spaces.pipeline(out, estimates={out: [256, 256]})
    assert has_footprint_one(flat, "point")
    space = ScheduleSpace(flat, FOUR_CORES, Options.expert(FOUR_CORES))
    for seed in range(4):
        found = draw_reasonable(space.start().state, random.Random(seed))
        assert [entry.name for entry in found.funcs if entry.compute.is_inline] == ["point"]
        assert all(loop.kind is LoopKind.PARALLEL for loop in found.of("out").stages[0].loops[:1])


def test_the_numbers_are_those_of_the_paper() -> None:
    assert Genetic().population == 128
    with pytest.raises(ValueError, match="add up to more than 1"):
        Genetic(elites=0.5, crosses=0.5)
    with pytest.raises(ValueError, match="needs two schedules"):
        Genetic(population=1)


def _run(events):
    """What a generator of events returns."""
    while True:
        try:
            next(events)
        except StopIteration as end:
            return end.value
