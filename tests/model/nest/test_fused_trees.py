"""Schedule trees of stages in fused loops: as drawn by hand, and as loop nests are."""

from __future__ import annotations

from typing import TypeAlias

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces import (
    Func,
    ImageParam,
    Int32,
    Pipeline,
    StageOf,
    Var,
    format_tree,
    from_json,
    loop_nest,
    parse_schedule,
    pipeline,
    schedule_tree,
    to_json,
    well_formed,
)
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.loopnest import Allocate, Compute, Loop
from spaces.model.nest.loopnest import NestNode as NestNode
from spaces.model.nest.tree import ComputeNode, LoopNode, RootNode, TreeNode
from tests.draw_counts import examples

X, Y = Var("x"), Var("y")


def siblings() -> Pipeline:
    """Three Funcs that read a fourth one; one is updated."""
    image = ImageParam(Int32, 2, "image")
    p, f, g, h, out = Func("p"), Func("f"), Func("g"), Func("h"), Func("out")
    p[X, Y] = image[X, Y] * 3
    f[X, Y] = p[X, Y] + p[X, Y + 1]
    f[X, Y] += X
    g[X, Y] = p[X + 1, Y + 2] - X
    h[X, Y] = p[X, Y] * 2
    out[X, Y] = f[X + 1, Y] + g[X, Y + 1] * h[X, Y]
    return pipeline(out)


PIPE = siblings()
ROOT = "f.compute_root()\ng.compute_root()\nh.compute_root()\n"
INSIDE = ROOT + "g.compute_with(f, x)\nh.compute_with(f, y)\np.compute_at(f, y)"
TEXTS = (
    ROOT + "p.compute_root()\nh.compute_with(g, x)",
    ROOT + "p.compute_root()\nh.compute_with(f.update(0), y)",
    ROOT + "p.compute_root()\nf.compute_with(h, y)\nf.update(0).compute_with(h, y)",
    ROOT + "p.compute_root()\nf.compute_with(h, x)\nf.update(0).compute_with(g, y)",
    ROOT + "h.compute_with(f, y)\ng.compute_with(h, y)\np.compute_at(f, y).store_root()",
    ROOT + "h.compute_with(f, x)\np.compute_root()\n"
    "g.compute_with(f, y, LoopAlignStrategy::AlignEnd)",
    "out.split(y, y, yi, 4)\nf.compute_at(out, y)\ng.compute_at(out, y).compute_with(f, y)\n"
    "h.compute_at(out, yi)\np.compute_at(out, y).vectorize(x, 4)",
    INSIDE,
    ROOT + "g.compute_with(f, x)\nf.compute_with(h, y)\np.compute_at(h, y)",
    ROOT + "p.compute_root()\nf.compute_with(h, y)\nf.update(0).compute_with(h, x)",
)
_Shape: TypeAlias = "tuple[object, ...]"


def of_tree(nodes: tuple[TreeNode, ...]) -> tuple[_Shape, ...]:
    """Loops, storage and computations and what is in them."""
    return tuple(
        ("compute", n.func, n.stage)
        if isinstance(n, ComputeNode)
        else ("loop", n.func, n.stage, n.loop, str(n.kind), of_tree(n.children))
        if isinstance(n, LoopNode)
        else ("store", n.func, of_tree(n.children))
        for n in nodes
    )


def of_nest(nodes: tuple[NestNode, ...]) -> tuple[_Shape, ...]:
    """The same of a loop nest, where storage encloses what it need not, too."""
    found: list[_Shape] = []
    for node in nodes:
        if isinstance(node, Compute):
            found.append(("compute", node.func, node.stage))
        elif isinstance(node, Loop):
            var = node.var
            inner = of_nest(node.body)
            found.append(("loop", var.func, var.stage, var.loop, str(var.kind), inner))
        elif isinstance(node, Allocate):
            found.append(("store", node.func, of_nest(node.body)))
        else:
            found += of_nest(node.body)
    return tuple(found)


def without_storage(shapes: tuple[_Shape, ...]) -> tuple[_Shape, ...]:
    """Loops and computations alone."""
    found: list[_Shape] = []
    for shape in shapes:
        match shape:
            case ("store", _, tuple(inner)):
                found += without_storage(inner)
            case (*head, tuple(inner)):
                found.append((*head, without_storage(inner)))
            case _:
                found.append(shape)
    return tuple(found)


@pytest.mark.parametrize("text", TEXTS)
def test_a_tree_has_the_loops_of_the_nest(text: str) -> None:
    chosen = parse_schedule(text, PIPE)
    tree = schedule_tree(PIPE, chosen)
    nest = loop_nest(PIPE, chosen)
    assert without_storage(of_tree(tree.children)) == without_storage(of_nest(nest.body))
    assert well_formed(tree, PIPE) == []
    assert from_json(to_json(tree), RootNode) == tree


