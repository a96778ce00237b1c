"""Canonical forms: what they ignore, what they keep, and how far apart two are."""

from __future__ import annotations

import random

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.apps.catalog import APPS
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.declaration import DIRECTIVES
from spaces.model.directives.directives import schedule
from spaces.model.nest.canonical import canonical_form, distance, same_schedule
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.domain_order import DomainOrder, Fuse, OrderedLoop, Split, Tail
from spaces.model.schedules.schedule import SETTINGS, LoopLevel, Schedule
from spaces.model.writing.text import format_schedule, parse_schedule
from tests.draw_counts import examples, some
from tests.drawn_pipelines import schedules, stencil_pipelines
from tests.model.pipelines import blur


def renamed(plan: Schedule) -> Schedule:
    """The same schedule of Funcs without updates with other names for all loops made by splits."""
    names: dict[str, dict[str, str]] = {}
    for entry in plan.funcs:
        (order,) = entry.stages
        own = names[entry.name] = {}
        for number, record in enumerate(order.splits):
            for loop in record.taken:
                own.pop(loop, None)
            own |= {loop: f"new_{number}_{place}" for place, loop in enumerate(record.made)}

    def level(old: LoopLevel) -> LoopLevel:
        return LoopLevel(old.func, names.get(old.func, {}).get(old.loop, old.loop))

    return plan.with_funcs(
        evolve(
            entry,
            stages=(_renamed(entry.stages[0]),),
            compute=level(entry.compute),
            store=level(entry.store),
        )
        for entry in plan.funcs
    )


def _renamed(order: DomainOrder) -> DomainOrder:
    now: dict[str, str] = {}
    records: list[Split | Fuse] = []
    for number, record in enumerate(order.splits):
        taken = [now.pop(loop, loop) for loop in record.taken]
        made = [f"new_{number}_{place}" for place in range(len(record.made))]
        now |= dict(zip(record.made, made, strict=True))
        if isinstance(record, Split):
            outer, inner = made
            records.append(evolve(record, old=taken[0], outer=outer, inner=inner))
        else:
            records.append(Fuse(*taken, *made))
    loops = tuple(OrderedLoop(now.get(loop.name, loop.name), loop.kind) for loop in order.loops)
    return DomainOrder(tuple(records), loops)


@st.composite
def scheduled(draw: st.DrawFn) -> tuple[Pipeline, Schedule]:
    algorithm = draw(stencil_pipelines())
    return algorithm, draw(schedules(algorithm))


@settings(max_examples=examples(60))
@given(scheduled())
def test_names_of_loops_do_not_matter(given_: tuple[Pipeline, Schedule]) -> None:
    algorithm, plan = given_
    other = renamed(plan)
    assert [len(f.stages[0].splits) for f in plan.funcs] == [
        len(f.stages[0].splits) for f in other.funcs
    ]
    first, second = canonical_form(algorithm, plan), canonical_form(algorithm, other)
    assert first == second
    assert first.digest == second.digest
    assert distance(first, second) == 0
    # The renamed schedule is one: its loops are as many, and as long.
    loops, others = (
        [
            [(v.kind, v.extent) for v in placed.stages[0].loops if not v.extent.names]
            for placed in loop_nest(algorithm, one).placements.values()
        ]
        for one in (plan, other)
    )
    assert loops == others


@settings(max_examples=examples(60))
@given(scheduled(), st.data())
def test_equal_forms_are_schedules_with_the_same_loops(
    given_: tuple[Pipeline, Schedule], data: st.DataObject
) -> None:
    """Two drawn schedules of a pipeline that differ in the kinds, the number or the order of loops,
    or in a level, have different forms.
    """
    algorithm, plan = given_
    other = data.draw(schedules(algorithm))

    def shape(one: Schedule) -> object:
        return [
            (f.compute.is_inline, f.compute.is_root, [lo.kind for lo in f.stages[0].loops])
            for f in one.funcs
        ]

    if shape(plan) != shape(other):
        assert not same_schedule(algorithm, plan, other)


@pytest.mark.parametrize("name", some(APPS))
def test_forms_of_hand_schedules_survive_text(name: str) -> None:
    algorithm = APPS[name].pipeline()
    forms = set()
    for file in APPS[name].schedules.values():
        plan = parse_schedule(file.read_text(), algorithm)
        again = parse_schedule(format_schedule(plan, algorithm), algorithm)
        assert same_schedule(algorithm, plan, again)
        forms.add(canonical_form(algorithm, plan))
    assert len(forms) > 1


def test_the_order_of_splits_of_different_loops_does_not_matter() -> None:
    algorithm = blur()
    output = algorithm.outputs[0]
    one = schedule(algorithm).func(output).split("x", "x", "xi", 8).split("y", "y", "yi", 4)
    two = schedule(algorithm).func(output).split("y", "t", "u", 4).split("x", "v", "w", 8)
    first = one.reorder("xi", "yi", "x", "y").schedule
    second = two.reorder("w", "u", "v", "t").schedule
    assert first != second
    assert same_schedule(algorithm, first, second)
    assert not same_schedule(algorithm, first, two.reorder("u", "w", "v", "t").schedule)


