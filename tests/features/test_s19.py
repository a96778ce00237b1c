"""Equations (1) to (13) of [S19], section 3: the 3x3 blur in three schedules.

Sizes and tiles are such that tiles divide the image, as the paper assumes. Expected values are
the paper's closed forms, written out.
"""

from __future__ import annotations

import pytest

from spaces.features.extraction import extract_features
from spaces.features.features import Features
from spaces.features.input_loads import input_loads
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.types import UInt16

BX, BY = 1024, 512
SIZEOF = 2
V_Y = 2
TILES = [(256, 32), (32, 4), (1024, 512), (8, 128)]


def _blur():
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt16, 2, "input")
    blurx, blury = Func("blurx"), Func("blury")
    blurx[x, y] = (image[x - 1, y] + image[x, y] + image[x + 1, y]) / 3
    blury[x, y] = (blurx[x, y - 1] + blurx[x, y] + blurx[x, y + 1]) / 3
    return pipeline(blury, estimates={blury: [BX, BY], image: [BX + 2, BY + 2]})


def _tiled(pipe) -> Directives:
    return schedule(pipe).tile("x", "y", "xo", "yo", "xi", "yi", "TX", "TY")


def _overlapping(pipe):
    return _tiled(pipe).func("blurx").compute_at("blury", "xo").schedule


def _sliding(pipe):
    return _tiled(pipe).func("blurx").store_at("blury", "xo").compute_at("blury", "yi").schedule


def _most_folded(pipe):
    """Loops (xo, yo, xi, yi), outermost first; storage inside xi."""
    tiled = _tiled(pipe).reorder("yi", "xi", "yo", "xo")
    return tiled.func("blurx").store_at("blury", "xi").compute_at("blury", "yi").schedule


def _read(make, tx: int, ty: int) -> Features:
    pipe = _blur()
    return extract_features(pipe, make(pipe)).read_ints({**pipe.sizes(), "TX": tx, "TY": ty})


@pytest.mark.parametrize(("tx", "ty"), TILES)
def test_overlapping_tiles(tx: int, ty: int) -> None:
    found = _read(_overlapping, tx, ty)
    blurx = found.func("blurx")
    tiles = (BX // tx) * (BY // ty)
    assert blurx.allocation_bytes == tx * (ty + V_Y) * SIZEOF  # (1)
    computed = tx * (ty + 2) * tiles  # (3)
    at_root = BX * (BY + 2)  # (4)
    assert blurx.points == computed
    assert blurx.distinct == at_root
    assert blurx.redundant == computed - at_root  # (2)
    stage = blurx.stages[0]
    assert (
        input_loads(found, stage, "input", prefetched=False) == (tx + 2) * (ty + 2) * tiles
    )  # (5)
    assert input_loads(found, stage, "input") == (ty + 2) * tiles  # (6)
    tile = dict(zip(blurx.args, blurx.required, strict=True))
    assert found.footprint(stage, "input", tile) == (tx + 2) * (ty + 2) * SIZEOF  # (7)


@pytest.mark.parametrize(("tx", "ty"), TILES)
def test_sliding_windows_inside_tiles(tx: int, ty: int) -> None:
    found = _read(_sliding, tx, ty)
    blurx = found.func("blurx")
    assert blurx.unfolded_bytes == tx * (ty + 2) * SIZEOF  # (8)
    assert blurx.allocation_bytes == 3 * tx * SIZEOF  # (9)
    stage = blurx.stages[0]
    tile = dict(zip(blurx.args, blurx.stored, strict=True))
    assert found.footprint(stage, "input", tile) == (tx + 2) * (ty + 2) * SIZEOF  # (10)
    line = dict(zip(blurx.args, blurx.required, strict=True))
    assert found.footprint(stage, "input", line) == 3 * (tx + 2) * SIZEOF  # (11)


@pytest.mark.parametrize(("tx", "ty"), TILES)
def test_sliding_changes_no_other_cost(tx: int, ty: int) -> None:
    overlapping, sliding = _read(_overlapping, tx, ty), _read(_sliding, tx, ty)
    a, b = overlapping.func("blurx"), sliding.func("blurx")
    assert a.points == b.points
    assert input_loads(overlapping, a.stages[0], "input") == input_loads(
        sliding, b.stages[0], "input"
    )


@pytest.mark.parametrize(("tx", "ty"), TILES)
def test_most_folding_defeats_the_prefetcher(tx: int, ty: int) -> None:
    found = _read(_most_folded, tx, ty)
    blurx = found.func("blurx")
    assert blurx.allocation_bytes == (1 + V_Y) * SIZEOF  # (12)
    loads = input_loads(found, blurx.stages[0], "input")
    assert loads == 3 * (ty + 2) * BX * (BY // ty)  # (13)


def test_root_computes_each_value_once() -> None:
    pipe = _blur()
    at_root = extract_features(pipe, schedule(pipe).func("blurx").compute_root().schedule)
    blurx = at_root.read_ints(pipe.sizes()).func("blurx")
    assert blurx.points == BX * (BY + 2)
    assert blurx.redundant == 0