def test_one_loop_is_drawn_for_all_that_it_computes() -> None:
    assert format_tree(schedule_tree(PIPE, parse_schedule(INSIDE, PIPE))) == (
        "root\n"
        "└─ store g\n"
        "   └─ store h\n"
        "      └─ store f\n"
        "         ├─ for f.y with g, h\n"
        "         │  └─ store p\n"
        "         │     ├─ for p.y\n"
        "         │     │  └─ for p.x\n"
        "         │     │     └─ compute p\n"
        "         │     ├─ for f.x with g\n"
        "         │     │  ├─ compute f\n"
        "         │     │  └─ compute g\n"
        "         │     └─ for h.x\n"
        "         │        └─ compute h\n"
        "         ├─ for f.update(0).y\n"
        "         │  └─ for f.update(0).x\n"
        "         │     └─ compute f.update(0)\n"
        "         └─ for out.y\n"
        "            └─ for out.x\n"
        "               └─ compute out"
    )


@pytest.mark.parametrize(
    "text",
    [
        "f.compute_with(g, y)\ng.compute_with(f, y)",
        "f.compute_with(g.update(7), y)",
        "f.compute_with(g, z)",
        "h.compute_at(out, y).compute_with(g, y)",
        "f.compute_with(h, y)\nh.compute_with(f.update(0), y)",
        "g.compute_with(out, y)",
    ],
)
def test_what_cannot_be_fused_is_drawn_apart(text: str) -> None:
    tree = schedule_tree(PIPE, parse_schedule(ROOT + "p.compute_root()\n" + text, PIPE))
    drawn = format_tree(tree).splitlines()
    assert not [line for line in drawn if "z" in line]
    for stage in ("f", "f.update(0)", "g", "h", "out", "p"):
        assert sum(line.endswith(f"compute {stage}") for line in drawn) == 1


def test_a_computation_outside_of_fused_loops_breaks_the_first_criterion() -> None:
    text = ROOT + "p.compute_root()\nh.compute_with(g, x)"
    tree = schedule_tree(PIPE, parse_schedule(text, PIPE))

    def moved(nodes: tuple[TreeNode, ...]) -> tuple[TreeNode, ...]:
        """The computation of h put before the fused loops."""
        found: list[TreeNode] = []
        for node in nodes:
            if isinstance(node, LoopNode) and (node.func, node.loop) == ("g", "y"):
                (inner,) = node.children
                assert isinstance(inner, LoopNode)
                assert inner.fused == (StageOf("h"),)
                own = tuple(n for n in inner.children if n != ComputeNode("h", 0))
                assert len(own) == 1
                kept = attrs.evolve(node, children=(attrs.evolve(inner, children=own),))
                found += [ComputeNode("h", 0), kept]
            elif isinstance(node, ComputeNode):
                found.append(node)
            else:
                found.append(attrs.evolve(node, children=moved(node.children)))
        return tuple(found)

    assert well_formed(RootNode(moved(tree.children)), PIPE) == [
        "The computation of h is not inside its loop y.",
        "The computation of h is not inside its loop x.",
    ]


def test_nothing_is_computed_in_iterations_of_fused_loops_that_ask_for_nothing() -> None:
    """Of ten rows of the output ``f`` has fifteen, and ``g``, which alone reads ``p``, has ten."""
    p, f, g, out = Func("p"), Func("f"), Func("g"), Func("out")
    p[X, Y] = X * Y
    f[X, Y] = X + Y
    g[X, Y] = p[X, Y] + 1
    out[X, Y] = f[X, Y] + f[X, Y + 5] + g[X, Y]
    made = pipeline(out)
    text = "f.compute_root()\ng.compute_root().compute_with(f, y)\np.compute_at(f, y)"
    placed = loop_nest(made, parse_schedule(text, made)).placements["p"]
    sizes = {"out.min.1": 0, "out.extent.1": 10}
    (loop,), (traversal,) = placed.path, placed.stages
    for guards in (traversal.when, traversal.guards):
        (runs,) = (guard.condition for guard in guards)
        rows = [y for y in range(15) if evaluate(runs, {**sizes, loop.var.name: y})]
        assert rows == list(range(10))


@settings(max_examples=examples(40), deadline=None)
@given(
    st.integers(-9, 9),
    st.integers(-9, 9),
    st.sampled_from(["NoAlign", "AlignStart", "AlignEnd"]),
)
def test_stages_of_fused_loops_compute_each_row_once(here: int, there: int, align: str) -> None:
    """``g`` is needed in other rows than ``f``, whose loop may begin and end before its own."""
    f, g, out = Func("f"), Func("g"), Func("out")
    f[X, Y] = X + Y
    g[X, Y] = X - Y
    out[X, Y] = f[X, Y] + f[X, Y + 7] + g[X, Y + here] + g[X, Y + there]
    made = pipeline(out)
    text = f"f.compute_root()\ng.compute_root().compute_with(f, y, LoopAlignStrategy::{align})"
    placed = loop_nest(made, parse_schedule(text, made)).placements
    sizes = {"out.min.1": 0, "out.extent.1": 10, "out.min.0": 0, "out.extent.0": 1}
    rows = {"f": range(17), "g": range(min(here, there), max(here, there) + 10)}
    for name in rows:
        (traversal,) = placed[name].stages
        (loop,) = (one for one in traversal.loops if one.loop == "y")
        (column,) = (one for one in traversal.loops if one.loop == "x")
        found = []
        for turn in range(evaluate(loop.min, sizes), evaluate(loop.max, sizes) + 1):
            at = {**sizes, loop.var.name: turn, column.var.name: 0}
            if all(evaluate(guard.condition, at) for guard in traversal.guards):
                found.append(evaluate(traversal.coordinates["y"], at))
        assert found == list(rows[name])
