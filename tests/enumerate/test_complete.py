"""Completions of schedules with open Funcs, as the solver and as brute force find them."""

import attrs
import pytest

from spaces import (
    Func,
    Options,
    Schedule,
    ScheduleSpace,
    Var,
    complete,
    device,
    open_funcs,
    parse_partial,
    parse_schedule,
    pipeline,
    search,
    verify,
)
from spaces.constraints.solver.encode import encode, models
from spaces.enumerate.search.events import Done
from spaces.enumerate.space.completing.universe import universe
from spaces.model.schedules.schedule import LoopAlign, LoopLevel
from tests.cpus import FOUR_CORES
from tests.draw_counts import some
from tests.enumerate.pipelines import (
    blur,
    chain,
    forked,
    long_chain,
    planes,
    row_sums,
    shuffled,
    two_outputs,
)

CPU, GPU = FOUR_CORES, device("sm_80")
STRIPS = Options(root=("strips",), row_tiles=(32, 128), tiles=(8, 512), lanes=(1,))
BLOCKS = Options(
    root=("blocks",), inner=("threads", "serial"), storage="compute",
    row_tiles=(32, 128), tiles=(8, 16),
)  # fmt: skip


def with_directives(*directives: str) -> Options:
    """Few patterns, so that the directives have few schedules to change."""
    return attrs.evolve(
        STRIPS, row_tiles=(32,), tiles=(8,), folds=(2, 4), short=40, directives=directives
    )


CASES = {
    "the output by hand": (blur(), "blur_y.tile(x, y, xi, yi, 64, 16).parallel(y)", CPU, STRIPS),
    "the producer by hand": (blur(), "blur_x.compute_at(blur_y, y)", CPU, STRIPS),
    "the middle of a chain": (chain(), "b.compute_at(c, yi).vectorize(x, 8)", CPU, STRIPS),
    "an update by hand": (row_sums(), "sums.compute_root().update(0).parallel(y)", CPU, STRIPS),
    "a kernel by hand": (blur(), "blur_y.gpu_tile(x, y, xi, yi, 32, 30)", GPU, BLOCKS),
    "nothing by hand": (blur(), "", GPU, BLOCKS),
    "everything by hand": (blur(), "blur_y.parallel(y); blur_x.compute_at(blur_y, x)", CPU, STRIPS),
}
TOPICS = {
    directive: (blur(32, 24), "blur_y.vectorize(x, 8)", CPU, with_directives(directive))
    for directive in (
        "hoist_storage",
        "store_in",
        "reorder_storage",
        "fold_storage",
        "align_storage",
        "bound_storage",
        "bound",
        "align_bounds",
    )
}
TOPICS["memoize"] = (shuffled(64), "out.vectorize(x, 8)", CPU, with_directives("memoize"))
TOPICS["async_"] = (blur(32, 24), "blur_y.vectorize(x, 8)", CPU, with_directives("async_"))
TOPICS["compute_with"] = (
    two_outputs(32), "shared.compute_root()", CPU, with_directives("compute_with")
)  # fmt: skip
TOPICS["compute_with, with an entry decided first"] = (
    planes(32), "second.vectorize(x, 8).parallel(y)", CPU, with_directives("compute_with")
)  # fmt: skip


@pytest.mark.parametrize("name", some([*CASES, *TOPICS]))
def test_completions_are_those_of_the_solver_and_of_brute_force(name: str):
    pipe, text, on, options = (CASES | TOPICS)[name]
    partial = parse_partial(text, pipe)
    completions = complete(pipe, partial, on, options=options)
    found = list(completions)
    assert completions.end == "all"
    assert len(set(found)) == len(found) > 0
    everything = universe(completions.space)
    candidates = {everything.schedule(choice) for choice in everything.choices()}
    assert set(found) == {s for s in candidates if verify(pipe, s, on)}
    solved = models(encode(everything, on))
    assert solved.end == "all"
    assert {everything.schedule(choice) for choice in solved.choices} == set(found)
    for schedule in found:
        assert all(schedule.of(entry.name) == entry for entry in partial.funcs)


ALIGNED = {"placements": ("root",), "alignments": (LoopAlign.AUTO, LoopAlign.ALIGN_END)}


def branches(width: int = 16, height: int = 8):
    """An output that reads two stages."""
    x, y = Var("x"), Var("y")
    first, second, out = Func("first"), Func("second"), Func("out")
    first[x, y] = x + y
    second[x, y] = x - y
    out[x, y] = first[x, y] + second[x, y] + second[x, y + 1]
    return pipeline(out, estimates={out: [width, height]})


