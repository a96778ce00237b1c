"""What the fuzzer draws: each construct can be drawn, and what a case is made of is seen in it."""

from __future__ import annotations

import itertools
import math
import random
import sys

import numpy as np
import pytest
from attrs import evolve

from spaces.backend.arithmetic import value_of
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.definitions import (
    DERIVED,
    FOREIGN,
    LIKELY_AT,
    REQUIRE,
    UNDEFINED,
)
from spaces.model.expressions.expr import Variable
from spaces.model.expressions.signatures import OPERATORS
from spaces.model.expressions.types import Float32, Float64, Int32, Type, UInt8
from spaces.model.schedules.domain_order import Tail
from spaces.model.schedules.schedule import Schedule
from tests.differential.aims import Aims, rarest
from tests.differential.cases import CORPUS, Seed, constructs_of, draw, subject_of
from tests.differential.check import Fuzzer
from tests.differential.companions import with_companion
from tests.differential.composed import composed
from tests.differential.constructs import frozen_constructs, size_constructs, written_constructs
from tests.differential.dice import Dice
from tests.differential.gpu_schedules import gpu_schedule
from tests.differential.journal import Group, Journal
from tests.differential.layouts import DENSE, LAYOUTS, placed
from tests.differential.operations import ELEMENTARY, OPERATIONS, coarse
from tests.differential.pairs import Pairs, numbers
from tests.differential.schedule_constructs import schedule_constructs
from tests.differential.schedules import cpu_schedule
from tests.differential.subjects import COMPOSED, subject
from tests.differential.summary import Summary
from tests.differential.universe import OF_PIPELINES, universe
from tests.draw_counts import every

X, Y = Var("x"), Var("y")

ELSEWHERE = {REQUIRE, UNDEFINED, LIKELY_AT, FOREIGN}
"""Operators that are no arithmetic: families of pipelines have them, or tests of their own, as
foreign code (``tests/backend/test_foreign.py``).
"""

_OF_SIZES = ("size", "estimates", "input memory", "output memory")
_BY_SIZES = (
    "outputs: of unequal sizes",
    "outputs: empty beside others",
    "outputs: of one element beside others",
)
"""Constructs that subjects draw, not the definitions of pipelines."""


def test_every_operator_is_drawn() -> None:
    assert set(OPERATIONS) == {*OPERATORS, *DERIVED, "cast"} - ELSEWHERE


@pytest.mark.parametrize("group", [g for g in OF_PIPELINES if g not in _OF_SIZES])
def test_each_construct_of_pipelines_is_drawn_where_it_is_aimed_at(group: str) -> None:
    for name in OF_PIPELINES[group]:
        construct = f"{group}: {name}"
        if construct in _BY_SIZES:
            continue
        for seed in range(60):
            made = composed(Dice(random.Random(f"{construct} {seed}"), frozenset((construct,))))
            found = written_constructs(made) | frozen_constructs(pipeline(list(made)))
            if construct in found:
                break
        else:
            pytest.fail(f"{construct} is not drawn")


_OF_SUBJECTS = (
    *_BY_SIZES,
    *(f"{group}: {layout}" for group in ("input memory", "output memory") for layout in LAYOUTS),
)


@pytest.mark.parametrize("construct", _OF_SUBJECTS)
def test_each_construct_of_sizes_and_arrays_is_drawn_where_it_is_aimed_at(construct: str) -> None:
    aims = frozenset((construct, "outputs: 2"))
    for seed in range(20):
        found = subject(random.Random(f"{construct} {seed}"), COMPOSED, aims).constructs
        if construct in found:
            return
    pytest.fail(f"{construct} is not drawn")


_OF_LEVELS_AND_HOSTS = {
    "level: inside a level": cpu_schedule,
    "level: stored outside of a level": cpu_schedule,
    "host: a Func": gpu_schedule,
    "host: a pure stage": gpu_schedule,
    "host: an update": gpu_schedule,
}


@pytest.mark.parametrize("construct", _OF_LEVELS_AND_HOSTS)
def test_nested_levels_and_parts_on_the_host_are_drawn_without_aims(construct: str) -> None:
    drawn = _OF_LEVELS_AND_HOSTS[construct]
    rng = random.Random(construct)
    pipelines = [subject(rng, kind).pipeline for kind in ("reduction", "scan", "diamond") * 4]
    found = [construct in schedule_constructs(drawn(rng, p)) for p in pipelines for _ in range(8)]
    assert sum(found) >= 3


