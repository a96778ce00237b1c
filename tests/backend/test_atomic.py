"""Updates of one element by concurrent iterations: the same values as NumPy, in any order."""

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
    Int64,
    Pipeline,
    RDom,
    UInt8,
    UInt32,
    Var,
)
from spaces.backend.compile import CompiledPipeline, compile_cpu
from spaces.backend.replay import replay_nest
from spaces.model.expressions.expr import Expr
from tests.draw_counts import examples

X = Var("x")
CPU = spaces.device("cpu")
WIDTH, HEIGHT = 24, 40
TYPES = [UInt8, Int8, Int16, Int32, UInt32, Int64]
NUMPY = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def combined(operator: str, a: Expr, b: Expr) -> Expr:
    match operator:
        case "add":
            return b + a
        case "mul":
            return a * b
        case "min":
            return spaces.min(a, b)
    return spaces.max(a, b)


def reduced(operator: str, element: spaces.Type, height: int = HEIGHT) -> Pipeline:
    """Each row of an image reduced into one value, and all its values reduced into few places."""
    image = ImageParam(element, 2, "input")
    place = ImageParam(Int32, 2, "place")
    f, h, out = Func("f"), Func("h"), Func("out")
    r = RDom([(0, WIDTH), (0, height)], "r")
    f[X] = spaces.cast(element, 1)
    f[X] = combined(operator, f[X], image[r.x, r.y])
    h[X] = spaces.cast(element, 1)
    at = spaces.clamp(place[r.x, r.y], 0, 4)
    h[at] = combined(operator, h[at], image[r.x, r.y])
    out[X] = (f[X], h[X % 5])
    return spaces.pipeline(out)


def by_numpy(operator: str, image: np.ndarray, place: np.ndarray) -> tuple[object, np.ndarray]:
    one = image.dtype.type(1)
    f = NUMPY[operator].reduce(image.ravel(), dtype=image.dtype, initial=one)
    h = np.full(5, one, image.dtype)
    NUMPY[operator].at(h, place.ravel(), image.ravel())
    return f, h


ORDERS = [
    "{f}.atomic().parallel(r.y)",
    "{f}.atomic().vectorize(r.x, 8)",
    "{f}.atomic().split(r.x, xo, xi, 7).vectorize(xi)",
    "{f}.atomic().parallel(r.y).vectorize(r.x, 8)",
    "{f}.atomic().split(r.y, yo, yi, 4).reorder(r.x, yo, yi).parallel(yi).vectorize(r.x)",
]


@settings(max_examples=examples(40), deadline=None)
@given(
    st.sampled_from(list(NUMPY)),
    st.sampled_from(TYPES),
    st.sampled_from(ORDERS),
    st.sampled_from(ORDERS),
    st.integers(0, 9),
)
def test_updates_at_once_lose_nothing(
    operator: str, element: spaces.Type, first: str, second: str, seed: int
) -> None:
    pipeline = reduced(operator, element)
    text = "\n".join((first.format(f="f.update(0)"), second.format(f="h.update(0)")))
    written = spaces.parse_schedule(text, pipeline)
    assert spaces.parse_schedule(spaces.format_schedule(written, pipeline), pipeline) == written
    checked = spaces.verify(pipeline, written, CPU)
    assert checked, str(checked)
    random = np.random.default_rng(seed)
    info = np.iinfo(element.dtype)
    image = random.integers(info.min, info.max, (HEIGHT, WIDTH), element.dtype, endpoint=True)
    place = random.integers(0, 5, (HEIGHT, WIDTH), np.int32)
    f, h = by_numpy(operator, image, place)
    compiled = compile_cpu(checked, threads=4)
    for _ in range(3):
        found = compiled.run({"input": image, "place": place}, sizes={"out": [5]})
        assert (found["out.0"] == f).all()
        assert np.array_equal(found["out.1"], h)


@pytest.mark.parametrize("operator", ["min", "max", "add", "mul"])
def test_floats_are_updated_at_once(operator: str) -> None:
    pipeline = reduced(operator, Float32)
    text = (
        "f.update(0).atomic().parallel(r.y).vectorize(r.x, 8)\nh.update(0).atomic().parallel(r.y)"
    )
    checked = spaces.verify(pipeline, spaces.parse_schedule(text, pipeline), CPU)
    assert checked, str(checked)
    random = np.random.default_rng(1)
    # Sums of few small whole numbers, and products of signs, are exact in any order.
    choices = [-1.0, 1.0] if operator == "mul" else list(range(-9, 10))
    image = random.choice(np.array(choices, np.float32), (HEIGHT, WIDTH))
    place = random.integers(0, 5, (HEIGHT, WIDTH), np.int32)
    f, h = by_numpy(operator, image, place)
    compiled = compile_cpu(checked, threads=4)
    found = compiled.run({"input": image, "place": place}, sizes={"out": [5]})
    assert (found["out.0"] == f).all()
    assert np.array_equal(found["out.1"], h)


