"""Counts of stages in fused loops equal the counts without fusion, by hand."""

from __future__ import annotations

import pytest

from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.features.extraction import extract_features
from spaces.features.features import Features
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.types import Int32
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import free
from tests.cpus import ONE_CORE

X, Y = Var("x"), Var("y")
SIZE = 9


def twins(updates: int) -> Pipeline:
    """Two Funcs of unequal sizes that read a third Func; one of the two has some updates."""
    image = ImageParam(Int32, 2, "image")
    p, f, g, out = Func("p"), Func("f"), Func("g"), Func("out")
    p[X, Y] = image[X, Y] * 3
    f[X, Y] = p[X, Y] + p[X, Y + 1]
    for _ in range(updates):
        f[X, Y] += p[X, Y] * f[X, Y]
    g[X, Y] = p[X + 1, Y + 2] - X
    out[X, Y] = f[X, Y] + f[X + 3, Y + 1] * g[X, Y] - g[X, Y + 4]
    return pipeline(out)


TWINS = twins(1)
ROOT = "f.compute_root()\ng.compute_root()\n"
AT_ROOT = ROOT + "p.compute_root()\n"
TEXTS = (
    AT_ROOT,
    AT_ROOT + "f.compute_with(g, y)",
    AT_ROOT + "g.compute_with(f, x)",
    AT_ROOT + "f.update(0).compute_with(g, x)",
    AT_ROOT + "f.compute_with(g, y)\nf.update(0).compute_with(g, y)",
    AT_ROOT + "g.compute_with(f, x, LoopAlignStrategy::AlignEnd)",
    AT_ROOT + "f.compute_with(g, x, {{y, LoopAlignStrategy::AlignStart}})",
    AT_ROOT + "f.parallel(y).vectorize(x, 4, GuardWithIf)\n"
    "g.parallel(y).vectorize(x, 4, GuardWithIf).compute_with(f, y)",
)
# Columns 0 to 11 of rows 0 to 9 of f are needed, and columns 0 to 8 of rows 0 to 12 of g. f reads p
# in rows 0 to 10 and columns 0 to 11, and g reads it in rows 2 to 14 and columns 1 to 9.
POINTS = {("p", 0): 15 * 12, ("f", 0): 10 * 12, ("f", 1): 10 * 12, ("g", 0): 13 * 9, ("out", 0): 81}
LOADS = {("p", 0): 0, ("f", 0): 2 * 120, ("f", 1): 2 * 120, ("g", 0): 117, ("out", 0): 4 * 81}
ROWS = {("f", 0): 10, ("f", 1): 10, ("g", 0): 13}


def counted(subject: Pipeline, text: str) -> Features:
    """The features of a legal schedule, as numbers for an output of 9 x 9."""
    chosen = parse_schedule(text, subject)
    assert isinstance(verify(subject, chosen, device("cpu")), CheckedSchedule)
    buffers = (*subject.outputs, "image")
    sizes = {f"{b}.min.{d}": 0 for b in buffers for d in (0, 1)}
    sizes |= {f"{b}.extent.{d}": SIZE for b in buffers for d in (0, 1)}
    return extract_features(subject, chosen).read_ints(sizes)


@pytest.mark.parametrize("text", TEXTS)
def test_stages_in_fused_loops_count_what_is_their_own(text: str) -> None:
    found = counted(TWINS, text)
    stages = {(s.func, s.index): s for s in found.stages}
    assert {key: s.points for key, s in stages.items()} == POINTS
    assert {key: found.loads_of_funcs(s) for key, s in stages.items()} == LOADS
    for key, rows in ROWS.items():
        assert (stages[key].own[0].trips, stages[key].own[0].runs) == (rows, rows)


def test_a_fused_loop_is_one() -> None:
    found = counted(TWINS, AT_ROOT + "f.compute_with(g, y)")
    f, g = found.func("f").stages[0], found.func("g").stages[0]
    assert f.own[0].key == g.own[0].key == ("g", 0, "y")
    assert [loop.key for loop in (f.own[1], g.own[1])] == [("f", 0, "x"), ("g", 0, "x")]
    assert (f.own[1].runs, g.own[1].runs) == (120, 117)


def test_what_is_computed_in_fused_loops_is_computed_in_all_their_iterations() -> None:
    text = "f.compute_root()\ng.compute_root().compute_with(f, y)\np.compute_at(f, y)"
    p = counted(twins(0), text).func("p")
    # In each of the 13 rows of g, which are more than those of f, rows y to y + 2.
    assert (p.visits, p.depth, p.points) == (13, 1, 13 * 3 * 12)


def crosswise() -> Pipeline:
    """Two Funcs that do not depend on each other."""
    image = ImageParam(Int32, 2, "image")
    f, g, out = Func("f"), Func("g"), Func("out")
    f[X, Y] = image[X, Y] * 2
    g[X, Y] = image[X, Y] + 1
    out[X, Y] = f[X, Y] * g[X, Y]
    return pipeline(out)


def test_a_fused_loop_walks_along_other_dimensions_of_each_stage() -> None:
    text = (
        "f.compute_root().split(y, t, yi, 3)\n"
        "g.compute_root().split(x, t, xi, 3).reorder(xi, y, t).compute_with(f, t)"
    )
    found = counted(crosswise(), text)
    f, g = found.func("f").stages[0], found.func("g").stages[0]
    assert f.own[0].key == g.own[0].key
    for loop in (f.own[0], g.own[0]):
        assert found.moved_vars(f, loop) == {"y"}
        assert found.moved_vars(g, loop) == {"x"}
    assert (f.points, g.points) == (81, 81)


def cost(subject: Pipeline, text: str, size: int, **prices: float) -> float:
    """The cost by the reuse model for an output of ``size`` x ``size``; all other costs are 0."""
    sizes = {f"{b}.min.{d}": 0 for b in ("out", "image") for d in (0, 1)}
    sizes |= {f"{b}.extent.{d}": size for b in ("out", "image") for d in (0, 1)}
    batch = Batch.of(subject, parse_schedule(text, subject), sizes=sizes)
    return float(Reuse(ONE_CORE, free(**prices)).cost(batch))


def test_a_fused_loop_is_started_once() -> None:
    apart = AT_ROOT + "f.parallel(y)\ng.parallel(y)"
    together = apart + ".compute_with(f, y)"
    assert [cost(TWINS, text, SIZE, launch=1.0) for text in (apart, together)] == [2, 1]
    # f has 10 rows and g 13, which are the rows of both.
    assert [cost(TWINS, text, SIZE, task=1.0) for text in (apart, together)] == [23, 13]


def test_iterations_of_a_fused_loop_are_counted_once() -> None:
    texts = [AT_ROOT, AT_ROOT + "f.compute_with(g, y)", AT_ROOT + "f.compute_with(g, x)"]
    costs = [cost(TWINS, text, SIZE, iteration=1.0) for text in texts]
    # Inside a fused loop over rows, each stage has a loop of its own.
    assert costs == [sum(POINTS.values()), sum(POINTS.values()), sum(POINTS.values()) - 120]


def test_stages_in_a_fused_loop_share_what_they_read() -> None:
    apart = "f.compute_root()\ng.compute_root()"
    together = apart + ".compute_with(f, y)"
    costs = [cost(crosswise(), text, 4096, line_from_memory=1.0) for text in (apart, together)]
    image = 4096 * 4096 * 4 // 64 + 1
    assert costs[0] - costs[1] == image  # it comes once, not twice
