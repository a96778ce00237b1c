"""Directives that add Funcs, here and in Halide: the same loops, the same bits."""

from itertools import product

import numpy as np
import pytest

from spaces import (
    Func,
    ImageParam,
    RDom,
    Var,
    device,
    format_schedule,
    parse_schedule,
    pipeline,
    verify,
)
from spaces.backend.compile import compile_cpu
from spaces.backend.halide.errors import DirectiveError, LoweringError
from spaces.backend.halide.source import halide_source
from spaces.backend.reference import evaluate
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import cast
from spaces.model.expressions.types import Int16, Int32, UInt8
from tests.backend.halide.peer import bridge
from tests.draw_counts import every, is_thorough
from tests.model.schedules.test_derive import TEXTS, diamond
from tests.model.schedules.test_rfactor import reduced

P = diamond()


WRAPPED_BEFORE = "f.in(g).compute_root()\nf.clone_in(h).compute_root()\nf.compute_root()"
"""Halide clones a Func only before it wraps it."""


@pytest.mark.parametrize("text", [*TEXTS, WRAPPED_BEFORE])
def test_wrappers_and_clones_give_halides_bits(text: str) -> None:
    written = parse_schedule(text, P)
    checked = verify(P, written, device("cpu"))
    assert checked
    image = np.random.default_rng(5).integers(-(2**31), 2**31, (40, 40), np.int32, endpoint=False)
    sizes = {"out": [(2, 29), (1, 33)]}
    theirs = bridge.build(P, written).realize({"input": image}, sizes=sizes)["out"]
    ours = compile_cpu(checked).run({"input": image}, sizes=sizes)["out"]
    assert np.array_equal(ours, theirs)


def test_halide_makes_the_same_loops() -> None:
    text = "input.in(f).compute_at(f, y).vectorize(_0, 8)\nf.compute_root()\ng.compute_root()"
    nest = bridge.build(P, parse_schedule(text, P)).loop_nest()
    lines = [line.strip() for line in nest.splitlines()]
    produced = next(i for i, line in enumerate(lines) if line.startswith("produce input"))
    assert lines[produced - 1] == "for y:"
    # The loop runs over a single row.
    assert lines[produced + 1] == "for _0._0:"
    assert lines[produced + 2].startswith("vectorized _0.v")


def test_cpp_declares_added_funcs() -> None:
    text = "input.in(f).compute_at(f, y).vectorize(_0, 8)\nf.in({g, h}).compute_root()"
    written = parse_schedule(text, P)
    source = halide_source(P, written)
    assert "    Func input_in_f = input\n        .in(f);\n    Func f_in_g_h = f\n" in source
    assert ".in({g, h});" in source
    # The printed text parses again.
    chains = source[source.index("    Func input_in_f") : source.index("    return")]
    assert format_schedule(parse_schedule(chains, P), P) == format_schedule(
        parse_schedule(f"{text}\ng.compute_root()", P), P
    )


FACTORED = [
    "f.update(0).rfactor(r.y, u).update(0).parallel(u)",
    "f.update(0).split(r.x, xo, xi, 4).rfactor({{xi, u}, {r.y, v}}).vectorize(u)\n"
    "f_intm.update(0).vectorize(u).reorder(x, xo)",
    "h.update(0).rfactor(q.y, u).compute_root().update(0).parallel(u)\nh.update(0).vectorize(x)",
    "f.update(0).fuse(r.x, r.y, t).split(t, to, ti, 32).rfactor(to, u).compute_at(f, x)\n"
    "f.compute_at(out, x)",
    "f.update(0).split(r.x, xo, xi, 4).rfactor(xo, y).update(0).rfactor(xi, z)\n"
    "f_intm_intm.update(0).unroll(z)",
    "f.update(0).split(r.x, xo, xi, 7).rfactor(xi, u).update(0).vectorize(u)",
]


REDUCED = [*product(FACTORED, ("add", "mul", "min", "max"))]


@pytest.mark.parametrize(("text", "operator"), REDUCED[:: every(1)])
def test_factored_reductions_give_halides_bits(text: str, operator: str) -> None:
    made = reduced(operator, Int32)
    written = parse_schedule(text, made)
    checked = verify(made, written, device("cpu"))
    assert checked, str(checked)
    image = np.random.default_rng(5).integers(-(2**31), 2**31, (9, 16, 30), np.int32)
    sizes = {"out": [(1, 7)]}
    theirs = bridge.build(made, written).realize({"input": image}, sizes=sizes)["out"]
    ours = compile_cpu(checked).run({"input": image}, sizes=sizes)["out"]
    assert np.array_equal(ours, theirs)