@pytest.mark.parametrize("layout", [DENSE, *LAYOUTS])
def test_layouts_keep_values_and_see_what_is_written_beside_them(layout: str) -> None:
    for shape in ((), (5,), (4, 6), (2, 3, 4), (3, 0)):
        values = np.arange(math.prod(shape), dtype=np.int16).reshape(shape)
        made = placed(values, layout)
        np.testing.assert_array_equal(made.array, values)
        assert not made.is_touched_elsewhere()
        made.array[...] = 7
        assert not made.is_touched_elsewhere()
        assert not placed(values > 2, layout).is_touched_elsewhere()
        assert not placed(np.full(shape, np.nan), layout).is_touched_elsewhere()
    beside = placed(np.zeros((4, 6), np.int16), layout)
    if "mirrored" in layout:
        assert min(beside.array.strides) < 0
    elif layout != "transposed" and layout != DENSE:
        beside._memory.reshape(-1)[1 if layout == "every second column" else 6] = 3
        assert beside.is_touched_elsewhere()


@pytest.mark.parametrize("name", ELEMENTARY)
@pytest.mark.parametrize("type", [Float32, Float64])
def test_the_last_place_of_elementary_functions_decides_nothing(name: str, type: Type) -> None:
    """Before they are rounded down, values are further from whole numbers than errors reach."""
    x, y = Variable(type, "x"), Variable(type, "y")
    places = (x, y) if name in ("pow", "atan2") else (x,)
    (before,) = coarse(name, *places).children
    for numbers_ in itertools.product(range(16), repeat=len(places)):
        value = value_of(before, dict(zip(("x", "y"), numbers_, strict=False)))
        if math.isfinite(value):
            near = abs(value - round(value)) / max(1.0, abs(value))
            assert near > 16 * np.finfo(np.float32).eps, numbers_


def test_coordinates_are_seen_as_they_are_written() -> None:
    image, p = ImageParam(UInt8, 2, "input"), Param(Int32, "p", default=2)
    f, out = Func("f"), Func("out")
    f[X, Y] = image[p - X, fixed.absd(Y, 3)] + image[X * -3, Y * p] + image[Y, X]
    out[X, Y] = f[-X, Y] ^ f[X + 1, 4]
    r = RDom([(0, 4)], "r")
    out[r * 2, Y] += out[r * 2 + 1, Y]
    found = written_constructs([out])
    places = {c.removeprefix("place: ") for c in found if c.startswith("place: ")}
    assert places == {
        "mirrored", "negated", "by 2", "by 3", "by a Param", "transposed", "offset", "fixed",
        "not linear", "two taps",
    }  # fmt: skip
    assert {"coordinate: absd", "value: bit_xor", "param: in a coordinate"} <= found
    assert "value: absd" not in found
    assert {"update: along scaled RVars", "update: reads other places of its own"} <= found


def test_coordinates_that_move_together_are_seen() -> None:
    image, f, g, out = ImageParam(UInt8, 2, "input"), Func("f"), Func("g"), Func("out")
    f[X, Y] = (image[X, Y], image[X, Y])
    g[X, Y] = f[X + Y, Y][1] + f[X + Y, Y + 1][1]
    out[Y] = image[Y, Y + 1] + image[3, fn.clamp(g[Y, 0], 0, 5) - fn.clamp(g[Y, 0], 0, 6)]
    assert "place: of equal limits" not in written_constructs([out])
    assert {"place: diagonal", "place: sheared", "place: two taps"} <= written_constructs([out])
    assert "values: unread component" in frozen_constructs(pipeline(out))
    out[Y] += image[2, fn.clamp(g[Y, 0], 0, 5) - fn.clamp(g[Y, 1], 0, 5)]
    assert "place: of equal limits" in written_constructs([out])
    plain = Func("plain")
    plain[X, Y] = image[X, Y] + image[Y, X]
    assert not written_constructs([plain]) & {
        "place: diagonal",
        "place: sheared",
        "place: two taps",
    }


def test_sizes_are_seen() -> None:
    found = size_constructs({"f": ((-3, 0), (1 << 28, 7)), "g": ((0, 1), (0, 4))})
    assert found == {
        "size: 0", "size: 1", "size: prime", "size: huge min", "size: negative min",
        "outputs: of unequal sizes", "outputs: empty beside others",
    }  # fmt: skip
    single = size_constructs({"f": ((-3, 1),), "g": ((0, 1), (0, 4)), "h": ()})
    assert "outputs: of one element beside others" in single
    assert "outputs: empty beside others" not in single


