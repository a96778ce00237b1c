"""The values that loops made by ``fuse`` cover, and what moves because of them."""

from __future__ import annotations

import pytest

from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.features.extraction import extract_features
from spaces.features.footprints import Regions
from spaces.features.records import LoopFeatures
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import UInt16
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import free
from tests.cpus import ONE_CORE

X, Y, C = Var("x"), Var("y"), Var("c")


def _copy(width: int, height: int, colors: int = 1) -> Pipeline:
    image = ImageParam(UInt16, 3, "input")
    f = Func("f")
    f[X, Y, C] = image[X, Y, C]
    return pipeline(f, estimates={f: [width, height, colors]})


def _loops(pipe: Pipeline, text: str) -> dict[str, LoopFeatures]:
    found = extract_features(pipe, parse_schedule(text, pipe)).read_ints(pipe.sizes())
    return {loop.loop: loop for loop in found.func("f").stages[0].loops}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f.fuse(x, y, t)", {"t": {"x": 12, "y": 5}}),
        ("f.reorder(c, x, y).fuse(c, x, t)", {"t": {"c": 3, "x": 12}}),
        ("f.fuse(x, y, t).fuse(t, c, t)", {"t": {"x": 12, "y": 5, "c": 3}}),
        # A third of a row, and five thirds of it; two rows, and three pairs of rows.
        ("f.fuse(x, y, t).split(t, o, i, 4)", {"i": {"x": 4, "y": 1}, "o": {"x": 3, "y": 5}}),
        ("f.fuse(x, y, t).split(t, o, i, 24)", {"i": {"x": 12, "y": 2}, "o": {"x": 1, "y": 3}}),
        (
            "f.fuse(x, y, t).fuse(t, c, t).split(t, o, i, 4)",
            {"i": {"x": 4, "y": 1, "c": 1}, "o": {"x": 3, "y": 5, "c": 3}},
        ),
        # Tiles of 4 x 1, in one loop over tiles; and a dimension that is put together again.
        ("f.split(x, xo, xi, 4).fuse(xo, y, t)", {"xi": {"x": 4}, "t": {"x": 3, "y": 5}}),
        ("f.split(x, xo, xi, 4).fuse(xi, xo, t)", {"t": {"x": 12}}),
    ],
)
def test_iterations_are_shared_out(text: str, expected: dict[str, dict[str, int]]) -> None:
    loops = _loops(_copy(12, 5, 3), text)
    for name, covers in expected.items():
        found = loops[name]
        assert dict(zip(found.dimensions, found.covers, strict=True)) == covers


def test_a_fused_loop_moves_what_its_loops_move() -> None:
    """Whole rows join to one of 32768 lines; it comes once, and the one written comes and goes."""
    pipe = _copy(1024, 1024)
    for text in ("", "f.fuse(x, y, t)", "f.fuse(x, y, t).split(t, o, i, 1024)"):
        batch = Batch.of(pipe, parse_schedule(text, pipe))
        moved = float(Reuse(ONE_CORE, free(line_from_l3=1.0)).cost(batch))
        assert moved == 3 * (1024 * 1024 * 2 // 64 + 1)


def test_a_fused_loop_asks_for_what_its_loops_ask_for() -> None:
    """A tile of the consumer reads one more row of the producer than the tile has, once."""
    x, y = X, Y
    g, f = Func("g"), Func("f")
    g[x, y] = x + y
    f[x, y] = g[x, y] + g[x, y + 1]
    pipe = pipeline(f, estimates={f: [12, 20]})
    text = "f.split(y, yo, yi, 4).fuse(x, yi, t)\ng.compute_at(f, yo)"
    found = extract_features(pipe, parse_schedule(text, pipe)).read_ints(pipe.sizes())

    regions = Regions(found, 64)
    (stage,) = found.func("f").stages
    assert dict(regions.extents(stage, 1)) == {"x": 12, "y": 4}
    assert regions.required(found.func("g"), 1) == (12, 5)


def test_only_what_is_guarded_is_skipped() -> None:
    """10 of 12 columns in tiles of 4, for each of 5 rows: 50 values, not 3 tiles of 10."""
    image = ImageParam(UInt16, 2, "input")
    f = Func("f")
    r = RDom([(0, 7)])
    f[X, Y] = image[X, Y]
    f[X, Y] += image[X + r.x, Y]
    pipe = pipeline(f, estimates={f: [10, 5]})
    text = "f.update().split(x, xo, xi, 4, GuardWithIf).reorder(r.x, xi, xo, y).fuse(xo, y, t)"
    found = extract_features(pipe, parse_schedule(text, pipe)).read_ints(pipe.sizes())
    assert found.func("f").stages[1].points == 7 * 10 * 5