def test_halide_factors_into_the_same_loops() -> None:
    made = reduced("add", Int32)
    written = parse_schedule(FACTORED[1], made)
    lines = [line.strip() for line in bridge.build(made, written).loop_nest().splitlines()]
    # The partial results come first; their name depends on the names that Halide used before.
    loops = [line for line in lines if line.startswith(("for", "vectorized"))]
    names = [line.split()[1].rstrip(":") for line in loops]
    assert names[:7] == ["v", "u", "x", "xo", "v", "x", "u"]
    partial = written.of("f_intm")
    assert [*partial.stages[0].names, *partial.stages[1].names] == names[:7]


def test_a_factored_argmin_gives_halides_bits() -> None:
    image = ImageParam(Int32, 2, "input")
    x, r = Var("x"), RDom([(0, 12), (0, 8)], "r")
    best, out = Func("best"), Func("out")
    best[x] = (Int32.max_value, 0)
    value, place = image[r.x, r.y] * x, r.x + 12 * r.y
    least, at = best[x]
    best[x] = (fn.min(least, value), fn.select(least < value, at, place))
    out[x] = best[x][0] + 100 * best[x][1]
    made = pipeline(out)
    text = "best.update(0).split(r.y, yo, yi, 4).rfactor(yo, u).update(0).parallel(u)"
    checked = verify(made, parse_schedule(text, made), device("cpu"))
    assert checked, str(checked)
    # All values differ: Halide need not keep the first of equal values.
    values = np.random.default_rng(5).permutation(96).reshape(8, 12).astype(np.int32) + 1
    sizes = {"out": [(1, 7)]}
    theirs = bridge.build(made, checked.schedule).realize({"input": values}, sizes=sizes)["out"]
    ours = compile_cpu(checked).run({"input": values}, sizes=sizes)["out"]
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    "text",
    [
        "f.update(0).atomic().parallel(r.y).vectorize(r.x, 8)",
        "h.update(0).atomic().parallel(q.y)",
        "h.update(0).atomic().vectorize(q.x, 4)",
        "f.update(0).rfactor(r.y, u).update(0).atomic().vectorize(r.x, 8)",
    ],
)
def test_atomic_updates_give_halides_bits(text: str) -> None:
    made = reduced("add", Int32)
    checked = verify(made, parse_schedule(text, made), device("cpu"))
    assert checked, str(checked)
    image = np.random.default_rng(6).integers(-(2**31), 2**31, (9, 16, 30), np.int32)
    sizes = {"out": [(1, 7)]}
    theirs = bridge.build(made, checked.schedule).realize({"input": image}, sizes=sizes)["out"]
    ours = compile_cpu(checked).run({"input": image}, sizes=sizes)["out"]
    assert np.array_equal(ours, theirs)


def pairs(updated: bool) -> Pipeline:
    """A Tuple, summed over windows if ``updated``, and two readers of it; one of them is a Tuple
    too.
    """
    image, r = ImageParam(Int32, 2, "input"), RDom([(0, 3), (0, 4)], "r")
    f, g, h, out = Func("f"), Func("g"), Func("h"), Func("out")
    x, y = Var("x"), Var("y")
    if updated:
        f[x, y] = (0, cast(Int16, 0))
        f[x, y] += (image[x + r.x, y + r.y], cast(Int16, r.x + 1))
    else:
        f[x, y] = (image[x, y] * 2, cast(Int16, image[x, y] - x))
    g[x, y] = f[x, y][0] + cast(Int32, f[x + 1, y][1])
    h[x, y] = (f[x, y][1] * 3, f[x, y + 1][0])
    out[x, y] = (g[x, y] + cast(Int32, h[x, y][0]) + g[x, y + 1], h[x, y][1])
    return pipeline(out)


OF_TUPLES = [
    "f.in(g).compute_root().vectorize(x, 8, GuardWithIf)\nf.compute_root()",
    "f.in(g).compute_at(out, y)\nf.compute_root().vectorize(x, 8)\ng.compute_at(out, y)",
    "f.in().compute_at(out, y).vectorize(x, 4)\nf.compute_root()",
    "f.in({g, h}).compute_root()\nf.compute_at(f_in_g_h, y)",
    "f.clone_in(g).compute_at(g, y)\ng.compute_root()\nf.compute_at(out, y)",
    "f.clone_in({g, h}).compute_root().vectorize(x, 4)",
    "f.in(g).in(g).compute_root()\nf.compute_root()",
]


OF_BOTH = [
    (text, updated)
    for number, text in enumerate(OF_TUPLES)
    for updated in (False, True)
    if is_thorough() or updated == number % 2
]