def test_schedules_are_seen() -> None:
    f, out = Func("f"), Func("out")
    f[X] = X * 2
    out[X] = f[X] + f[X + 1]
    made = schedule(pipeline(out)).func("f").compute_at("out", "x").store_root()
    made = made.func("out").vectorize("x", 4, Tail.SHIFT_INWARDS).never_partition("x")
    assert schedule_constructs(made.schedule) == {
        "level: at a loop", "level: root", "level: stored outside", "loop: vectorized",
        "tail: shift_inwards", "partition: never",
    }  # fmt: skip


def test_levels_inside_levels_and_parts_on_the_host_are_seen() -> None:
    f, g, out = Func("f"), Func("g"), Func("out")
    f[X, Y] = X + Y
    g[X, Y] = f[X, Y] + f[X, Y + 1]
    out[X, Y] = g[X, Y] + g[X + 1, Y]
    out[X, Y] += 1
    start = schedule(pipeline(out)).func("g").compute_at("out", "y").func("f")
    inside = start.compute_at("g", "y")
    assert "level: inside a level" in schedule_constructs(inside.schedule)
    for outer in (inside.store_root(), inside.store_at("out", "y")):
        assert "level: stored outside of a level" in schedule_constructs(outer.schedule)
    root = schedule(pipeline(out)).func("f").compute_root().func("g").compute_root().func("out")
    assert not _hosts(root)
    kernel = root.gpu_blocks("x")
    assert _hosts(kernel) == {"host: a Func", "host: an update"}
    assert _hosts(root.update(0).gpu_blocks("x")) == {"host: a Func", "host: a pure stage"}


def _hosts(made: Directives) -> set[str]:
    return {c for c in schedule_constructs(made.schedule) if c.startswith("host: ")}


def test_all_that_is_seen_is_counted() -> None:
    fuzzer = Fuzzer(3, aims=Aims(pipelines=((3, 90),), mixed=((5, 285),), schedules=((280, 290),)))
    known = set(universe())
    for number in range(0, 400, every(10)):
        found = constructs_of(fuzzer.case(number)) | fuzzer.oracle(number).subject.constructs
        assert found <= known, found - known


def test_pairs_are_counted_and_rules_that_all_broke_are_kept() -> None:
    pairs, last = Pairs(), len(universe()) - 1
    pairs.add((0, 4), True, ())
    pairs.add((0, last), False, ("race.update", "order.tail"))
    pairs.add((last, 0, 4), False, ("order.tail",))
    again = Pairs.of(pairs.json())
    for made in (pairs, again):
        assert (made.drawn[0, 0], made.drawn[last, 0], made.legal[0, 4]) == (3, 2, 1)
        assert made.common[0, last] == {"order.tail"}
    again.add((0, last), False, ("race.update",))
    assert not Pairs.of(again.json()).common[0, last]


def test_rare_pairs_are_aimed_at() -> None:
    pairs = Pairs()
    pairs.legal[:] = 20
    first, last = numbers(("value: lerp", "tail: predicate"))
    pairs.legal[first, last] = pairs.legal[last, first] = 3
    aims = rarest(random.Random(1), pairs, 9)
    assert aims == Aims(mixed=((first, last),))
    assert aims.of_subject(1, 0) == {"value: lerp", "tail: predicate"}
    assert {"tail: predicate"} in [aims.of_case(1, 0, n) for n in range(9)]
    pairs.drawn[first, last] = pairs.drawn[last, first] = 999
    assert rarest(random.Random(1), pairs, 9) == aims
    pairs.legal[first, last] = pairs.legal[last, first] = 0
    assert not rarest(random.Random(1), pairs, 9)


def test_nobody_aims_at_a_pair_that_no_case_can_have() -> None:
    pairs = Pairs()
    pairs.legal[:] = 20
    for names in (("images: 0", "image type: int8"), ("param type: int8", "param type: int16")):
        first, last = numbers(names)
        pairs.legal[first, last] = pairs.legal[last, first] = 0
    aims = rarest(random.Random(1), pairs, 9)
    assert aims.of_subject(1, 0) == {"param type: int8", "param type: int16"}


def test_a_pipeline_has_what_is_aimed_at_several_times() -> None:
    wanted = frozenset(
        ("param type: int8", "param type: uint64", "image type: bool", "image type: float64")
    )
    found = [subject(random.Random(n), COMPOSED, wanted).constructs for n in range(4)]
    assert any(wanted <= constructs for constructs in found)


