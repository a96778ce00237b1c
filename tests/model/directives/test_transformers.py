"""Moves between schedules: what each does, when it refuses, and that none breaks a schedule."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.transformers import (
    ChangeLoopType,
    Deinline,
    Inline,
    Move,
    MoveCompute,
    MoveError,
    MoveStorage,
    ReorderLoops,
    SplitLoop,
    apply_moves,
    moves,
)
from spaces.model.nest.loopnest import loop_nest
from spaces.model.nest.tree import schedule_tree
from spaces.model.nest.well_formed import well_formed
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.levels import Levels
from spaces.model.schedules.named_levels import NamedLevels
from spaces.model.schedules.schedule import ROOT, LoopLevel, Schedule
from spaces.model.writing.text import format_schedule, parse_schedule
from tests.model.nest.nest_interpreter import ideal, run_nest
from tests.model.pipelines import blur, box, diamond
from tests.strategies import stencil_pipelines

BLUR, BOX, DIAMOND = blur(), box(), diamond()
KINDS = tuple(LoopKind)


@st.composite
def walks(draw: st.DrawFn, algorithm: Pipeline, most: int = 8) -> list[Move]:
    """Random moves from the default schedule."""
    schedule, walk = Schedule.default(algorithm), []
    for _ in range(draw(st.integers(0, most))):
        move = draw(st.sampled_from(list(moves(algorithm, schedule, (2, 4)))))
        schedule = move.apply(algorithm, schedule)
        walk.append(move)
    return walk


@settings(max_examples=150)
@given(st.data(), st.sampled_from([BLUR, BOX, DIAMOND]))
def test_a_walk_stays_well_formed_and_can_be_replayed(
    data: st.DataObject, algorithm: Pipeline
) -> None:
    walk = data.draw(walks(algorithm))
    schedule = apply_moves(algorithm, Schedule.default(algorithm), walk)
    assert well_formed(schedule_tree(algorithm, schedule), algorithm) == []
    loop_nest(algorithm, schedule)
    assert parse_schedule(format_schedule(schedule, algorithm), algorithm) == schedule
    for move in moves(algorithm, schedule, (4,), KINDS):
        neighbour = move.apply(algorithm, schedule)
        assert neighbour != schedule, move
        assert well_formed(schedule_tree(algorithm, neighbour), algorithm) == [], move


@settings(max_examples=40)
@given(st.data())
def test_a_walk_does_not_change_what_is_computed(data: st.DataObject) -> None:
    algorithm = data.draw(stencil_pipelines(max_stages=3))
    schedule = apply_moves(algorithm, Schedule.default(algorithm), data.draw(walks(algorithm, 6)))
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
    schedule = apply_moves(algorithm, Schedule.default(algorithm), data.draw(walks(algorithm)))
    by_names, by_definitions = NamedLevels(algorithm, schedule), Levels(algorithm, schedule)
    for func in schedule.funcs:
        if not func.compute.is_inline:
            assert by_names.enclosing(func.name) == by_definitions.enclosing(func.name)
            assert by_names.compute_path(func.name) == by_definitions.compute_path(func.name)


def after(text: str, *steps: Move, algorithm: Pipeline = BLUR) -> str:
    return format_schedule(
        apply_moves(algorithm, parse_schedule(text, algorithm), steps), algorithm
    )


def test_each_transformer() -> None:
    computed = "blur_x.compute_at(blur_y, y)"
    assert after("", SplitLoop("blur_y", 0, "x", "xi", 8)) == "blur_y.split(x, x, xi, 8)"
    assert after("", ChangeLoopType("blur_y", 0, "y", LoopKind.PARALLEL)) == "blur_y.parallel(y)"
    assert after("", ReorderLoops("blur_y", 0, "y", "x")) == "blur_y.reorder(y, x)"
    assert after("", Deinline("blur_x")) == "blur_x.compute_root()"
    assert after(computed, MoveCompute("blur_x", ROOT)) == "blur_x.compute_root()"
    lower = MoveCompute("blur_x", LoopLevel("blur_y", "x"))
    assert after(computed, lower) == "blur_x.compute_at(blur_y, x).store_at(blur_y, y)"
    assert after(computed, MoveStorage("blur_x", ROOT)) == computed + ".store_root()"
    assert after(computed + ".parallel(y)", Inline("blur_x")) == ""


def test_a_moved_loop_takes_its_kind_along() -> None:
    text = "blur_y.split(x, x, xi, 8).vectorize(xi)"
    moved = ReorderLoops("blur_y", 0, "y", "xi")
    assert after(text, moved) == "blur_y.split(x, x, xi, 8).reorder(y, xi).vectorize(xi)"


def test_storage_follows_into_a_concurrent_loop() -> None:
    inside = MoveCompute("blur_x", LoopLevel("blur_y", "x"))
    parallel = "blur_y.parallel(y)\nblur_x.compute_root()"
    assert after(parallel, inside).endswith("compute_at(blur_y, x).store_at(blur_y, y)")
    assert after("blur_x.compute_root()", inside).endswith("compute_at(blur_y, x).store_root()")


def test_a_deinlined_func_is_placed_inside_what_it_reads() -> None:
    text = "base.compute_at(out, y)"
    placed = after(text, Deinline("left"), algorithm=DIAMOND)
    assert placed == "left.compute_at(out, y)\nbase.compute_at(out, y)"


@pytest.mark.parametrize(
    ("text", "move", "part"),
    [
        ("", SplitLoop("blur_y", 0, "q", "qi", 4), "blur_y has no loop q; it has y, x"),
        ("", SplitLoop("blur_y", 0, "x", "y", 4), "has a loop y already"),
        ("", SplitLoop("blur_x", 0, "x", "xi", 4), "blur_x is inlined"),
        ("", SplitLoop("blur_y", 1, "x", "xi", 4), "there is no stage 1"),
        ("", SplitLoop("nobody", 0, "x", "xi", 4), "no Func 'nobody'"),
        ("", ChangeLoopType("blur_y", 0, "x", LoopKind.SERIAL), "serial already"),
        ("", ReorderLoops("blur_y", 0, "x", "x"), "name two"),
        ("", MoveCompute("blur_y", ROOT), "blur_y is an output"),
        ("", MoveStorage("blur_x", ROOT), "de-inline it first"),
        ("", Inline("blur_y"), "blur_y is an output"),
        ("blur_x.compute_root()", Deinline("blur_x"), "not inlined"),
        ("blur_x.compute_root()", MoveCompute("blur_x", ROOT), "computed at root already"),
        (
            "blur_x.compute_root()",
            MoveCompute("blur_x", LoopLevel("blur_y", "q")),
            "those are root, blur_y.y, blur_y.x",
        ),
        (
            "blur_x.compute_at(blur_y, y)",
            MoveStorage("blur_x", LoopLevel("blur_y", "x")),
            "at the computation or further out",
        ),
        (
            "blur_x.compute_at(blur_y, x).store_at(blur_y, y)",
            ReorderLoops("blur_y", 0, "x", "y"),
            "without a place around all its uses",
        ),
    ],
)
def test_refusals(text: str, move: Move, part: str) -> None:
    with pytest.raises(MoveError, match=part.replace("(", r"\(").replace(".", r"\.")):
        move.apply(BLUR, parse_schedule(text, BLUR))


def test_what_cannot_be_inlined_stays() -> None:
    with pytest.raises(MoveError, match="update stages"):
        Inline("hist").apply(BOX, Schedule.default(BOX))
    hosted = parse_schedule("blur_x.compute_root()\nrepeat_edge.compute_at(blur_x, x)", BOX)
    with pytest.raises(MoveError, match="at a loop of blur_x"):
        Inline("blur_x").apply(BOX, hosted)
    host = MoveCompute("blur_x", LoopLevel("hist", "y"))
    assert well_formed(schedule_tree(BOX, host.apply(BOX, hosted)), BOX) == []


def listed(text: str, *kinds: LoopKind, algorithm: Pipeline = BLUR) -> list[Move]:
    schedule = parse_schedule(text, algorithm)
    return list(moves(algorithm, schedule, (8, 16), kinds or tuple(LoopKind)))


def test_all_moves_from_the_default_schedule() -> None:
    assert listed("", LoopKind.SERIAL, LoopKind.PARALLEL, LoopKind.VECTORIZED) == [
        Deinline("blur_x"),
        SplitLoop("blur_y", 0, "y", "yi", 8),
        SplitLoop("blur_y", 0, "y", "yi", 16),
        SplitLoop("blur_y", 0, "x", "xi", 8),
        SplitLoop("blur_y", 0, "x", "xi", 16),
        ReorderLoops("blur_y", 0, "y", "x"),
        ChangeLoopType("blur_y", 0, "y", LoopKind.PARALLEL),
        ChangeLoopType("blur_y", 0, "x", LoopKind.PARALLEL),
    ]


def test_splits_and_vectors_need_room() -> None:
    found = listed("blur_y.split(x, x, xi, 16)")
    assert SplitLoop("blur_y", 0, "xi", "xii", 8) in found
    assert SplitLoop("blur_y", 0, "xi", "xii", 16) not in found
    assert SplitLoop("blur_y", 0, "x", "xi2", 8) in found
    assert ChangeLoopType("blur_y", 0, "xi", LoopKind.VECTORIZED) in found
    assert ChangeLoopType("blur_y", 0, "x", LoopKind.VECTORIZED) not in found


def test_no_concurrent_loop_parts_computation_and_storage() -> None:
    found = listed("blur_x.compute_at(blur_y, x).store_at(blur_y, y)")
    assert ChangeLoopType("blur_y", 0, "x", LoopKind.PARALLEL) not in found
    assert ChangeLoopType("blur_y", 0, "y", LoopKind.PARALLEL) in found
    found = listed("blur_y.parallel(y)\nblur_x.compute_at(blur_y, x)")
    assert MoveStorage("blur_x", LoopLevel("blur_y", "y")) in found
    assert MoveStorage("blur_x", ROOT) not in found


def test_reductions_stay_in_order() -> None:
    x, r = Var("x"), RDom([(0, 8)])
    f = Func("f")
    f[x] = 0
    f[x] += x * r
    found = listed("f.update(0).split(r.x, r.x, ri, 4)", algorithm=pipeline(f))
    kinds = {m.kind for m in found if isinstance(m, ChangeLoopType) and m.loop in ("r.x", "ri")}
    assert kinds == {LoopKind.UNROLLED}
    assert ChangeLoopType("f", 1, "x", LoopKind.PARALLEL) in found
