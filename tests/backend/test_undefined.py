"""Updates that keep old values where the new values are undefined."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.undefined import undef
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Int32
from spaces.model.writing.serialize import from_json, to_json
from spaces.model.writing.text import parse_schedule
from tests.backend.cuda.gpu_runs import check

X = Var("x")


def chained() -> Pipeline:
    image, out = ImageParam(Int32, 1, "in"), Func("out")
    nothing = undef(Int32)
    out[X] = image[X]
    out[X] = fn.select(image[X] > 5, out[X] * 10, image[X] < 0, -1, nothing)
    out[X] = fn.select(X % 3 == 0, nothing, out[X] + 1)
    out[X] = nothing
    r = RDom([(0, 4)], "r")
    out[r.x * 2] = fn.select(image[r.x] > 5, 1000 + r.x, nothing)
    return pipeline(out)


def meant(values: np.ndarray) -> list[int]:
    out = [v * 10 if v > 5 else -1 if v < 0 else v for v in values.tolist()]
    out = [v if x % 3 == 0 else v + 1 for x, v in enumerate(out)]
    for x in range(4):
        if values[x] > 5:
            out[2 * x] = 1000 + x
    return out


VALUES = np.random.default_rng(4).integers(-10, 15, 24).astype(np.int32)


@pytest.mark.parametrize("lanes", [1, 8])
def test_undefined_values_are_not_stored(lanes: int) -> None:
    algorithm = chained()
    assert len(algorithm.function("out").stages) == 4  # an update without any value adds no stage
    sizes = {"out": (24,)}
    assert evaluate(algorithm, {"in": VALUES}, sizes=sizes)["out"].tolist() == meant(VALUES)
    directives = schedule(algorithm)
    if lanes > 1:
        for stage in (0, 1, 2):
            update = directives.func("out") if stage == 0 else directives.update(stage - 1)
            directives = update.vectorize("x", lanes)
    checked = verify(algorithm, directives.schedule, device("cpu"))
    found = compile_cpu(checked).run({"in": VALUES}, sizes=sizes)["out"]
    assert found.tolist() == meant(VALUES)


def test_halide_leaves_the_same_values() -> None:
    bridge = pytest.importorskip("spaces.backend.halide.bridge", exc_type=ImportError)
    found = bridge.build(chained()).realize({"in": VALUES}, sizes={"out": (24,)})["out"]
    assert found.tolist() == meant(VALUES)


def test_undefined_values_are_not_calculated_with() -> None:
    f, pair = Func("f"), Func("pair")
    pair[X] = X
    f[X] = undef(Int32)
    assert evaluate(pipeline(f), {}, sizes={"f": (3,)})["f"].tolist() == [0, 0, 0]
    f[X] = undef(Int32) + 1
    f[X] = fn.select(undef(Int32) > 2, X, 3)
    f[X] = pair[fn.min(X, undef(Int32))]
    assert len(pipeline(f).function("f").stages) == 1
    pair = Func("pair")
    pair[X] = (X, X)
    with pytest.raises(DefinitionError, match="under different conditions"):
        pair[X] = (fn.select(X > 1, X, undef(Int32)), X + 1)


def partly() -> Pipeline:
    """A Tuple whose definitions each give one component; the other begins without a value."""
    image, f = ImageParam(Int32, 1, "in"), Func("f")
    f[X] = (undef(Int32), image[X])
    f[X] = (image[X] * 2, undef(Int32))
    f[X] = (undef(Int32), fn.select(image[X] > 5, f[X][0] + 1, undef(Int32)))
    return pipeline(f)


@pytest.mark.parametrize(
    "text", ["", "f.vectorize(x, 8)\nf.update(0).parallel(x)\nf.update(1).vectorize(x, 4)"]
)
def test_components_without_a_value_stay_as_they_are(text: str) -> None:
    algorithm = partly()
    checked = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
    second = [2 * v + 1 if v > 5 else v for v in VALUES.tolist()]
    for found in (
        compile_cpu(checked).run({"in": VALUES}, sizes={"f": [24]}),
        evaluate(algorithm, {"in": VALUES}, sizes={"f": [24]}),
    ):
        assert found["f.0"].tolist() == (VALUES * 2).tolist()
        assert found["f.1"].tolist() == second
    assert from_json(to_json(algorithm), Pipeline) == algorithm


def test_halide_keeps_the_same_components() -> None:
    bridge = pytest.importorskip("spaces.backend.halide.bridge", exc_type=ImportError)
    found = bridge.build(partly()).realize({"in": VALUES}, sizes={"f": [24]})
    wanted = evaluate(partly(), {"in": VALUES}, sizes={"f": [24]})
    assert {k: v.tolist() for k, v in found.items()} == {k: v.tolist() for k, v in wanted.items()}


@pytest.mark.parametrize(
    "text", ["", "f.parallel(x).vectorize(x, 4)", "f.update(0).vectorize(x, 8)"]
)
def test_a_definition_without_a_value_stores_nothing(text: str) -> None:
    f = Func("f")
    f[X] = undef(Int32)
    f[X] = fn.select(X % 3 == 0, X, undef(Int32))
    algorithm = pipeline(f)
    checked = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
    compiled = compile_cpu(checked)
    assert compiled.program_text("simplify").count(" = ") == 1
    memory = np.full(24, -7, np.int32)
    found = compiled.run({}, sizes={"f": [24]}, out={"f": memory})["f"]
    assert found.tolist() == [x if x % 3 == 0 else -7 for x in range(24)]


def test_on_a_gpu_too() -> None:
    f = Func("f")
    f[X] = undef(Int32)
    f[X] = X * 3
    algorithm = pipeline(f)
    text = "f.gpu_tile(x, xi, 8)\nf.update(0).gpu_tile(x, xi, 8)"
    checked = verify(algorithm, parse_schedule(text, algorithm), device("sm_80"))
    assert checked.legal
    check(algorithm, checked.schedule, {}, {"f": [(0, 16)]})


PARTIAL: dict[str, tuple[Callable[[], Expr], list[int]]] = {
    # The memory after Halide 21 ran; it held 77 before.
    "select": (lambda: fn.select(X > 2, X, undef(Int32)), [77, 77, 77, 3, 4, 5, 6, 7]),
    "sum": (lambda: fn.select(X > 2, X, undef(Int32)) + 1, [77, 77, 77, 4, 5, 6, 7, 8]),
    "nested": (
        lambda: fn.select(X > 2, undef(Int32), fn.select(X > 1, 5, undef(Int32))),
        [77, 77, 5, 77, 77, 77, 77, 77],
    ),
    "minimum": (lambda: fn.min(X, undef(Int32)), [77] * 8),
    "condition": (lambda: fn.select(X > undef(Int32), X, 3), [77] * 8),
    "both sides": (
        lambda: fn.select(X > 2, X, undef(Int32)) * fn.select(X < 6, 2, undef(Int32)),
        [77, 77, 77, 6, 8, 10, 77, 77],
    ),
}


@pytest.mark.parametrize("name", PARTIAL)
@pytest.mark.parametrize("lanes", [1, 4])
def test_a_definition_stores_where_it_has_a_value(name: str, lanes: int) -> None:
    made, expected = PARTIAL[name]
    f = Func("f")
    f[X] = made()
    algorithm = pipeline(f)
    assert len(algorithm.function("f").stages) == 1  # a schedule names no update
    directives = schedule(algorithm)
    if lanes > 1:
        directives = directives.func("f").vectorize("x", lanes)
    checked = verify(algorithm, directives.schedule, device("cpu"))
    memory = np.full(8, 77, np.int32)
    compile_cpu(checked).run({}, sizes={"f": [8]}, out={"f": memory})
    assert memory.tolist() == expected
    shown = evaluate(algorithm, {}, sizes={"f": [8]})["f"].tolist()
    assert shown == [0 if value == 77 else value for value in expected]


@pytest.mark.parametrize("name", PARTIAL)
@pytest.mark.parametrize("text", ["", "f.vectorize(x, 4)", "f.unroll(x, 2)"])
def test_halide_stores_at_the_same_places(name: str, text: str) -> None:
    bridge = pytest.importorskip("spaces.backend.halide.bridge", exc_type=ImportError)
    made, expected = PARTIAL[name]
    f = Func("f")
    f[X] = made()
    algorithm = pipeline(f)
    built = bridge.build(algorithm, parse_schedule(text, algorithm))
    run = built.prepare({}, sizes={"f": [8]})
    (memory,) = run().values()
    memory[:] = 77
    assert run()["f"].tolist() == expected


def crumbs() -> Pipeline:
    """Values at some places, read only there; an update changes one of them."""
    image, part, other, out = ImageParam(Int32, 1, "in"), Func("part"), Func("other"), Func("out")
    part[X] = fn.select(image[X] > 5, image[X] * 2, undef(Int32)) - X
    other[X] = (fn.select(X > 9, part[X], undef(Int32)), undef(Int32))
    other[4] = (7, 8)
    near = fn.select(image[X] > 5, part[X], -1)
    out[X] = fn.select(image[X] > 5, fn.select(X > 9, other[X][0], near), near)
    return pipeline(out)


CRUMBS = {
    "default": "",
    "root": "part.compute_root()",
    "vectors": "part.compute_root().vectorize(x, 8)\nother.compute_root().vectorize(x, 4)",
    "update": "other.compute_root().unroll(x, 2)\nother.update(0)",
    "inside": "out.split(x, xo, xi, 8)\npart.compute_at(out, xo).vectorize(x, 4)"
    "\nother.compute_at(out, xo)",
    "tiles": "part.compute_root().split(x, xo, xi, 5, guard_with_if).parallel(xo)",
}


@pytest.mark.parametrize("name", CRUMBS)
def test_values_given_in_places_are_read_there(name: str) -> None:
    algorithm = crumbs()
    assert [len(f.stages) for f in algorithm.functions] == [1, 2, 1]
    scheduled = parse_schedule(CRUMBS[name], algorithm)
    checked = verify(algorithm, scheduled, device("cpu"))
    assert isinstance(checked, CheckedSchedule), checked
    report = prove(checked)
    assert report.proofs == report.proven
    wanted = [2 * v - x if v > 5 else -1 for x, v in enumerate(VALUES.tolist())]
    run = ({"in": VALUES}, {}, {"out": [24]})
    assert evaluate(algorithm, *run)["out"].tolist() == wanted
    assert compile_cpu(checked).run(*run)["out"].tolist() == wanted
    bridge = pytest.importorskip("spaces.backend.halide.bridge", exc_type=ImportError)
    assert bridge.build(algorithm, scheduled).realize(*run)["out"].tolist() == wanted


def test_kernels_store_values_in_places() -> None:
    algorithm = crumbs()
    tiles = "".join(f"{n}.compute_root().gpu_tile(x, x_i, 8)\n" for n in ("part", "other"))
    text = f"{tiles}out.gpu_tile(x, x_i, 8)"
    checked = verify(algorithm, parse_schedule(text, algorithm), device("sm_80"))
    assert checked.legal
    check(algorithm, checked.schedule, {"in": VALUES}, {"out": [(0, 24)]})


def test_inlined_values_are_not_read_elsewhere() -> None:
    f, g = Func("f"), Func("g")
    f[X] = fn.select(X > 2, X, undef(Int32))
    g[X] = f[X] + 1
    algorithm = pipeline(g)
    found = compile_cpu(verify(algorithm, schedule(algorithm).schedule, device("cpu")))
    for values in (found.run({}, sizes={"g": [6]}), evaluate(algorithm, {}, sizes={"g": [6]})):
        assert values["g"].tolist() == [1, 1, 1, 4, 5, 6]


@pytest.mark.parametrize("target", ["cpu", "sm_80"])
def test_given_values_stay_in_arrays_of_any_strides_and_new_arrays_begin_with_zeros(
    target: str,
) -> None:
    image, out = ImageParam(Int32, 1, "in"), Func("out")
    out[X] = fn.select(X % 2 == 0, image[X], undef(Int32))
    algorithm = pipeline(out)
    text = "out.vectorize(x, 4)" if target == "cpu" else "out.gpu_tile(x, xi, 4)"
    checked = verify(algorithm, parse_schedule(text, algorithm), device(target))
    made = compile_cpu(checked) if target == "cpu" else compile_gpu(checked)
    values = np.arange(1, 25, dtype=np.int32)
    found = made.run({"in": values}, sizes={"out": (24,)})["out"]
    assert found.tolist() == [v if x % 2 == 0 else 0 for x, v in enumerate(values.tolist())]
    for held in (np.full(24, 7, np.int32), np.full(48, 7, np.int32)[::-2]):
        found = made.run({"in": values}, sizes={"out": (24,)}, out={"out": held})["out"]
        assert found.tolist() == [v if x % 2 == 0 else 7 for x, v in enumerate(values.tolist())]