def test_loops_of_a_gpu_are_drawn_on_a_cpu_where_no_call_runs_them() -> None:
    first, last = sorted(numbers(("device: cpu", "loop: gpu_thread")))
    aims = Aims(schedules=((first, last),))
    cases = ((draw(3, n, subject_of(3, n).pipeline, aims), n) for n in range(0, 300, 10))
    assert any(
        {"device: cpu", "loop: gpu_thread"} <= constructs_of(case)
        and verify(subject_of(3, n).pipeline, case.schedule, device("cpu")).legal
        for case, n in cases
    )


def test_a_journal_is_summed_up_and_read_again(tmp_path) -> None:
    journal = Journal.read(tmp_path / "j", 5, 10)
    aims = Aims(mixed=((1, 200),))
    journal.aim(0, 20, aims, (7,))
    for first in (0, 10, 20):
        summary = Summary(runs={"compiled": 3})
        met, reached = (((0, 1), True, ()), ((1, 2), False, ("a.b",))), ((first, (3, first)),)
        journal.add(Group(first, summary, met, reached))
    lines = len((tmp_path / "j").read_text().splitlines())
    journal.settle()
    assert lines == 4
    assert len((tmp_path / "j").read_text().splitlines()) == 3  # the sum, the aims, and a group
    again = Journal.read(tmp_path / "j", 5, 10)
    for made in (journal, again):
        assert made.done == {0, 10, 20}
        assert made.total.runs["compiled"] == 9
        assert made.pairs.drawn[1, 1] == 6
        assert made.corpus == {0: 2, 10: 1, 20: 1}
        assert made.branches == {0, 3, 10, 20}
        assert made.seeds_at(19) == (7,)
        assert made.aims_at(19) == aims
        assert not made.aims_at(20)
    assert not Journal.read(tmp_path / "j", 6, 10).done


def test_groups_that_failed_are_checked_again(tmp_path) -> None:
    journal = Journal.read(tmp_path / "j", 5, 10)
    journal.aim(0, 20, Aims(mixed=((1, 200),)))
    journal.add(Group(0, Summary(runs={"compiled": 3}), (((0, 1), True, ()),)))
    journal.add(Group(10, Summary(mismatches=["wrong"]), (((0, 1), True, ()),)))
    journal.settle()
    again = Journal.read(tmp_path / "j", 5, 10)
    assert again.total.mismatches == ["wrong"]
    assert again.pairs.legal[0, 1] == 2
    assert again.forget_failing() == 1
    for made in (again, Journal.read(tmp_path / "j", 5, 10)):
        assert made.done == {0}
        assert not made.total.mismatches
        assert made.pairs.legal[0, 1] == 1


def test_branches_that_were_not_known_are_recorded() -> None:
    # Verdicts take branches enough: code and proofs are for other numbers.
    fuzzer = Fuzzer(4, 7, Aims(schedules=((280, 290),)), proven_every=7)
    first, again = fuzzer.check(10), fuzzer.check(10)
    assert len(first.branches) > 100
    assert len(again.branches) < len(first.branches) / 4  # what is kept from before differs
    assert not fuzzer.check(11).branches
    assert sys.gettrace() is None


def test_cases_are_drawn_from_those_of_the_corpus() -> None:
    aims = Aims(schedules=((280, 290),))
    plain, near = Fuzzer(4, aims=aims), Fuzzer(4, aims=aims, corpus=(Seed(12, aims),))
    number_ = 3 * 10 + 4
    assert plain.case(number_).drawn != CORPUS
    drawn, origin = near.case(number_), plain.case(12)
    assert drawn.drawn == CORPUS
    assert near.oracle(number_).subject.pipeline == plain.oracle(12).subject.pipeline
    assert drawn.target == origin.target
    assert near.case(44) == plain.case(44)


def test_companions_are_drawn_beside_funcs_that_are_unknown() -> None:
    f, g, out, x = Func("f"), Func("g"), Func("out"), Var("x")
    f[x], g[x] = x * 2, x * 3
    out[x] = f[x] + g[x]
    made = pipeline(out)
    written = schedule(made).func("f").compute_root().func("g").compute_root().schedule
    nobody = evolve(written.of("f"), name="nobody")
    strange = Schedule((*written.funcs, nobody))
    found = [with_companion(random.Random(n), made, strange) for n in range(40)]
    assert any(func.companions for one in found for func in one.funcs)
    assert all(one.of("nobody") == nobody for one in found)
