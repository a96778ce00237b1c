"""[TOY]'s schedule trees: how they look, and what is wrong with ill-formed ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces import (
    LoopKind,
    Pipeline,
    Schedule,
    format_tree,
    parse_schedule,
    schedule_tree,
    well_formed,
)
from spaces.model.nest.tree import ComputeNode, LoopNode, RootNode, StorageNode
from tests import drawn_pipelines as drawn
from tests.model.directives.random_directives import schedules
from tests.model.pipelines import blur, box, diamond

BLUR, BOX, DIAMOND = blur(), box(), diamond()


def drawing(algorithm: Pipeline, text: str = "") -> str:
    tree = schedule_tree(algorithm, parse_schedule(text, algorithm))
    assert well_formed(tree, algorithm) == []
    return format_tree(tree)


def complaints(algorithm: Pipeline, text: str) -> list[str]:
    return well_formed(schedule_tree(algorithm, parse_schedule(text, algorithm)), algorithm)


def test_default_schedule_inlines_everything() -> None:
    assert drawing(DIAMOND) == (
        "root\n"
        "└─ for out.y\n"
        "   └─ for out.x\n"
        "      └─ compute out\n"
        "         ├─ inline left\n"
        "         │  └─ inline base\n"
        "         └─ inline right\n"
        "            └─ inline base"
    )


def test_the_papers_example() -> None:
    # [TOY]: by.reorder(y, x); bx.store_root(); bx.compute_at(by, y); bx.reorder(y, x).
    text = "blur_y.reorder(y, x)\nblur_x.store_root().compute_at(blur_y, y).reorder(y, x)"
    assert drawing(BLUR, text) == (
        "root\n"
        "└─ store blur_x\n"
        "   └─ for blur_y.x\n"
        "      └─ for blur_y.y\n"
        "         ├─ for blur_x.x\n"
        "         │  └─ for blur_x.y\n"
        "         │     └─ compute blur_x\n"
        "         └─ compute blur_y"
    )


def test_a_tile_computed_inside_a_parallel_loop() -> None:
    text = (
        "blur_y.tile(x, y, xi, yi, 256, 32).vectorize(xi, 8).parallel(y)\n"
        "blur_x.compute_at(blur_y, x).vectorize(x, 8)"
    )
    assert drawing(BLUR, text) == (
        "root\n"
        "└─ parallel blur_y.y\n"
        "   └─ for blur_y.x\n"
        "      └─ store blur_x\n"
        "         ├─ for blur_x.y\n"
        "         │  └─ for blur_x.x\n"
        "         │     └─ vectorized blur_x.x_v\n"
        "         │        └─ compute blur_x\n"
        "         └─ for blur_y.yi\n"
        "            └─ for blur_y.xi\n"
        "               └─ vectorized blur_y.xi_v\n"
        "                  └─ compute blur_y"
    )


def test_a_producer_stands_in_the_stage_that_reads_it() -> None:
    assert drawing(BOX, "blur_x.compute_at(hist, y)") == (
        "root\n"
        "└─ store hist\n"
        "   ├─ for hist.y\n"
        "   │  └─ for hist.x\n"
        "   │     └─ compute hist\n"
        "   ├─ for hist.update(0).y\n"
        "   │  └─ store blur_x\n"
        "   │     ├─ for blur_x.y\n"
        "   │     │  └─ for blur_x.x\n"
        "   │     │     └─ compute blur_x\n"
        "   │     │        └─ inline repeat_edge\n"
        "   │     └─ for hist.update(0).x\n"
        "   │        └─ for hist.update(0).r.y\n"
        "   │           └─ for hist.update(0).r.x\n"
        "   │              └─ compute hist.update(0)\n"
        "   └─ for blur_y.y\n"
        "      └─ for blur_y.x\n"
        "         └─ compute blur_y"
    )


@given(st.data())
def test_well_formed_schedules_have_well_formed_trees(data: st.DataObject) -> None:
    algorithm = data.draw(drawn.stencil_pipelines())
    tree = schedule_tree(algorithm, data.draw(drawn.schedules(algorithm)))
    assert well_formed(tree, algorithm) == []


@given(st.data())
def test_any_record_has_a_tree(data: st.DataObject) -> None:
    tree = schedule_tree(BOX, data.draw(schedules(BOX)))
    assert format_tree(tree).startswith("root")
    assert all(problem.endswith((".", "?")) for problem in well_formed(tree, BOX))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("base.compute_at(out, q)", "base has no place in the tree"),
        ("base.compute_at(base, x)", "base has no place in the tree"),
        (
            "left.compute_root()\nbase.compute_at(left, x)",
            "out calls base, but is outside the storage of base",
        ),
        (
            "base.compute_at(out, y).store_at(out, x)",
            "computation of base is not inside the storage of base",
        ),
        (
            "right.compute_root()\nbase.compute_at(out, y)",
            "right calls base, which is not computed before it",
        ),
        ("out.compute_inline()", "out has no place in the tree"),
    ],
)
def test_ill_formed_schedules(text: str, part: str) -> None:
    assert any(part in problem for problem in complaints(DIAMOND, text))


def loop(func: str, name: str, *children: ComputeNode | LoopNode | StorageNode) -> LoopNode:
    return LoopNode(func, 0, name, LoopKind.SERIAL, children)


def test_a_loop_beside_the_computation_breaks_the_first_criterion() -> None:
    computed = StorageNode(
        "blur_x",
        (
            loop("blur_x", "y"),
            loop("blur_x", "x", ComputeNode("blur_x", 0)),
            loop("blur_y", "y", loop("blur_y", "x", ComputeNode("blur_y", 0))),
        ),
    )
    assert well_formed(RootNode((computed,)), BLUR) == [
        "The computation of blur_x is not inside its loop y."
    ]


def test_a_callee_after_its_caller_breaks_the_second_criterion() -> None:
    tree = RootNode((StorageNode("blur_x", (ComputeNode("blur_y", 0), ComputeNode("blur_x", 0))),))
    assert well_formed(tree, BLUR) == ["blur_y calls blur_x, which is not computed before it."]
    right = StorageNode("blur_x", (ComputeNode("blur_x", 0), ComputeNode("blur_y", 0)))
    assert well_formed(RootNode((right,)), BLUR) == []


def test_a_long_chain_of_shared_inlined_funcs_is_drawn_once() -> None:
    tree = schedule_tree(DIAMOND, Schedule.default(DIAMOND))
    assert "(as above)" not in format_tree(tree)
    shared = ComputeNode("left", 0, (ComputeNode("base", 0),))
    twice = RootNode((ComputeNode("out", 0, (shared, ComputeNode("right", 0, (shared,)))),))
    assert format_tree(twice).count("inline left (as above)") == 1
