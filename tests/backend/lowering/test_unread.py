"""Arrays that reach no output are not there."""

from __future__ import annotations

import numpy as np
import pytest

import spaces
from spaces import Pipeline, evaluate, loop_nest
from spaces.backend.ir.node import walk_nodes
from spaces.backend.ir.statements import Allocate, Store, TupleAssignment
from spaces.backend.ir.walk import buffers_written
from spaces.backend.lowering.cpu.passes import lower

X, Y = spaces.Var("x"), spaces.Var("y")
IMAGE = spaces.ImageParam(spaces.Int32, 2, "image")
R = spaces.RDom([(0, 3)], "r")


def pairs() -> Pipeline:
    """Pairs of pairs, whose second parts nothing needs in the end."""
    f, g, out = spaces.Func("f"), spaces.Func("g"), spaces.Func("out")
    f[X, Y] = (IMAGE[X, Y] * 2, IMAGE[X, Y] * 3)
    g[X, Y] = (f[X, Y][0] + f[X + 1, Y][0], f[X, Y][1] - f[X, Y + 1][1])
    out[X, Y] = g[X, Y][0] + g[X, Y + 1][0]
    return spaces.pipeline(out)


def sums() -> Pipeline:
    """A Tuple of two sums. The output reads the first; only the updates read the second."""
    f, out = spaces.Func("f"), spaces.Func("out")
    f[X, Y] = (0, 0)
    f[X, Y] = (f[X, Y][0] + IMAGE[X + R.x, Y], f[X, Y][1] + IMAGE[X, Y + R.x])
    out[X, Y] = f[X, Y][0] * 2
    return spaces.pipeline(out)


def places() -> Pipeline:
    """Where the largest values are: their values decide."""
    f, out = spaces.Func("f"), spaces.Func("out")
    f[X] = (0, IMAGE[X, 0])
    at, most = f[X]
    f[X] = spaces.select(IMAGE[X, R.x] > most, (R.x, IMAGE[X, R.x]), (at, most))
    out[X] = f[X][0]
    return spaces.pipeline(out)


CASES = {
    "pairs": (pairs, "f.compute_root()\ng.compute_root().vectorize(x, 4)", {"f.0", "g.0"}),
    "pairs in tiles": (
        pairs,
        "out.tile(x, y, xi, yi, 8, 4).parallel(y)\ng.compute_at(out, x).unroll(y, 2)\n"
        "f.store_at(out, x).compute_at(out, x)",
        {"f.0", "g.0"},
    ),
    "sums": (sums, "f.compute_root()", {"f.0"}),
    "places": (places, "f.compute_root()", {"f.0", "f.1"}),
}


@pytest.mark.parametrize("name", CASES)
def test_only_arrays_that_reach_an_output_are_stored(name: str) -> None:
    build, text, kept = CASES[name]
    algorithm = build()
    chosen = spaces.parse_schedule(text, algorithm)
    *_, program = lower(loop_nest(algorithm, chosen)).values()
    nodes = list(walk_nodes(program.body))
    assert {s.buffer for s in nodes if isinstance(s, Allocate)} == kept
    stored = {n for s in nodes if isinstance(s, Store) for n in buffers_written(s)}
    assert stored == {*kept, "out"}
    assert all(len(s.body) > 1 for s in nodes if isinstance(s, TupleAssignment))


@pytest.mark.parametrize("name", CASES)
def test_values_stay(name: str) -> None:
    build, text, _ = CASES[name]
    algorithm = build()
    checked = spaces.verify(algorithm, spaces.parse_schedule(text, algorithm), spaces.device("cpu"))
    assert isinstance(checked, spaces.CheckedSchedule)
    sizes = {"out": (16, 8)[: 1 if name == "places" else 2]}
    image = np.random.default_rng(4).integers(-99, 99, (16, 24)).astype(np.int32)
    found = spaces.compile_cpu(checked).run({"image": image}, sizes=sizes)["out"]
    np.testing.assert_array_equal(found, evaluate(algorithm, {"image": image}, sizes=sizes)["out"])