@pytest.mark.parametrize(
    ("pipe", "given", "more", "shared"),
    some(
        pytest.param(*case, id=name)
        for name, case in {
            "restricted": (
                branches(),
                "out.parallel(y)",
                {"storage": "compute", "where": ["points(first) > 128"]},
                {0, 1},
            ),
            "three": (
                forked(32, readers=3),
                "middle.compute_root()",
                {"placements": ("root",)},
                {0, 1, 2},
            ),
            "aligned": (planes(32), "", ALIGNED, {0, 1}),
            "at loops": (
                branches(),
                "out.parallel(y)",
                {"root": ("serial",), "storage": "compute"},
                {0, 1},
            ),
            "a given one is decided last": (
                planes(32),
                "first.vectorize(x, 8).parallel(y)",
                ALIGNED,
                {0},
            ),
        }.items()
    ),
)
def test_the_solver_shares_loops_as_the_process_does(pipe, given, more, shared):
    where = more.get("where", ())
    options = attrs.evolve(
        with_directives("compute_with"), **{n: v for n, v in more.items() if n != "where"}
    )
    space = ScheduleSpace(pipe, CPU, options, parse_partial(given, pipe), where=where)
    listed, everything = list(space), universe(space)
    assert {sum(bool(f.companions) for f in one.funcs) for one in listed} == shared
    solved = models(encode(everything, CPU))
    assert {everything.schedule(choice) for choice in solved.choices} == set(listed)


@pytest.mark.parametrize("name", some(CASES))
def test_completions_are_the_members_of_the_whole_space_that_agree(name: str):
    """Entries by hand are often outside the options of the space; open entries never are."""
    pipe, _, on, options = CASES[name]
    whole = list(ScheduleSpace(pipe, on, options))
    member = whole[1]
    for name in (f.name for f in pipe.functions):
        partial = open_funcs(member, name)
        found = set(complete(pipe, partial, on, options=options))
        kept = [f.name for f in partial.funcs]
        assert found == {s for s in whole if all(s.of(n) == member.of(n) for n in kept)}
        assert member in found


def test_completions_come_one_by_one_in_one_order_and_say_how_they_end():
    pipe = chain()
    completions = complete(pipe, parse_partial("c.parallel(y)", pipe), CPU, limit=3)
    assert completions.end is None
    first = list(completions)
    assert (len(first), completions.end) == (3, "limit")
    assert list(completions) == first
    everything = complete(pipe, parse_partial("c.parallel(y)", pipe), CPU, seconds=0)
    assert (list(everything), everything.end) == ([], "unknown")
    none = complete(pipe, parse_schedule("c.vectorize(x)", pipe), CPU)
    assert (list(none), none.end) == ([], "all")


def test_a_space_with_fixed_funcs_counts_samples_and_is_searched():
    pipe = chain()
    fixed = parse_partial("b.compute_at(c, yi).vectorize(x, 8)", pipe)
    space = ScheduleSpace(pipe, CPU, STRIPS, fixed)
    listed = list(space)
    assert space.count() == len(listed)
    candidates = [s.at(i) for s in space.structures() for i in range(s.size)]
    assert [space.candidate(i) for i in range(space.candidates)] != []
    assert {space.candidate(i) for i in range(space.candidates)} == set(candidates)
    assert len(candidates) == space.candidates
    assert all(s in space for s in listed)
    assert set(space.sample(5, seed=1)) <= set(listed)
    *_, done = search(space, "reuse", "stagewise")
    assert isinstance(done, Done)
    best = done.best[0].schedule
    assert best.of("b") == fixed.of("b")
    assert best in listed


def test_candidates_are_counted_where_a_given_level_names_one_of_two_like_paths():
    """With f2 inlined f1 is inside f3; with f2 at root, whose loops are alike, it is not."""
    pipe = long_chain(4)
    fixed = parse_partial("f1.compute_at(f3, yi)", pipe)
    space = ScheduleSpace(
        pipe, CPU, attrs.evolve(STRIPS, placements=("inline", "root", "at")), fixed
    )
    listed = [s.at(i) for s in space.structures() for i in range(s.size)]
    assert space.candidates == len(listed)
    assert {space.candidate(i) for i in range(space.candidates)} == set(listed)


def test_entries_that_do_not_fit_are_refused_in_words():
    pipe = blur()
    default = Schedule.default(pipe)
    unknown = Schedule((attrs.evolve(default.funcs[0], name="blur_z"),))
    with pytest.raises(ValueError, match="has no Func 'blur_z'; it has blur_x, blur_y"):
        complete(pipe, unknown, CPU)
    with pytest.raises(ValueError, match="blur_x is scheduled twice"):
        complete(pipe, Schedule((default.funcs[0],) * 2), CPU)
    with pytest.raises(ValueError, match="blur_x has 1 stage, but 0 domain orders"):
        complete(pipe, Schedule((attrs.evolve(default.funcs[0], stages=()),)), CPU)
    named = parse_schedule("blur_y.split(x, x, xi, f)", pipe)
    with pytest.raises(ValueError, match="factors f of blur_y are no numbers"):
        complete(pipe, named, CPU)
    with pytest.raises(KeyError, match="blur_z"):
        open_funcs(default, "blur_z")


def test_a_partial_schedule_has_entries_for_the_funcs_that_its_text_names():
    pipe = chain()
    partial = parse_partial("b.compute_root();", pipe)
    assert [entry.name for entry in partial.funcs] == ["b"]
    assert partial.of("b").compute == LoopLevel("", "__root")
    # An entry equal to the default schedule counts as given, too.
    assert parse_partial("c.compute_root()", pipe) == open_funcs(Schedule.default(pipe), "a", "b")
