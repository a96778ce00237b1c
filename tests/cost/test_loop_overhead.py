"""What loops cost without their bodies, one price at a time."""

from __future__ import annotations

import pytest

from spaces.cost.cpu.terms import loop_overhead
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.types import Float32, UInt16
from spaces.model.writing.text import parse_schedule
from tests.cost.prices import cost_of

X, Y = Var("x"), Var("y")


def _copied(width: int, height: int) -> Pipeline:
    image, out = ImageParam(UInt16, 2, "input"), Func("out")
    out[X, Y] = image[X, Y]
    return pipeline(out, estimates={out: [width, height]})


def _summed(terms: int) -> Pipeline:
    """Sums of so many terms, computed where they are used."""
    image, f, out = ImageParam(Float32, 2, "input"), Func("f"), Func("out")
    r = RDom([(0, terms)], "r")
    f[X, Y] = 0.0
    f[X, Y] += image[X + r.x, Y]
    out[X, Y] = f[X, Y]
    return pipeline(out, estimates={out: [128, 64]})


@pytest.mark.parametrize(("width", "vectors"), [(32, 2), (512, 32)])
def test_entering_short_loops_costs_less(width: int, vectors: int) -> None:
    pipe = _copied(1024, 1024)
    tiled = schedule(pipe).tile("x", "y", "xi", "yi", width, 8).vectorize("xi", 16)
    visits = cost_of(pipe, tiled, visit=1.0)
    assert visits == (1024 // width) * 1024 * min(vectors / 8, 1)


def test_short_tiles_are_entered_though_compilers_write_them_out() -> None:
    pipe = _copied(1024, 1024)
    rows = cost_of(pipe, schedule(pipe).vectorize("x", 16), visit=1.0)
    tiles = schedule(pipe).tile("x", "y", "xi", "yi", 64, 8).vectorize("xi", 16)
    assert cost_of(pipe, tiles, visit=1.0) > rows


def test_names_of_loops_do_not_matter() -> None:
    pipe = _copied(1024, 1024)
    costs = [
        cost_of(pipe, parse_schedule(f"out.{text}.vectorize(xv)", pipe), visit=1.0, iteration=1.0)
        for text in (
            "split(x, x, xi, 64).split(xi, xi, xv, 16)",
            "split(x, xo, xi, 64).split(xi, xio, xv, 16)",
        )
    ]
    assert costs[0] == costs[1] > 0


def test_all_lanes_of_a_vector_go_through_the_loops_inside_together() -> None:
    """The loop of a sum costs the same whether the vector stands inside it or around it."""
    pipe = _summed(100)
    f = "f.compute_root(); f.update().split(x, x, xv, 8)"
    inside = f"{f}.reorder(xv, r.x, x, y).vectorize(xv);"
    around = f"{f}.reorder(r.x, xv, x, y).vectorize(xv);"
    costs = [
        cost_of(pipe, parse_schedule(text, pipe), visit=1.0, iteration=1.0)
        for text in (inside, around)
    ]
    assert costs[0] == costs[1]
    assert costs[0] < 128 * 64 * 100 / 2


@pytest.mark.parametrize(
    ("terms", "entered"),
    [
        (8, 0),  # f has no other loop, but for those of one value
        (9, 128 * 64),
    ],
)
def test_few_terms_are_written_out(terms: int, entered: int) -> None:
    pipe = _summed(terms)
    chosen = parse_schedule("f.compute_at(out, x)", pipe)
    own = cost_of(pipe, chosen, visit=1.0) - 64  # out enters its lines
    assert own == pytest.approx(entered)


@pytest.mark.parametrize(("longest", "entered"), [(12, 0), (11, 128 * 64 * 3 / 8)])
def test_a_loop_is_written_out_up_to_the_longest(
    longest: int, entered: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times two loads, an addition and a store."""
    monkeypatch.setattr(loop_overhead, "_LONGEST", longest)
    pipe = _summed(3)
    chosen = parse_schedule("f.compute_at(out, x)", pipe)
    assert cost_of(pipe, chosen, visit=1.0) - 64 == pytest.approx(entered)


def test_the_loop_around_what_is_written_out_counts() -> None:
    """Three terms for each of the 128 values of a line, whose length compilers do not know."""
    pipe = _summed(3)
    chosen = parse_schedule("f.compute_at(out, y).update().reorder(r.x, x)", pipe)
    # Lines of out, of f and of its update.
    assert cost_of(pipe, chosen, visit=1.0) == 64 * 3
    assert cost_of(pipe, chosen, iteration=1.0) == 64 * 128 * 3


def test_what_reads_a_nest_elsewhere_does_not_matter() -> None:
    """``f`` is computed for each value of ``g``, whether ``g`` is the output or is read at root."""
    image, r = ImageParam(Float32, 2, "input"), RDom([(0, 3)], "r")

    def overhead(text: str, reads_g: bool) -> float:
        f, g, out = Func("f"), Func("g"), Func("out")
        f[X, Y] = 0.0
        f[X, Y] += image[X + r.x, Y]
        g[X, Y] = f[X, Y] + 1.0
        out[X, Y] = g[X, Y] * 2.0
        output = out if reads_g else g
        pipe = pipeline(output, estimates={output: [128, 64]})
        return cost_of(pipe, parse_schedule(text, pipe), visit=1.0, iteration=1.0)

    alone = overhead("f.compute_at(g, x)", reads_g=False)
    assert overhead("g.compute_root()\nf.compute_at(g, x)", reads_g=True) == alone + 64 + 128 * 64


def test_large_bodies_stay_loops() -> None:
    """Eight terms of eight copies of 30 instructions are more than compilers write out."""
    image, f, out = ImageParam(Float32, 2, "input"), Func("f"), Func("out")
    r = RDom([(0, 8)], "r")
    f[X, Y] = 0.0
    f[X, Y] += sum((image[X + r.x, Y + k] * (k + 1.5) for k in range(10)), start=image[X, Y])
    out[X, Y] = f[X, Y]
    pipe = pipeline(out, estimates={out: [128, 64]})

    def entered(copies: str) -> float:
        sums = f"f.compute_at(out, xo).update(){copies}.reorder(r.x, x, y)"
        chosen = parse_schedule(f"out.split(x, xo, xi, 8)\n{sums}", pipe)
        return cost_of(pipe, chosen, visit=1.0)

    # The loop over x is the innermost one; if it is unrolled, each copy enters that over terms.
    assert entered(".unroll(x)") - entered("") == 7 * (128 // 8) * 64


def test_a_fused_loop_counts_once() -> None:
    f, g, out = Func("f"), Func("g"), Func("out")
    f[X, Y] = X * Y
    g[X, Y] = X + Y
    out[X, Y] = f[X, Y] + g[X, Y]
    pipe = pipeline(out, estimates={out: [128, 64]})
    apart = parse_schedule("f.compute_root()\ng.compute_root()", pipe)
    together = parse_schedule("f.compute_root()\ng.compute_root().compute_with(f, x)", pipe)
    assert cost_of(pipe, apart, iteration=1.0) == 3 * 128 * 64
    assert cost_of(pipe, together, iteration=1.0) == 2 * 128 * 64
