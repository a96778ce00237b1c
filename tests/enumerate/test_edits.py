"""Edits of the schedules of a space, and the schedules that they lead to."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spaces
from spaces import Options, ScheduleSpace, canonical_form, distance
from spaces.enumerate.space.edits import DecidedSchedule
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur

CPU = FOUR_CORES
BLUR = blur()
EXPERT = ScheduleSpace(BLUR, CPU, Options.expert(CPU))
TILED = spaces.parse_schedule(
    "blur_y.tile(x, y, xi, yi, 64, 32).vectorize(xi, 16).parallel(y)\n"
    "blur_x.compute_at(blur_y, x).vectorize(x, 16)",
    BLUR,
)


def apart(first: spaces.Schedule, second: spaces.Schedule) -> int:
    return distance(canonical_form(BLUR, first), canonical_form(BLUR, second))


def test_neighbours_differ_from_a_schedule_and_from_each_other() -> None:
    near = list(spaces.enumerate_neighbours(EXPERT, TILED))
    forms = [canonical_form(BLUR, one) for one in near]
    assert canonical_form(BLUR, TILED) not in forms
    assert len(set(forms)) > 100
    assert min(apart(TILED, one) for one in near) == 1


def test_every_other_option_of_every_decision_gives_a_neighbour() -> None:
    options = Options(root=("strips",), row_tiles=(64,), tiles=(8, 16), lanes=(1,))
    space = ScheduleSpace(BLUR, CPU, options)
    one = next(iter(space))
    way = space.way_to(one)
    expected = sum(len(partial.options) - 1 for partial in way[:-1])
    assert len(list(spaces.enumerate_neighbours(space, one))) == expected > 2


def test_mutations_are_neighbours() -> None:
    chosen = random.Random(5)
    near = [spaces.mutate_schedule(EXPERT, TILED, chosen) for _ in range(30)]
    all_near = {canonical_form(BLUR, one) for one in spaces.enumerate_neighbours(EXPERT, TILED)}
    assert all(canonical_form(BLUR, one) in all_near for one in near)
    assert len({canonical_form(BLUR, one) for one in near}) > 10


def test_a_space_of_one_schedule_has_no_mutation() -> None:
    alone = Options(root=("vectors",), lanes=(1,), placements=("inline",))
    space = ScheduleSpace(BLUR, CPU, alone)
    with pytest.raises(ValueError, match="has one schedule only"):
        spaces.mutate_schedule(space, next(iter(space)), random.Random(0))


@settings(max_examples=10)
@given(st.integers(0, 1 << 32), st.integers(1, 4))
def test_edits_lead_from_schedule_to_schedule_of_the_space(seed: int, steps: int) -> None:
    """The decisions after an edit are those that lead to its schedule."""
    chosen, decided = random.Random(seed), DecidedSchedule.of(EXPERT, TILED)
    for _ in range(steps):
        edit = decided.draw_edit(chosen)
        assert edit is not None
        assert edit.text in edit.way[-1].taken
        assert edit.text not in decided.way[-1].taken or edit.after != decided.schedule
        decided = edit.with_numbers_of(edit.after)
        assert [one.taken for one in decided.way] == [one.taken for one in edit.way]
        assert decided.schedule == edit.after
        found = DecidedSchedule.of(EXPERT, edit.after)
        assert found.schedule == edit.after
        assert found.form == decided.form


@settings(max_examples=10)
@given(st.integers(0, 1 << 32), st.integers(1, 64))
def test_opened_numbers_are_those_of_the_func_of_an_edit(seed: int, most: int) -> None:
    chosen, decided = random.Random(seed), DecidedSchedule.of(EXPERT, TILED)
    for edit in itertools.islice(decided.shuffle_edits(chosen), 3):
        structure = edit.open_numbers(chosen, most)
        assert 1 <= structure.size <= most
        choices = [structure.at(number) for number in range(structure.size)]
        assert edit.after in choices
        names = {entry.name for entry in edit.after.funcs} - {edit.func}
        assert all(one.of(name) == edit.after.of(name) for one in choices for name in names)
        for choice in choices[:3]:
            assert edit.with_numbers_of(choice).schedule == choice


def test_a_cross_takes_each_func_from_a_parent() -> None:
    other = spaces.parse_schedule("blur_y.parallel(y)\nblur_x.compute_root().unroll(x, 2)", BLUR)
    chosen = random.Random(2)
    crossed = [spaces.cross_schedules(EXPERT, TILED, other, chosen) for _ in range(12)]
    assert {apart(one, TILED) for one in crossed} >= {0}
    assert {apart(one, other) for one in crossed} >= {0}
    mixed = [one for one in crossed if apart(one, TILED) and apart(one, other)]
    assert mixed
    for one in mixed:
        texts = {name: str(one.of(name)) for name in ("blur_x", "blur_y")}
        parents = ({name: str(p.of(name)) for name in texts} for p in (TILED, other))
        assert texts not in parents


def test_a_space_finds_schedules_whose_memory_lies_in_fused_loops() -> None:
    x, y = spaces.Var("x"), spaces.Var("y")
    names = ("source", "first", "second", "out")
    source, first, second, out = map(spaces.Func, names)
    source[x, y] = x + y
    first[x, y] = source[x, y] * 2
    second[x, y] = x * y
    out[x, y] = first[x, y] + second[x, y]
    algorithm = spaces.pipeline(out, estimates={out: [(0, 16), (0, 16)]})
    space = ScheduleSpace(algorithm, CPU, Options.everything(CPU))
    for level in ("first, y", "second, y"):
        one = spaces.parse_schedule(
            "first.compute_root().compute_with(second, y); second.compute_root();"
            f"source.compute_at(first, x).store_at({level});",
            algorithm,
        )
        space.way_to(one)
