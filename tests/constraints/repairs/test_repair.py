"""Repairs are legal, and nearer than any other known legal schedule."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces import device, format_schedule, parse_schedule, repair, verify
from spaces.constraints.devices.device import Device
from spaces.constraints.examples import algorithms
from spaces.constraints.examples.catalogue import EXAMPLES
from spaces.constraints.examples.example import Example
from spaces.constraints.legality.verdict import Illegal
from spaces.constraints.repairs.greedy import descend
from spaces.constraints.repairs.repair import STARTING_OVER, Repair
from spaces.constraints.repairs.search import Culprits, Search
from spaces.constraints.rules.catalogue import PIPELINE_RULES
from spaces.model import deadline
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.directives.directives import Directives, schedule
from spaces.model.schedules.domain_order import DomainOrder, LoopKind, OrderedLoop, Split, Tail
from spaces.model.schedules.schedule import INLINE, ROOT, LoopLevel, MemoryType, Schedule
from tests.clocks import Clock
from tests.constraints import pipelines
from tests.constraints.repairs.distances import decisions_changed
from tests.constraints.repairs.pasting import pasted
from tests.constraints.solver.universes import two_stages
from tests.draw_counts import examples, some
from tests.model.directives.random_directives import directive_sequences, schedules

CPU, GPU = device("cpu"), device("sm_80")
BLUR = algorithms.blur(96, 64)
D = schedule(BLUR)


OF_ANY_SCHEDULE = {
    "bounds.impossible-estimates": "image input holds 0 to 64 in dimension 1, but 0 to 65",
    "gpu.required-values": "kernels on sm_80 cannot stop",
    "foreign.gpu": "foreign code computes, and sm_80 is a GPU",
}
REPAIRABLE = [e for e in EXAMPLES if e.rule not in OF_ANY_SCHEDULE]


@pytest.mark.parametrize("rule", [rule.id for rule in PIPELINE_RULES])
def test_what_no_schedule_mends_is_not_repaired(rule: str):
    (broken,) = (e.broken for e in EXAMPLES if e.rule == rule)
    found = repair(broken.pipeline, broken.schedule, broken.device)
    assert (found.answer, found.schedule, found.edits) == ("none", None, ())
    assert "none is legal for the device" in str(found)
    assert OF_ANY_SCHEDULE[rule] in str(found)


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("example", REPAIRABLE, ids=lambda e: e.rule)
def test_every_broken_example_is_repaired_by_no_more_than_its_neighbor_differs(example: Example):
    broken, legal = example.broken, example.legal
    found = repair(broken.pipeline, broken.schedule, broken.device, seconds=math.inf)
    assert found.answer == "nearest", str(found)
    assert found.schedule is not None
    assert verify(broken.pipeline, found.schedule, broken.device)
    assert found.edits[-1].after == found.schedule
    assert found.changes >= len(found.edits)
    if is_writable(broken.pipeline, broken.schedule):
        assert states_its_edits(broken.pipeline, broken.schedule, found)
    else:
        assert all(edit.text for edit in found.edits)
    if legal.device == broken.device and legal.pipeline == broken.pipeline:
        assert found.changes <= decisions_changed(broken.schedule, legal.schedule)
    else:
        # The neighbor is another device, size or algorithm: nothing of the schedule differs.
        of_operators = ("derive.operator", "race.atomic")
        assert example.rule in ("gpu.device", "gpu.grid-dimension", "bounds.floats", *of_operators)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.rule)
def test_a_legal_schedule_stays(example: Example):
    subject = example.legal
    found = repair(subject.pipeline, subject.schedule, subject.device)
    assert (found.answer, found.schedule, found.edits) == ("legal", subject.schedule, ())


def states_its_edits(pipeline: Pipeline, broken: Schedule, found: Repair) -> bool:
    """Whether the stated edits, pasted into the text of a schedule, give the repaired one."""
    assert found.schedule is not None
    text = pasted(format_schedule(broken, pipeline), found.edits)
    return parse_schedule(text, pipeline) == found.schedule


def is_writable(pipeline: Pipeline, broken: Schedule) -> bool:
    try:
        format_schedule(broken, pipeline)
    except ValueError:
        return False
    return True


def tile(x: int, y: int) -> Directives:
    tiled = D.gpu_tile("x", "y", "xi", "yi", x, y)
    return tiled.func("bx").compute_at("by", "x").gpu_threads("x", "y")


def test_a_block_of_too_many_threads_gets_a_smaller_tile():
    found = repair(BLUR, tile(32, 32).schedule, GPU)
    # 32 x (30 + 2) = 1024 threads, and 30 x (32 + 2) = 1020: as near, but y is not the rows.
    assert found.schedule == tile(32, 30).schedule
    assert [e.text for e in found.edits] == [
        "by.gpu_tile(x, y, xi, yi, 32, 30) instead of gpu_tile(x, y, xi, yi, 32, 32)"
    ]
    assert found.distance == pytest.approx(math.log2(32 / 30))


def test_the_nearest_factors_are_those_of_brute_force():
    for x, y in ((64, 32), (33, 64), (7, 300), (1, 2000)):
        family = ((a, b) for a, b in itertools.product(range(1, 2001), (y,)) if a != x)
        family = itertools.chain(family, ((x, b) for b in range(1, 2001) if b != y))
        # bx needs two more lines than the tile; 96 x 64 values are the whole output.
        legal = [(a, b) for a, b in family if a * (b + 2) <= 1024 and a <= 96 and b <= 64]
        least = min(abs(math.log2(a / x)) + abs(math.log2(b / y)) for a, b in legal)
        found = repair(BLUR, tile(x, y).schedule, GPU)
        assert found.changes == 1
        assert found.distance == pytest.approx(least)


def test_a_factor_of_a_specialization_is_changed_before_it_is_left_out():
    text = "by.specialize(by.width() >= 512).gpu_tile(x, y, xi, yi, 64, {}); by.never_partition(y);"
    found = repair(BLUR, parse_schedule(text.format(32), BLUR), GPU)
    assert found.schedule == parse_schedule(text.format(16), BLUR)  # 64 x 16 = 1024 threads
    assert [e.text for e in found.edits] == [
        "by.gpu_tile(x, y, xi, yi, 64, 16) instead of gpu_tile(x, y, xi, yi, 64, 32)"
    ]


def test_a_loop_that_is_split_keeps_its_partition():
    wrong = parse_schedule("by.gpu_blocks(y).gpu_threads(x).never_partition(y);", BLUR)
    (order,) = repair(BLUR, wrong, GPU).schedule.of("by").stages
    assert order.partitions == wrong.of("by").stages[0].partitions != ()


WRITTEN = {
    "a loop and a level misspelt": (
        "by.split(y, yo, yi, 8).parallel(yoo); bx.compute_at(by, yii)",
        CPU,
        "by.split(y, yo, yi, 8).parallel(yo)\nbx.compute_at(by, yi)",
    ),
    "vectors of unknown width": ("by.vectorize(x)", CPU, "by.split(x, x, xi, 8).vectorize(xi)"),
    "storage inside a kernel": (
        "by.gpu_tile(x, y, xi, yi, 32, 8); bx.compute_at(by, x).gpu_threads(x).store_in(stack)",
        GPU,
        "by.gpu_tile(x, y, xi, yi, 32, 8)\nbx.compute_at(by, x).gpu_threads(x)",
    ),
    "a name taken twice": ("by.split(x, xo, y, 8)", CPU, "by.split(x, xo, xi, 8)"),
    "an outer name taken twice": ("by.split(x, y, xi, 8)", CPU, "by.split(x, xii, xi, 8)"),
    "two vectors of one name": (
        "by.split(x, x, v, 8).vectorize(v).split(x, x, v, 4).vectorize(v)",
        CPU,
        "by.split(x, x, v, 8).split(x, x, xi, 4).vectorize(v).vectorize(xi)",
    ),
    "a reorder of an unknown loop": ("by.reorder(nope, x)", CPU, ""),
    "a reorder of an unknown loop after a tile": (
        "by.tile(x, y, xi, yi, 32, 8).reorder(nope, xi, yi, x, y)",
        CPU,
        "by.tile(x, y, xi, yi, 32, 8)",
    ),
    "a fuse of a loop with itself": ("by.fuse(x, x, t)", CPU, ""),
    "threads without blocks": (
        "by.split(x, xo, xi, 32).gpu_threads(xi)",
        GPU,
        "by.split(x, xo, xi, 32).gpu_blocks(y).gpu_threads(xi)",
    ),
    "threads without blocks in two loops": ("by.gpu_threads(x, y)", GPU, "by.gpu_tile(y, yi, 8)"),
    "a loop vectorized inside and outside": (
        "by.split(x, x, xi, 8).vectorize(x).vectorize(xi)",
        CPU,
        "by.split(x, x, xi, 8).vectorize(xi)",
    ),
    "blocks inside threads": (
        "by.tile(x, y, xi, yi, 8, 4).gpu_threads(x, y).gpu_blocks(xi, yi)",
        GPU,
        "by.gpu_tile(x, y, xi, yi, 8, 4)",
    ),
    "threads without blocks in a producer": (
        "bx.compute_root().split(x, x, xi, 8).gpu_threads(xi)",
        GPU,
        "bx.compute_root().split(x, x, xi, 8).gpu_blocks(y).gpu_threads(xi)",
    ),
    "a split by nothing": ("by.split(x, xo, xi, 0)", CPU, "by.split(x, xo, xi, 16)"),
    "a fold of all that is stored": (
        "bx.compute_root().fold_storage(y, 2)",
        CPU,
        "bx.compute_root()",
    ),
    "a misspelt level": (
        "by.tile(x, y, xi, yi, 32, 8); bx.compute_at(by, xii)",
        CPU,
        "by.tile(x, y, xi, yi, 32, 8)\nbx.compute_at(by, xi)",
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_was_meant_is_found(name: str):
    text, on, wanted = WRITTEN[name]
    found = repair(BLUR, parse_schedule(text, BLUR), on, seconds=math.inf)
    assert found.schedule is not None
    meant = parse_schedule(wanted, BLUR)
    assert format_schedule(found.schedule, BLUR) == format_schedule(meant, BLUR)
    assert states_its_edits(BLUR, parse_schedule(text, BLUR), found)


def test_a_directive_left_out_is_one_that_was_written():
    written = parse_schedule("by.reorder(x, x)", BLUR)
    (edit,) = repair(BLUR, written, CPU, seconds=math.inf).edits
    assert edit.text == "by.reorder(x, x) left out"


def test_an_edit_of_what_another_has_written_is_stated_with_it():
    written = parse_schedule("by.gpu_threads(x, y)", BLUR)
    found = repair(BLUR, written, GPU, seconds=math.inf)
    (edit,) = found.edits
    assert edit.text == "by.gpu_tile(y, yi, 8) instead of gpu_threads(x, y)"
    assert found.changes == edit.changes == 2
    assert "changes 2 decisions" in str(found)


def test_a_race_of_threads_is_mended_by_atomic():
    sums = algorithms.total()
    kernel = "s.compute_root(); s.update().gpu_tile(x, xi, 8){}.gpu_threads(r.y)"
    racing = parse_schedule(kernel.format(""), sums)
    found = repair(sums, racing, GPU, seconds=math.inf)
    assert found.schedule == parse_schedule(kernel.format(".atomic()"), sums)
    assert states_its_edits(sums, racing, found)


# Brute force, and edits made by hand


def members() -> dict[str, list[Schedule]]:
    universe = two_stages()
    found: dict[str, list[Schedule]] = {"legal": [], "illegal": []}
    choices = itertools.islice(some(universe.choices()), 0, None, 3)
    for one in dict.fromkeys(map(universe.schedule, choices)):
        legal = verify(universe.pipeline, one, CPU)
        found["legal" if legal else "illegal"].append(one)
    return found


def test_no_legal_member_of_a_universe_is_nearer():
    found = members()
    pipe = two_stages().pipeline
    compared, wanted = 0, examples(12, fewest=3)
    for broken in random.Random(5).sample(found["illegal"], len(found["illegal"])):
        if compared == wanted:
            break
        least = min(decisions_changed(broken, legal) for legal in found["legal"])
        if least > 2:
            continue
        compared += 1
        mended = repair(pipe, broken, CPU, seconds=math.inf)
        assert mended.answer == "nearest"
        assert mended.changes <= least
        assert mended.schedule is not None
        assert decisions_changed(broken, mended.schedule) >= 1
    assert compared == wanted


FACTORS = (1, 2, 3, 4, 7, 8, 9, 16, 31, 32, 33, 63, 64, 69)


def neighbors(pipe: Pipeline, given_: Schedule, on: Device) -> Iterator[Schedule]:
    """Every schedule that differs in one decision, as directives can write it."""
    for func in given_.funcs:
        readers = [f for f in given_.funcs if f.name != func.name]
        levels = [LoopLevel(f.name, n) for f in readers for o in f.stages for n in o.names]
        for level in (INLINE, ROOT, *levels):
            follows = func.store == func.compute or level == INLINE
            yield given_.replace(
                attrs.evolve(func, compute=level, store=level if follows else func.store)
            )
            yield given_.replace(attrs.evolve(func, store=level))
        yield given_.replace(attrs.evolve(func, store=func.compute))
        for memory in MemoryType:
            yield given_.replace(attrs.evolve(func, memory=memory))
        for stage, order in enumerate(func.stages):
            for loops in itertools.permutations(order.loops):
                yield given_.with_stage(func.name, stage, attrs.evolve(order, loops=loops))
            for i, kind in itertools.product(range(len(order.loops)), LoopKind):
                if on == GPU or not kind.startswith("gpu"):
                    loops = list(order.loops)
                    loops[i] = OrderedLoop(loops[i].name, kind)
                    changed = attrs.evolve(order, loops=tuple(loops))
                    yield given_.with_stage(func.name, stage, changed)
            for i, record in enumerate(order.splits):
                factors = [attrs.evolve(record, factor=n) for n in FACTORS]
                tails = [attrs.evolve(record, tail=t) for t in Tail]
                for other in (*factors, *tails):
                    splits = (*order.splits[:i], other, *order.splits[i + 1 :])
                    yield given_.with_stage(func.name, stage, DomainOrder(splits, order.loops))


TWICE = {
    "two levels, one inside a vector": (
        D.split("y", "y", "yi", 8).vectorize("x").parallel("yi").func("bx").compute_at("by", "q"),
        CPU,
    ),
    "a kernel on a grid too far in": (
        D.gpu_tile("x", "y", "xi", "yi", 64, 32).parallel("y"),
        GPU,
    ),
    "stored in parallel, and too large a tile": (
        D.tile("x", "y", "xi", "yi", 128, 8).parallel("y").func("bx").store_root()
        .compute_at("by", "yi"),
        CPU,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TWICE)
def test_one_edit_would_not_do_where_two_are_given(name: str):
    directives, on = TWICE[name]
    found = repair(BLUR, directives.schedule, on, seconds=math.inf)
    assert (found.answer, found.changes, found.exhausted) == ("nearest", 2, 1)
    assert found.schedule is not None
    assert verify(BLUR, found.schedule, on)
    nearer = [s for s in neighbors(BLUR, directives.schedule, on) if verify(BLUR, s, on)]
    assert nearer == []


LEGAL = [
    (D.split("y", "y", "yi", 8).parallel("y").func("bx").compute_at("by", "yi"), CPU),
    (
        D.tile("x", "y", "xi", "yi", 32, 8).vectorize("xi").func("bx").store_at("by", "x")
        .compute_at("by", "yi").fold_storage("y", 4),
        CPU,
    ),
    (D.func("bx").compute_root().split("x", "x", "xi", 16).vectorize("xi").parallel("y"), CPU),
    (tile(32, 8), GPU),
    (D.gpu_tile("x", "y", "xi", "yi", 16, 4).func("bx").compute_at("by", "xi"), GPU),
]  # fmt: skip


@st.composite
def mutations(draw: st.DrawFn, given_: Schedule) -> Schedule:
    """A random change of one decision."""
    func = draw(st.sampled_from(given_.funcs))
    stage = draw(st.integers(0, len(func.stages) - 1))
    order = func.stages[stage]
    loops = [LoopLevel(f.name, n) for f in given_.funcs for o in f.stages for n in o.names]
    splits = [i for i, r in enumerate(order.splits) if isinstance(r, Split)]
    what = draw(st.sampled_from(["level", "store", "memory", "kind", "order", "factor", "factor"]))
    match what:
        case "level":
            level = draw(st.sampled_from([INLINE, ROOT, *loops]))
            follows = func.store == func.compute or level == INLINE
            store = level if follows else func.store
            return given_.replace(attrs.evolve(func, compute=level, store=store))
        case "store":
            return given_.replace(attrs.evolve(func, store=draw(st.sampled_from([ROOT, *loops]))))
        case "memory":
            return given_.replace(attrs.evolve(func, memory=draw(st.sampled_from(MemoryType))))
        case "kind":
            i = draw(st.integers(0, len(order.loops) - 1))
            changed = list(order.loops)
            changed[i] = OrderedLoop(changed[i].name, draw(st.sampled_from(LoopKind)))
            return given_.with_stage(func.name, stage, attrs.evolve(order, loops=tuple(changed)))
        case "order":
            moved = tuple(draw(st.permutations(order.loops)))
            return given_.with_stage(func.name, stage, attrs.evolve(order, loops=moved))
        case _ if splits:
            i = draw(st.sampled_from(splits))
            record = attrs.evolve(order.splits[i], factor=draw(st.integers(-1, 2000)))
            records = (*order.splits[:i], record, *order.splits[i + 1 :])
            return given_.with_stage(func.name, stage, DomainOrder(records, order.loops))
    return given_


@settings(max_examples=examples(40), deadline=None)
@given(st.sampled_from(LEGAL), st.integers(1, 2), st.data())
def test_a_mutation_is_undone_by_no_more_edits_than_it_made(legal, count: int, data):
    directives, on = legal
    mutated = directives.schedule
    assert verify(BLUR, mutated, on)
    for _ in range(count):
        mutated = data.draw(mutations(mutated))
    found = repair(BLUR, mutated, on, seconds=math.inf)
    assert found.answer in ("legal", "nearest")
    assert found.changes <= count
    assert found.schedule is not None
    assert verify(BLUR, found.schedule, on)
    assert states_its_edits(BLUR, mutated, found)


# What cannot be repaired, and what is not known


def test_without_time_the_default_schedule_is_offered_and_said_not_to_be_known_as_nearest():
    broken = D.vectorize("x").func("bx").compute_at("by", "q").schedule
    found = repair(BLUR, broken, CPU, seconds=0)
    assert found.answer == "near"
    assert found.schedule == Schedule.default(BLUR)
    assert "whether a nearer one is legal is unknown" in str(found)
    # by has one kind changed, bx its level.
    assert found.changes == decisions_changed(broken, Schedule.default(BLUR)) == 2


def test_what_no_schedule_mends_is_said():
    endless = pipelines.looked_up()
    found = repair(endless, Schedule.default(endless), CPU, seconds=math.inf, most=1)
    assert (found.answer, found.schedule, found.exhausted) == ("none", None, 1)
    assert "Nothing repairs the schedule" in str(found)
    assert "out reads input at `input(x)` in dimension 0, which has no limits" in str(found)
    unknown = repair(endless, schedule(endless).vectorize("x").schedule, CPU, seconds=0)
    assert unknown.answer == "unknown"
    assert "Give it more seconds" in str(unknown)


def test_more_edits_than_are_tried_lead_to_a_schedule_that_may_not_be_nearest():
    pipe = BLUR
    gpu = tile(32, 8).schedule
    found = repair(pipe, gpu, CPU, seconds=math.inf, most=1)
    assert (found.answer, found.exhausted) == ("near", 1)
    assert found.schedule is not None
    assert verify(pipe, found.schedule, CPU)


@settings(max_examples=examples(15), deadline=None)
@given(st.sampled_from([BLUR, algorithms.total(), algorithms.chain()]), st.data())
def test_anything_written_ends_as_a_legal_schedule_in_about_the_time_given(pipe: Pipeline, data):
    written = data.draw(st.one_of(directive_sequences(pipe).map(lambda d: d.schedule),
                                  schedules(pipe)))  # fmt: skip
    on = data.draw(st.sampled_from([CPU, GPU]))
    clock = Clock()
    clock.step = 0.002
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deadline, "monotonic", clock)
        found = repair(pipe, written, on, seconds=0.2)
    assert clock.now < 0.2 + STARTING_OVER + 0.1
    assert found.answer in ("legal", "nearest", "near")
    assert found.schedule is not None
    assert verify(pipe, found.schedule, on)
    if is_writable(pipe, written):
        assert states_its_edits(pipe, written, found)


def test_edits_that_lead_back_to_a_schedule_are_not_made_again():
    broken = tile(1024, 1024).schedule
    verdict = verify(BLUR, broken, GPU)
    assert isinstance(verdict, Illegal)
    search = Search(BLUR, GPU, math.inf, Culprits.of(verdict))
    assert descend(search, broken) is None
    assert search.tried < 300  # each time round tries 134 edits


def test_what_two_funcs_clash_with_is_changed_once_at_their_reader():
    chain = algorithms.chain()
    d = schedule(chain).parallel("y")
    for func in ("a", "b"):
        d = d.func(func).store_root().compute_at("c", "y")
    found = repair(chain, d.schedule, CPU, seconds=math.inf)
    assert (found.answer, found.changes) == ("nearest", 1)
    assert found.edits[0].func == "c"


def test_a_repair_by_more_edits_than_were_tried_is_not_said_to_be_nearest():
    """Four loops are to run on a GPU; each takes an edit to run on a CPU."""
    broken = D.gpu_tile("x", "y", "xi", "yi", 8, 8).schedule
    found = repair(BLUR, broken, CPU, most=2, seconds=math.inf)
    assert found.answer == "near"
    assert found.exhausted == 2
    assert found.schedule is not None
    assert verify(BLUR, found.schedule, CPU)