def test_it_matters_which_fused_loop_is_aligned() -> None:
    x, y, f, g = Var("x"), Var("y"), Func("f"), Func("g")
    f[x, y] = x + y
    g[x, y] = x - y
    algorithm = pipeline([f, g])
    texts = [
        f"g.compute_with(f, x, {{{{{aligned}, LoopAlignStrategy::{align}}}}})"
        for align in ("AlignStart", "AlignEnd")
        for aligned in ("x", "y")
    ]
    forms = {canonical_form(algorithm, parse_schedule(text, algorithm)) for text in texts}
    assert len(forms) == 4


def test_names_in_a_case_do_not_matter_but_what_levels_mean_there() -> None:
    algorithm = blur()
    producer, output = algorithm.functions[0].name, algorithm.outputs[0]

    def plan(outer: str, inner: str, in_case: tuple[str, str]) -> Schedule:
        text = (
            f"{output}.specialize({output}.width() >= 8).split(x, {in_case[0]}, {in_case[1]}, 8)\n"
            f"{output}.split(x, {outer}, {inner}, 8)\n{producer}.compute_at({output}, {outer})"
        )
        return parse_schedule(text, algorithm)

    first = plan("a", "b", ("a", "b"))
    assert same_schedule(algorithm, first, plan("b", "c", ("b", "c")))
    forms = [canonical_form(algorithm, one) for one in (first, plan("a", "b", ("b", "a")))]
    assert distance(*forms) == 2  # where the producer is computed and stored in the case
    assert forms[0].loops[f"{output} case 0"] == ("y", "x.0", "x.1")


def test_cases_are_numbered_by_stage() -> None:
    x, f, r = Var("x"), Func("f"), RDom([(0, 4)], "r")
    f[x] = x
    f[x] += r.x
    algorithm = pipeline(f)
    lines = ("f.specialize(f.width() > 3)", "f.update(0).specialize(f.width() > 5).parallel(x)")
    form = canonical_form(algorithm, parse_schedule("\n".join(lines), algorithm))
    assert form.parts["f case 0 condition"] == "f.extent.0 > 3"
    assert form.parts["f.update(0) case 0 condition"] == "f.extent.0 > 5"


def test_tails_count_as_written() -> None:
    """What an automatic tail means depends on factors, which may be open."""
    algorithm = blur()
    output = schedule(algorithm).func(algorithm.outputs[0])
    plans = [output.split("x", "x", "xi", 8, tail).schedule for tail in Tail]
    assert len({canonical_form(algorithm, plan) for plan in plans}) == len(Tail)
    assert same_schedule(algorithm, plans[0], output.split("x", "a", "b", 8).schedule)


def test_the_distance_counts_decisions() -> None:
    algorithm = blur()
    producer, output = algorithm.functions[0].name, algorithm.outputs[0]
    plain = schedule(algorithm)
    start = canonical_form(algorithm, plain.schedule)

    def apart(plan: Schedule) -> int:
        return distance(start, canonical_form(algorithm, plan))

    assert apart(plain.func(output).parallel("y").schedule) == 1
    assert apart(plain.func(output).reorder("y", "x").schedule) == 1
    assert apart(plain.func(producer).compute_root().schedule) == 2  # where it is stored, too
    assert apart(plain.func(output).parallel("y").func(producer).compute_root().schedule) == 3


def test_a_schedule_of_other_funcs_is_refused() -> None:
    algorithm = blur()
    with pytest.raises(ValueError, match="give one entry for each Func"):
        canonical_form(algorithm, Schedule(()))


def test_forms_are_keys_and_the_digest_is_the_same_in_every_process() -> None:
    algorithm = blur()
    plan = schedule(algorithm).schedule
    entries = list(plan.funcs)
    random.Random(0).shuffle(entries)
    assert {canonical_form(algorithm, plan)} == {
        canonical_form(algorithm, plan.with_funcs(reversed(entries)))
    }
    assert len(canonical_form(algorithm, plan).digest) == 32


def test_forms_do_not_write_inlined_definitions_out() -> None:
    """In the default schedule of local Laplacian one value reads some 10^10 others."""
    algorithm = APPS["local_laplacian"].pipeline()
    form = canonical_form(algorithm, Schedule.default(algorithm))
    assert form.parts["output compute"] == "root"


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_of_a_func_are_kept(setting: str) -> None:
    algorithm = blur()
    plain = Schedule.default(algorithm)
    entry = plain.funcs[0]
    value, argument = (True, "") if SETTINGS[setting] is False else (3, "3")
    changed = plain.replace(evolve(entry, **{setting: value}))
    assert not same_schedule(algorithm, plain, changed)
    (written,) = (d.spelled for d in DIRECTIVES.values() if d.setting == setting)
    assert f"{entry.name}.{written}({argument})" in format_schedule(changed, algorithm)
    assert parse_schedule(format_schedule(changed, algorithm), algorithm) == changed
