"""Reductions in two steps: what they compute, with values that NumPy computes."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spaces
from spaces import (
    Float32,
    Func,
    ImageParam,
    Int8,
    Int16,
    Int32,
    Pipeline,
    RDom,
    Schedule,
    UInt8,
    Var,
    derived,
    schedule,
)
from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.model.expressions.expr import Expr
from spaces.model.schedules.reductions.accumulation import accumulation
from tests.differential.quick_code import quick_code
from tests.draw_counts import examples

X, Y = Var("x"), Var("y")
CPU = spaces.device("cpu")
WIDTH, HEIGHT = 24, 12


def reduced(operator: str, element: spaces.Type, first: int = 0) -> Pipeline:
    """Columns of an image reduced, and a histogram of it."""
    image = ImageParam(element, 3, "input")
    f, h, out = Func("f"), Func("h"), Func("out")
    r, q = RDom([(2, WIDTH), (first, HEIGHT)], "r"), RDom([(0, 4), (0, 6)], "q")
    f[X] = spaces.cast(element, 101)
    f[X] = combined(operator, f[X], image[r.x, r.y, X])
    h[X] = spaces.cast(Int32, 0)
    at = spaces.cast(Int32, image[q.x, q.y, 0]) % 7
    h[at] = h[at] + q.x + 1
    out[X] = f[X] + spaces.cast(element, h[X % 7])
    return spaces.pipeline(out)


def combined(operator: str, a: Expr, b: Expr) -> Expr:
    match operator:
        case "add":
            return a + b
        case "mul":
            return b * a
        case "min":
            return spaces.min(a, b)
    return spaces.max(b, a)


NUMPY = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def by_numpy(operator: str, image: np.ndarray, first: int, extent: int) -> np.ndarray:
    """What the pipeline says, without it."""
    region = image[:, first : first + HEIGHT, 2 : 2 + WIDTH].reshape(image.shape[0], -1)
    f = NUMPY[operator].reduce(region, axis=1, dtype=image.dtype, initial=image.dtype.type(101))
    h = np.zeros(7, np.int32)
    for y in range(6):
        for x in range(4):
            h[int(image[0, y, x]) % 7] += x + 1
    return f[:extent] + h[np.arange(extent) % 7].astype(image.dtype)


@st.composite
def factored(draw: st.DrawFn, pipeline: Pipeline) -> Schedule:
    """Some RVars of ``f``, or parts of them, factored; one of ``h``; loops by chance."""
    stage = schedule(pipeline).func("f").update(0)
    loops = {"r.x": WIDTH, "r.y": HEIGHT}
    for name in draw(st.lists(st.sampled_from(["r.x", "r.y"]), unique=True)):
        factor = draw(st.sampled_from([2, 3, 4, 5, 7, 40]))
        stage = stage.split(name, f"{name[-1]}o", f"{name[-1]}i", factor)
        loops |= {f"{name[-1]}o": -(-loops.pop(name) // factor), f"{name[-1]}i": factor}
    if draw(st.booleans()):
        stage = stage.reorder(*draw(st.permutations([*loops, "x"])))
    chosen = draw(st.lists(st.sampled_from(list(loops)), min_size=1, unique=True))
    vars = dict(zip(chosen, ("u", "v", "w", "z"), strict=False))
    partial = stage.rfactor(list(vars.items())).update(0)
    kind = draw(st.sampled_from(["serial", "vectorize", "parallel"]))
    if kind == "parallel" or loops[chosen[0]] < 9:
        partial = getattr(partial, kind)(vars[chosen[0]])
    result = partial.func("f_intm").compute_at("out", "x") if draw(st.booleans()) else partial
    if result.schedule.of("f_intm").compute.loop == "x":
        result = result.func("f").compute_at("out", "x")
    return result.func("h").update(0).rfactor("q.y", "u").schedule


@settings(max_examples=examples(40), deadline=None)
@given(
    st.data(),
    st.sampled_from(list(NUMPY)),
    st.sampled_from([UInt8, Int16, Int32]),
    st.integers(0, 3),
)
def test_any_factorization_gives_numpys_result(
    data: st.DataObject, operator: str, element: spaces.Type, first: int
) -> None:
    pipeline = reduced(operator, element, first)
    written = data.draw(factored(pipeline))
    text = spaces.format_schedule(written, pipeline)
    assert spaces.parse_schedule(text, pipeline) == written
    assert spaces.from_json(spaces.to_json(written), Schedule) == written
    info = np.iinfo(element.dtype)
    seed = data.draw(st.integers(0, 9))
    image = np.random.default_rng(seed).integers(
        data.draw(st.sampled_from([info.min, 50])), info.max, (5, 16, 30), element.dtype
    )
    expected = by_numpy(operator, image, first, 5)
    whole = derived(pipeline, written)
    sizes = {"out": [5]}
    assert np.array_equal(evaluate(whole, {"input": image}, sizes=sizes)["out"], expected)
    checked = spaces.verify(pipeline, written, CPU)
    assert checked, str(checked)
    with quick_code():
        compiled = compile_cpu(checked).run({"input": image}, sizes=sizes)["out"]
    assert np.array_equal(compiled, expected)


def test_floats_are_reduced_up_to_rounding() -> None:
    """Any order of n terms is within (n - 1) rounding errors of their absolute sum."""
    image = ImageParam(Float32, 1, "input")
    r = RDom([(0, 1024)], "r")
    f = Func("f")
    f[X] = spaces.cast(Float32, 0)
    f[X] = f[X] + image[r.x] * X
    pipeline = spaces.pipeline(f)
    written = spaces.parse_schedule("f.update(0).split(r, ro, ri, 8).rfactor(ri, u)", pipeline)
    checked = spaces.verify(pipeline, written, CPU)
    assert checked
    values = np.random.default_rng(1).normal(size=1024).astype(np.float32)
    found = compile_cpu(checked).run({"input": values}, sizes={"f": [3]})["f"]
    exact = values.astype(np.float64).sum() * np.arange(3)
    bound = 1023 * 2.0**-24 * np.abs(values).sum() * np.arange(3)
    assert (np.abs(found - exact) <= bound).all()
    assert found[1] != 0


def test_the_graph_is_that_of_two_steps() -> None:
    pipeline = reduced("add", Int32)
    stage = schedule(pipeline).func("f").update(0).split("r.x", "xo", "xi", 4)
    found = derived(pipeline, stage.rfactor("xi", "u").schedule)
    partial, whole = found.function("f_intm"), found.function("f")
    assert partial.args == ("x", "u")
    assert str(partial.stages[0].values[0]) == "0"
    assert [(r.name, str(r.min), str(r.extent)) for r in partial.stages[1].rvars] == [
        ("xo", "0", "6"),
        ("r.y", "0", "12"),
    ]
    assert str(partial.stages[1].values[0]) == "f_intm(x, u) + input(u + xo * 4 + 2, r.y, x)"
    assert [r.name for r in whole.stages[1].rvars] == ["xi"]
    assert str(whole.stages[1].values[0]) == "f(x) + f_intm(x, xi)"


def test_loops_over_vars_stay_in_both_steps() -> None:
    pipeline = reduced("add", Int32)
    stage = schedule(pipeline).func("f").update(0).split("x", "xo", "xi", 4).parallel("xo")
    written = stage.rfactor("r.y", "u").schedule
    assert written.of("f_intm").stages[1].names == ("xo", "xi", "u", "r.x")
    assert written.of("f").stages[1].names == ("xo", "xi", "r.y")
    for func in ("f", "f_intm"):
        assert written.of(func).stages[1].kind("xo") is spaces.LoopKind.PARALLEL


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("f.rfactor(r.y, u)", "and no update"),
        ("f.update(0).rfactor(r.y)", "each with a new Var"),
        ("f.update(0).rfactor(8, u)", "Expected the name of a loop"),
    ],
)
def test_mistakes_in_texts(text: str, part: str) -> None:
    with pytest.raises(spaces.ScheduleSyntaxError, match=part):
        spaces.parse_schedule(text, reduced("add", Int32))


def test_what_accumulates_is_known() -> None:
    image = ImageParam(Int32, 1, "input")
    r = RDom([(0, 8)], "r")
    f = Func("f")
    f[X] = spaces.cast(Int32, 0)
    f[X] = f[X] + image[r.x]
    f[r.x] = spaces.max(image[r.x], f[r.x])
    f[X] = f[X] - image[r.x]
    f[r.x] = f[r.x] + f[r.x + 1] * r.x
    f[r.x] = f[r.x + 1] + image[r.x]
    f[X] = f[X] * 2 + image[r.x]
    f[f[r.x]] = f[f[r.x]] + 1
    f[X] = spaces.select(image[r.x] > 0, f[X], 1)
    function = spaces.pipeline(f).functions[0]
    found = [accumulation(function, index) for index in range(len(function.stages))]
    assert [a and (*a.operators, a.identities[0].value) for a in found] == [
        None,
        ("add", 0),
        ("max", -(2**31)),
        *[None] * 6,
    ]


def test_the_first_of_the_best_stays_the_first() -> None:
    image = ImageParam(UInt8, 2, "input")
    r = RDom([(0, 12), (0, 8)], "r")
    best, out = spaces.argmax(image[r.x, r.y] + X, name="best"), Func("out")
    out[X] = (*best[:2], spaces.cast(Int32, best[2]))
    pipeline = spaces.pipeline(out)
    text = (
        "best.update(0).split(r.y, yo, yi, 4).rfactor(yo, u).update(0)"
        ".parallel(u)\nout.vectorize(x, 4)"
    )
    checked = spaces.verify(pipeline, spaces.parse_schedule(text, pipeline), CPU)
    assert checked, str(checked)
    compiled = compile_cpu(checked)
    for seed in range(4):
        # Few different values, so that the largest is there several times.
        values = np.random.default_rng(seed).integers(0, 4, (8, 12), np.uint8)
        found = compiled.run({"input": values}, sizes={"out": [8]})
        for x in range(8):
            row, column = divmod(int(np.argmax(values + np.uint8(x))), 12)
            assert [int(found[f"out.{i}"][x]) for i in range(2)] == [column, row]
            assert found["out.2"][x] == values.max() + x
    swapped = spaces.parse_schedule(text.replace("rfactor(yo", "rfactor(yi"), pipeline)
    assert {v.rule for v in spaces.verify(pipeline, swapped, CPU).violations} == {"derive.order"}


def test_predicates_are_carried_along() -> None:
    image = ImageParam(Int32, 2, "input")
    r = RDom([(0, 10), (0, 9)], "r")
    r.where(r.x + r.y < 12)
    r.where(image[r.x, r.y] % 3 != 0)
    f = Func("f")
    f[X] = spaces.cast(Int32, 5)
    f[X] = f[X] + image[r.x, r.y] * X
    pipeline = spaces.pipeline(f)
    values = np.random.default_rng(2).integers(-50, 50, (9, 10), np.int32)
    y, x = np.mgrid[0:9, 0:10]
    total = values[(x + y < 12) & (values % 3 != 0)].sum()
    for text in (
        "f.update(0).rfactor(r.y, u).update(0).parallel(u)",
        "f.update(0).split(r.x, xo, xi, 4).rfactor(xi, u).update(0).vectorize(u)",
    ):
        checked = spaces.verify(pipeline, spaces.parse_schedule(text, pipeline), CPU)
        assert checked, str(checked)
        found = compile_cpu(checked).run({"input": values}, sizes={"f": [4]})["f"]
        assert np.array_equal(found, 5 + total * np.arange(4))


@pytest.mark.parametrize(
    "text",
    [
        "h.update(0).rfactor(r.y, u).compute_root().update(0).parallel(u)",
        "h.update(0).atomic().parallel(r.y)",
    ],
)
def test_a_histogram_by_8_bit_values(text: str) -> None:
    """Coordinates of any integer type are the same on both sides of an update."""
    image, h = ImageParam(UInt8, 2, "input"), Func("h")
    r = RDom([(0, image.width()), (0, image.height())], "r")
    h[X] = 0
    h[image[r.x, r.y]] += 1
    algorithm = spaces.pipeline(h)
    checked = spaces.verify(algorithm, spaces.parse_schedule(text, algorithm), CPU)
    assert checked, str(checked)
    pixels = np.random.default_rng(5).integers(0, 256, (HEIGHT, WIDTH), np.uint8)
    found = compile_cpu(checked).run({"input": pixels}, sizes={"h": [256]})["h"]
    assert np.array_equal(found, np.bincount(pixels.ravel(), minlength=256))


def test_declarations_name_partial_results() -> None:
    pasted = (
        "Func part = f.update(0).rfactor(r.y, u);\n"
        "part.compute_root().update().parallel(u);\nf.vectorize(x, 8);"
    )
    plain = (
        "f.update(0).rfactor(r.y, u).compute_root()\n"
        "f_intm.update(0).parallel(u)\nf.vectorize(x, 8)"
    )
    algorithm = reduced("add", Int32)
    read = spaces.parse_schedule(pasted, algorithm)
    assert read == spaces.parse_schedule(plain, algorithm)
    assert [d.name for d in read.derivations] == ["f_intm"]


@pytest.mark.parametrize("text", ["f.update(0).rfactor(r.y, u)", "f.update(0).rfactor(r.x, u)"])
def test_sums_that_are_limited_after_they_were_widened(text: str) -> None:
    image, f = ImageParam(UInt8, 2, "input"), Func("f")
    r = RDom([(0, WIDTH), (0, HEIGHT)], "r")
    f[X] = spaces.cast(UInt8, X * 60)
    f[X] = spaces.saturating_cast(UInt8, spaces.widening_add(f[X], image[r.x, r.y]))
    algorithm = spaces.pipeline(f)
    checked = spaces.verify(algorithm, spaces.parse_schedule(text, algorithm), CPU)
    assert checked, str(checked)
    pixels = np.random.default_rng(6).integers(0, 2, (HEIGHT, WIDTH), np.uint8)
    found = compile_cpu(checked).run({"input": pixels}, sizes={"f": [5]})["f"]
    total = int(pixels.sum())
    assert found.tolist() == [min(60 * x + total, 255) for x in range(5)]
    assert {value < 255 for value in found.tolist()} == {True, False}


@pytest.mark.parametrize("is_widened", [False, True])
def test_signed_sums_that_are_limited_are_not_reduced_in_parts(is_widened: bool) -> None:
    """100 + 100 - 100 is 27 of int8 from the left, and 100 from the right."""
    image, f, r = ImageParam(Int8, 1, "input"), Func("f"), RDom([(0, 8)], "r")
    f[X] = spaces.cast(Int8, X)
    f[X] = (
        spaces.saturating_cast(Int8, spaces.widening_add(f[X], image[r]))
        if is_widened
        else spaces.saturating_add(f[X], image[r])
    )
    text = "f.update(0).split(r, ro, ri, 4).rfactor(ro, u)"
    algorithm = spaces.pipeline(f)
    verdict = spaces.verify(algorithm, spaces.parse_schedule(text, algorithm), CPU)
    assert [v.rule for v in verdict.violations] == ["derive.operator"]


NAN_FIRST: dict[str, tuple[Callable[[Expr, Expr], Expr], np.ufunc]] = {
    "greatest": (lambda a, b: spaces.select(spaces.is_nan(a) | (a > b), a, b), np.maximum),
    "not less": (lambda a, b: spaces.select(spaces.is_nan(a) | (b <= a), a, b), np.maximum),
    "least": (lambda a, b: spaces.select(spaces.is_nan(a) | (a < b), a, b), np.minimum),
    "not greater": (lambda a, b: spaces.select(spaces.is_nan(a) | (b >= a), a, b), np.minimum),
}


@pytest.mark.parametrize("name", NAN_FIRST)
def test_what_is_no_number_stays(name: str) -> None:
    step, by_numpy = NAN_FIRST[name]
    image, f = ImageParam(Float32, 3, "input"), Func("f")
    r = RDom([(0, 9), (0, 5)], "r")
    f[X] = image[0, 0, X]
    f[X] = step(f[X], image[r.x, r.y, X])
    algorithm = spaces.pipeline(f)
    assert "which of a zero" in accumulation(algorithm.functions[0], 1).inexact
    text = "f.update(0).split(r.x, xo, xi, 4).rfactor(xi, u).update(0).vectorize(u)"
    checked = spaces.verify(algorithm, spaces.parse_schedule(text, algorithm), CPU)
    assert checked, str(checked)
    values = np.random.default_rng(7).normal(size=(4, 5, 9)).astype(np.float32)
    values[1, 3, 2] = values[2, 0, 0] = np.nan
    found = compile_cpu(checked).run({"input": values}, sizes={"f": [4]})["f"]
    expected = by_numpy.reduce(values.reshape(4, -1), axis=1)
    np.testing.assert_array_equal(found, expected)
    assert np.isnan(found).tolist() == [False, True, True, False]


def test_another_value_than_is_compared_is_not_kept() -> None:
    image, f = ImageParam(Float32, 1, "input"), Func("f")
    r = RDom([(0, 9)], "r")
    f[X] = spaces.cast(Float32, 0)
    f[X] = spaces.select(spaces.is_nan(f[X]) | (f[X] > image[r.x]), f[X], image[r.x] * 2)
    assert accumulation(spaces.pipeline(f).functions[0], 1) is None
