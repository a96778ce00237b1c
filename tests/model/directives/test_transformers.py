"""[TOY]'s transformers: the edits of a schedule, and that none of them breaks a schedule."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.transformers import enumerate_edits
from spaces.model.nest.loopnest import loop_nest
from spaces.model.nest.tree import schedule_tree
from spaces.model.nest.well_formed import well_formed
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.levels import Levels
from spaces.model.schedules.named_levels import NamedLevels
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule, parse_schedule
from tests.draw_counts import is_thorough
from tests.drawn_pipelines import stencil_pipelines
from tests.model.nest.nest_interpreter import ideal, run_nest
from tests.model.pipelines import blur, box, diamond

BLUR, BOX, DIAMOND = blur(), box(), diamond()
KINDS = tuple(LoopKind)


@st.composite
def walked(draw: st.DrawFn, algorithm: Pipeline, most: int = 8) -> Schedule:
    """The schedule after random edits of the default one."""
    schedule = Schedule.default(algorithm)
    for _ in range(draw(st.integers(0, most))):
        schedule = draw(st.sampled_from(list(enumerate_edits(algorithm, schedule, (2, 4))))).after
    return schedule


@settings(max_examples=150 if is_thorough() else 25)
@given(st.data(), st.sampled_from([BLUR, BOX, DIAMOND]))
def test_a_walk_stays_well_formed(data: st.DataObject, algorithm: Pipeline) -> None:
    schedule = data.draw(walked(algorithm))
    assert well_formed(schedule_tree(algorithm, schedule), algorithm) == []
    loop_nest(algorithm, schedule)
    assert parse_schedule(format_schedule(schedule, algorithm), algorithm) == schedule
    for edit in enumerate_edits(algorithm, schedule, (4,), KINDS):
        before = {entry.name: entry for entry in schedule.funcs}
        changed = [entry.name for entry in edit.after.funcs if entry != before[entry.name]]
        assert changed == [edit.func], edit
        assert well_formed(schedule_tree(algorithm, edit.after), algorithm) == [], edit


@settings(max_examples=40 if is_thorough() else 7)
@given(st.data())
def test_a_walk_does_not_change_what_is_computed(data: st.DataObject) -> None:
    algorithm = data.draw(stencil_pipelines(max_stages=3))
    schedule = data.draw(walked(algorithm, 6))
    (output,) = algorithm.outputs

    def image(name: str, at: tuple[int, ...]) -> int:
        return (at[0] * 7 + at[1] * 13 + at[0] * at[1]) % 101

    # A multiple of all products of factors up to two splits of a loop.
    sizes = {f"{output}.{p}.{d}": v for d in range(2) for p, v in (("min", 0), ("extent", 16))}
    outputs, _ = run_nest(loop_nest(algorithm, schedule), sizes, image)
    at = data.draw(st.tuples(st.integers(0, 15), st.integers(0, 15)))
    assert outputs[output][at] == ideal(algorithm, output, at, image)


@given(st.data(), st.sampled_from([BLUR, BOX, DIAMOND]))
def test_levels_from_names_are_levels_from_definitions(
    data: st.DataObject, algorithm: Pipeline
) -> None:
    schedule = data.draw(walked(algorithm))
    by_names, by_definitions = NamedLevels(algorithm, schedule), Levels(algorithm, schedule)
    for func in schedule.funcs:
        if not func.compute.is_inline:
            assert by_names.enclosing(func.name) == by_definitions.enclosing(func.name)
            assert by_names.compute_path(func.name) == by_definitions.compute_path(func.name)


def listed(text: str, *kinds: LoopKind, algorithm: Pipeline = BLUR) -> dict[str, str]:
    """The texts of all edits of a schedule, and what each leads to."""
    schedule = parse_schedule(text, algorithm)
    edits = enumerate_edits(algorithm, schedule, (8, 16), kinds or KINDS)
    return {f"{one.func}: {one.text}": format_schedule(one.after, algorithm) for one in edits}


def test_each_transformer() -> None:
    plain = listed("")
    assert plain["blur_y: split x by 8"] == "blur_y.split(x, x, xi, 8)"
    assert plain["blur_y: y is parallel"] == "blur_y.parallel(y)"
    assert plain["blur_y: swap y and x"] == "blur_y.reorder(y, x)"
    assert plain["blur_x: compute it at root"] == "blur_x.compute_root()"
    text = "blur_x.compute_at(blur_y, y).parallel(y)"
    edited = listed(text)
    assert edited["blur_x: compute it at root"] == "blur_x.compute_root().parallel(y)"
    lower = "blur_x.compute_at(blur_y, x).store_at(blur_y, y).parallel(y)"
    assert edited["blur_x: compute it at blur_y.x"] == lower
    assert edited["blur_x: store it at root"].startswith("blur_x.compute_at(blur_y, y).store_root")
    assert edited["blur_x: inline it"] == ""


def test_a_moved_loop_takes_its_kind_along() -> None:
    edited = listed("blur_y.split(x, x, xi, 8).vectorize(xi)")
    moved = "blur_y.split(x, x, xi, 8).reorder(y, xi).vectorize(xi)"
    assert edited["blur_y: swap y and xi"] == moved


def test_storage_follows_into_a_concurrent_loop() -> None:
    inside = "blur_x: compute it at blur_y.x"
    parallel = listed("blur_y.parallel(y)\nblur_x.compute_root()")
    assert parallel[inside].endswith("compute_at(blur_y, x).store_at(blur_y, y)")
    assert listed("blur_x.compute_root()")[inside].endswith("compute_at(blur_y, x).store_root()")


def test_a_deinlined_func_is_placed_inside_what_it_reads() -> None:
    edited = listed("base.compute_at(out, y)", algorithm=DIAMOND)
    placed = "left.compute_at(out, y)\nbase.compute_at(out, y)"
    assert edited["left: compute it at out.y"] == placed


def test_an_output_stays_at_root_and_a_loop_serial() -> None:
    edited = listed("blur_x.compute_root()")
    assert not any(one.startswith("blur_y: ") and " it" in one for one in edited)
    assert "blur_x: compute it at root" not in edited
    assert not any(one.endswith(" is serial") for one in edited)


def test_what_cannot_be_inlined_stays() -> None:
    """One has update stages, the other a Func at its loop."""
    edited = listed("blur_x.compute_root()\nrepeat_edge.compute_at(blur_x, x)", algorithm=BOX)
    assert "repeat_edge: inline it" in edited
    assert not {"hist: inline it", "blur_x: inline it"} & edited.keys()
    assert "blur_x: compute it at hist.y" in edited


def test_loops_between_a_func_and_its_storage_do_not_change_places() -> None:
    apart = "blur_x.compute_at(blur_y, x).store_at(blur_y, y)"
    assert "blur_y: swap y and x" not in listed(apart)
    assert "blur_y: swap y and x" in listed("blur_x.compute_at(blur_y, x)")


def test_all_edits_of_the_default_schedule() -> None:
    assert [*listed("", LoopKind.SERIAL, LoopKind.PARALLEL, LoopKind.VECTORIZED)] == [
        "blur_x: compute it at root",
        "blur_y: split y by 8",
        "blur_y: split y by 16",
        "blur_y: split x by 8",
        "blur_y: split x by 16",
        "blur_y: swap y and x",
        "blur_y: y is parallel",
        "blur_y: x is parallel",
    ]


def test_splits_and_vectors_need_room() -> None:
    found = listed("blur_y.split(x, x, xi, 16)")
    assert "split(xi, xi, xii, 8)" in found["blur_y: split xi by 8"]
    assert "split(x, x, xii, 8)" in found["blur_y: split x by 8"]
    assert "blur_y: split xi by 16" not in found
    assert "blur_y: xi is vectorized" in found
    assert "blur_y: x is vectorized" not in found


def test_the_factor_of_a_split_may_stay_open() -> None:
    schedule = parse_schedule("blur_y.split(x, x, xi, 2)", BLUR)
    edits = {one.text: one.after for one in enumerate_edits(BLUR, schedule, ("n",))}
    assert format_schedule(edits["split y by n"], BLUR).endswith("split(y, y, yi, n)")
    assert "split xi by n" not in edits


def test_no_concurrent_loop_parts_computation_and_storage() -> None:
    found = listed("blur_x.compute_at(blur_y, x).store_at(blur_y, y)")
    assert "blur_y: x is parallel" not in found
    assert "blur_y: y is parallel" in found
    found = listed("blur_y.parallel(y)\nblur_x.compute_at(blur_y, x)")
    assert "blur_x: store it at blur_y.y" in found
    assert "blur_x: store it at root" not in found


def test_reductions_stay_in_order() -> None:
    x, r = Var("x"), RDom([(0, 8)])
    f = Func("f")
    f[x] = 0
    f[x] += x * r
    found = listed("f.update(0).split(r.x, r.x, ri, 4)", algorithm=pipeline(f))
    kinds = [one for one in found if one.startswith(("f: r.x is", "f: ri is"))]
    assert kinds == ["f: r.x is unrolled in update(0)", "f: ri is unrolled in update(0)"]
    assert {"f: x is parallel", "f: x is parallel in update(0)"} <= found.keys()


def test_an_output_that_another_one_reads_stays_at_root() -> None:
    x, y, first, second = Var("x"), Var("y"), Func("first"), Func("second")
    first[x, y] = x + y
    second[x, y] = first[x, y] + first[x, y + 1]
    outputs = pipeline([first, second])
    found = listed("", LoopKind.PARALLEL, algorithm=outputs)
    assert "first: y is parallel" in found
    assert not any("compute" in name for name in found)
    assert Levels(outputs, Schedule.default(outputs)).enclosing("first") == ()