@pytest.mark.parametrize(("text", "updated"), OF_BOTH)
def test_tuples_are_wrapped_and_cloned_as_by_halide(text: str, updated: bool) -> None:
    made = pairs(updated)
    checked = verify(made, parse_schedule(text, made), device("cpu"))
    assert checked, str(checked)
    assert parse_schedule(format_schedule(checked.schedule, made), made) == checked.schedule
    image = np.random.default_rng(7).integers(-1000, 1000, (40, 40), np.int32)
    sizes = {"out": [(1, 21), (2, 13)]}
    theirs = bridge.build(made, checked.schedule).realize({"input": image}, sizes=sizes)
    ours = compile_cpu(checked).run({"input": image}, sizes=sizes)
    for name, values in evaluate(made, {"input": image}, sizes=sizes).items():
        assert np.array_equal(ours[name], values)
        assert np.array_equal(theirs[name], values)


FACTORED_TUPLES = [
    "f.update(0).rfactor(r.y, u).compute_root().update(0).parallel(u)",
    "f.update(0).split(r.x, xo, xi, 4).rfactor({{xi, u}, {r.y, v}}).vectorize(u)\n"
    "f_intm.update(0).vectorize(u)",
    "f.update(0).rfactor(r.x, u).compute_root().vectorize(x, 4)\n"
    "f.compute_root().update(0).vectorize(x, 4)",
    "f.update(0).rfactor(r.y, u).update(0).atomic().vectorize(r.x, 8)",
]


KINDS = [
    *((text, kind) for text in FACTORED_TUPLES for kind in ("sums", "limits")),
    *((text, kind) for text in FACTORED_TUPLES[:3] for kind in ("product", "product and sum")),
]


@pytest.mark.parametrize(("text", "kind"), KINDS[:: every(1)])
def test_factored_tuples_give_halides_bits(text: str, kind: str) -> None:
    image, r = ImageParam(Int32, 2, "input"), RDom([(0, 30), (0, 16)], "r")
    f, out, x = Func("f"), Func("out"), Var("x")
    value = image[x + r.x, r.y]
    if kind == "sums":
        f[x] = (0, cast(Int16, 1))
        f[x] += (value, cast(Int16, value * 3))
    elif kind.startswith("product"):
        more = kind == "product and sum"
        f[x] = (x + 1, 3, 5) if more else (x + 1, 3)
        real, imaginary, *rest = f[x]
        first, second = value | 1, image[r.x, r.y] & -2  # odd: products of even numbers become 0
        made_of = (real * first - imaginary * second, imaginary * first + real * second)
        f[x] = (*made_of, *(one + value for one in rest))
    else:
        f[x] = (Int32.max_value, Int32.min_value)
        f[x] = (fn.min(f[x][0], value), fn.max(f[x][1], value))
    out[x] = f[x][0] + cast(Int32, f[x][1]) * 3
    made = pipeline(out)
    checked = verify(made, parse_schedule(text, made), device("cpu"))
    assert checked, str(checked)
    pixels = np.random.default_rng(8).integers(-1000, 1000, (16, 40), np.int32)
    sizes = {"out": [(1, 7)]}
    theirs = bridge.build(made, checked.schedule).realize({"input": pixels}, sizes=sizes)["out"]
    ours = compile_cpu(checked).run({"input": pixels}, sizes=sizes)["out"]
    assert np.array_equal(ours, evaluate(made, {"input": pixels}, sizes=sizes)["out"])
    assert np.array_equal(theirs, ours)


def test_halide_refuses_the_same_atomic_updates() -> None:
    image, r, x, best = ImageParam(Int32, 1, "input"), RDom([(0, 64)], "r"), Var("x"), Func("best")
    least, at = best[x], best[x]
    best[x] = (Int32.max_value, 0)
    best[x] = (fn.min(least[0], image[r]), fn.select(image[r] < least[0], r.x, at[1]))
    made = pipeline(best)
    written = parse_schedule("best.update(0).atomic().parallel(r.x)", made)
    verdict = verify(made, written, device("cpu"))
    assert "race.atomic" in {v.rule for v in verdict.violations}
    with pytest.raises(DirectiveError, match=r"atomic"):
        bridge.build(made, written)


def test_halide_refuses_atomic_updates_of_bytes_in_kernels() -> None:
    image, r, x, counts = ImageParam(Int32, 1, "input"), RDom([(0, 64)], "r"), Var("x"), Func("n")
    counts[x] = cast(UInt8, 0)
    counts[fn.clamp(image[r], 0, 3)] += 1
    made = pipeline(counts)
    written = parse_schedule("n.update(0).atomic().gpu_tile(r.x, ri, 32)", made)
    assert verify(made, written, device("sm_80"))
    with pytest.raises(LoweringError, match=r"8-bit or 16-bit atomics"):
        bridge.build(made, written).compile(bridge.CUDA)