def compiled_of(text: str) -> CompiledPipeline:
    pipeline = reduced("add", Int32)
    checked = spaces.verify(pipeline, spaces.parse_schedule(text, pipeline), CPU)
    assert checked, str(checked)
    return compile_cpu(checked)


def test_lanes_that_share_a_place_are_added_up_first() -> None:
    assert "add of lanes(" in compiled_of("f.update(0).atomic().vectorize(r.x, 8)").program_text(
        "vectorize"
    )
    scattered = compiled_of("h.update(0).atomic().vectorize(r.x, 8)").program_text("vectorize")
    assert "of lanes(" not in scattered


def test_only_threads_that_meet_use_atomic_instructions() -> None:
    meeting = compiled_of("f.update(0).atomic().parallel(r.y)").llvm_ir()
    assert "atomicrmw add" in meeting
    apart = compiled_of("f.update(0).atomic().parallel(x).vectorize(r.x, 8)").program_text("start")
    assert "becomes add of itself" in apart
    assert "in one step" not in apart


def test_without_atomic_the_loops_are_refused() -> None:
    pipeline = reduced("add", Int32)
    for order in ORDERS:
        text = order.format(f="f.update(0)").replace(".atomic()", "")
        verdict = spaces.verify(pipeline, spaces.parse_schedule(text, pipeline), CPU)
        assert "race.update" in {v.rule for v in verdict.violations}


def test_all_is_proven_of_atomic_updates() -> None:
    pipeline = reduced("add", Int32)
    text = (
        "f.update(0).atomic().parallel(r.y).vectorize(r.x, 8)\nh.update(0).atomic().parallel(r.y)"
    )
    checked = spaces.verify(pipeline, spaces.parse_schedule(text, pipeline), CPU)
    report = spaces.prove(checked)
    assert len(report.proven) == len(report.proofs)
    # The same nest without the directive is refuted.
    bare = spaces.parse_schedule(text.replace(".atomic()", ""), pipeline)
    refuted = spaces.prove(spaces.loop_nest(pipeline, bare)).refuted
    assert {proof.obligation.kind for proof in refuted} == {"race"}


def test_a_replay_takes_updates_for_one_step() -> None:
    image, f, r = ImageParam(Int32, 2, "input"), Func("f"), RDom([(0, 6), (0, 5)], "r")
    f[X] = spaces.cast(Int32, 0)
    f[X] = f[X] + image[r.x, r.y]
    pipeline = spaces.pipeline(f)
    text = "f.update(0).atomic().parallel(r.y).vectorize(r.x)"
    ranges = {"f": [2], "input": [6, 5]}
    sizes = {f"{b}.extent.{d}": e for b, es in ranges.items() for d, e in enumerate(es)}
    sizes |= {name.replace("extent", "min"): 0 for name in sizes}
    for spelled, faults in ((text, False), (text.replace(".atomic()", ""), True)):
        nest = spaces.loop_nest(pipeline, spaces.parse_schedule(spelled, pipeline))
        assert bool(replay_nest(nest, sizes).faults) is faults


@pytest.mark.parametrize("order", ORDERS)
def test_components_of_a_tuple_are_changed_one_by_one(order: str) -> None:
    image, f = ImageParam(Int32, 2, "input"), Func("f")
    r = RDom([(0, WIDTH), (0, HEIGHT)], "r")
    f[X] = (spaces.cast(Int32, 7), spaces.cast(Int32, -3))
    f[X] = (f[X][0] + image[r.x, r.y] * X, spaces.max(f[X][1], image[r.x, r.y]))
    pipeline = spaces.pipeline(f)
    written = spaces.parse_schedule(order.format(f="f.update(0)"), pipeline)
    checked = spaces.verify(pipeline, written, CPU)
    assert checked, str(checked)
    values = np.random.default_rng(2).integers(-99, 99, (HEIGHT, WIDTH), np.int32)
    found = compile_cpu(checked, threads=4).run({"input": values}, sizes={"f": [3]})
    assert found["f.0"].tolist() == [7 + int(values.sum()) * x for x in range(3)]
    assert (found["f.1"] == values.max()).all()
    report = spaces.prove(checked)
    assert len(report.proven) == len(report.proofs)
