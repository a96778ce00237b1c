"""Structural hashes: equal for nests that are alike up to a depth."""

from __future__ import annotations

import hashlib

import pytest

from spaces.enumerate.search.stagewise.structural_hash import NestOutline, levels_of
from spaces.model.writing.text import parse_schedule
from tests.enumerate.pipelines import blur, chain, row_sums

TILED = "blur_y.tile(x, y, xi, yi, 64, 8).parallel(y).vectorize(xi, 8, shift_inwards)"
BLOCKS = "blur_y.gpu_tile(x, y, xi, yi, 32, 8)"


def hashes(text: str, deepest: int = 6, make=blur) -> list[str]:
    pipeline = make()
    outline = NestOutline.of(pipeline, parse_schedule(text, pipeline))
    return [outline.hash(depth) for depth in range(deepest + 1)]


def alike_to(first: str, second: str, make=blur) -> int:
    """The greatest depth at which the hashes are equal: 6 if at every depth, -1 if at none."""
    pairs = list(zip(hashes(first, make=make), hashes(second, make=make), strict=True))
    equal = [one == other for one, other in pairs]
    assert equal == sorted(equal, reverse=True), "What differs at a depth differs at greater ones."
    return sum(equal) - 1


def test_names_do_not_count() -> None:
    renamed = TILED.replace("xi", "across").replace("yi", "inside")
    both = (f"{text}\nblur_x.compute_at(blur_y, {name})" for text, name in
            ((TILED, "yi"), (renamed, "inside")))  # fmt: skip
    assert alike_to(*both) == 6


def test_levels_hold_each_dimension_once() -> None:
    """Tiles, the loops inside a tile, and vectors; blocks, and their threads."""
    pipeline = blur()
    (stage,) = pipeline.function("blur_y").stages
    for text, levels in (
        ("blur_y.parallel(y)", (1, 1)),
        ("blur_y.tile(x, y, xi, yi, 64, 8).vectorize(xi, 8)", (1, 1, 2, 2, 3)),
        ("blur_y.split(y, y, yi, 8)", (1, 2, 2)),
        (BLOCKS, (1, 1, 2, 2)),
        ("blur_y.gpu_blocks(y).gpu_threads(x)", (1, 2)),
        ("blur_y.fuse(x, y, xy).split(xy, xy, i, 8)", (1, 2)),
    ):
        (order,) = parse_schedule(text, pipeline).of("blur_y").stages
        assert levels_of(order, stage, 0) == levels, text
        assert levels_of(order, stage, 3) == tuple(level + 3 for level in levels)


@pytest.mark.parametrize(
    ("first", "second", "depth"),
    [
        # At depth 0 only the Funcs at root count: blur_x is there, or it is not.
        (TILED, f"{TILED}\nblur_x.compute_root()", -1),
        # [A21] Fig. 3: the same blocks, with other computations inside.
        (f"{BLOCKS}\nblur_x.compute_at(blur_y, x).gpu_threads(x, y)", BLOCKS, 0),
        (f"{BLOCKS}\nblur_x.compute_at(blur_y, xi)", BLOCKS, 1),
        (f"{BLOCKS}\nblur_x.compute_at(blur_y, xi)",
         f"{BLOCKS}\nblur_x.compute_at(blur_y, x).gpu_threads(x, y)", 0),
        # The members of a block are alike; their loops, one level further inside, are not.
        (f"{BLOCKS}\nblur_x.compute_at(blur_y, x).gpu_threads(x, y)",
         f"{BLOCKS}\nblur_x.compute_at(blur_y, x).gpu_threads(x)", 1),
        # Loops count one level before their sizes.
        (BLOCKS, BLOCKS.replace("8", "16"), 1),
        (TILED, TILED.replace("64", "128"), 1),
        (TILED, TILED.replace("(xi, 8", "(xi, 16"), 2),
        (TILED, TILED.replace("shift_inwards", "guard_with_if"), 1),
        (TILED, TILED.replace(".parallel(y)", ""), 0),
        (TILED, TILED + ".reorder(x, y)", 6),
        (TILED, TILED + ".reorder(y, x)", 0),
        # Where values are stored belongs to the place, other details to the loops inside.
        (f"{TILED}\nblur_x.compute_at(blur_y, yi)",
         f"{TILED}\nblur_x.compute_at(blur_y, yi).store_at(blur_y, x)", 1),
        (f"{TILED}\nblur_x.compute_root()",
         f"{TILED}\nblur_x.compute_root().store_in(heap)", 0),
    ],
)  # fmt: skip
def test_nests_are_alike_up_to_a_depth(first: str, second: str, depth: int) -> None:
    assert alike_to(first, second) == depth


def test_open_factors_do_not_count() -> None:
    """A parameter stands for any number, whatever its name is."""
    split = "blur_y.split(y, y, yi, {})"
    assert alike_to(split.format("rows"), split.format("lines")) == 6
    assert alike_to(split.format("rows"), split.format("8")) == 1


def test_inlined_funcs_count_where_they_are_used() -> None:
    """b is inlined into the loops of c, at their innermost level."""
    inlined = "c.split(y, y, yi, 8)\na.compute_root()"
    rooted = "c.split(y, y, yi, 8)\na.compute_root()\nb.compute_at(c, x)"
    assert alike_to(inlined, rooted, make=chain) == 1


def test_updates_have_loops_of_their_own() -> None:
    plain = "sums.compute_root()"
    assert alike_to(plain, f"{plain}.update(0).parallel(y)", make=row_sums) == 0


def test_hashes_are_of_the_facts_alone() -> None:
    """No salt of a process decides. At depth 0 the default blur is one Func at root."""
    pipeline = blur()
    outline = NestOutline.of(pipeline, parse_schedule("", pipeline))
    assert [fact for fact, depth in outline.facts.items() if depth == 0] == [
        "blur_y compute: root", "blur_y store: root",
    ]  # fmt: skip
    text = b"blur_y compute: root\nblur_y store: root"
    assert outline.hash(0) == hashlib.blake2b(text, digest_size=8).hexdigest()
    assert outline.depth == 1
