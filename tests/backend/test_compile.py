"""Compiled pipelines: every directive, random schedules, and the errors of compiling and
running.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spaces.apps.pipelines import blur
from spaces.backend.compile import compile_cpu, compile_cpu_unchecked
from spaces.backend.compile_gpu import compile_gpu
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.preconditions import SizeError
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
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.types import Float32, Int32, UInt8
from tests.backend.cpu_pipelines import edge_pipelines, typed_pipelines, update_pipelines
from tests.backend.cpu_runs import check, check_values, picture
from tests.backend.cpu_schedules import cpu_schedules
from tests.draw_counts import examples
from tests.drawn_pipelines import stencil_pipelines

pytestmark = pytest.mark.optimised

X, Y = Var("x"), Var("y")
BLUR = blur.pipeline()

DIRECTIVES: dict[str, Callable[[Directives], Directives]] = {
    "default": lambda s: s,
    "root": lambda s: s.func("blur_x").compute_root(),
    "reorder": lambda s: s.reorder("y", "x"),
    "split": lambda s: s.split("x", "xo", "xi", 7),
    "guard": lambda s: s.split("x", "xo", "xi", 7, "guard_with_if").vectorize("xi"),
    "guarded vectors": lambda s: s.vectorize("x", 8, "guard_with_if"),
    "shift_inwards": lambda s: s.vectorize("x", 8, "shift_inwards"),
    "fuse": lambda s: s.fuse("x", "y", "xy").parallel("xy"),
    "fused vectors": lambda s: s.fuse("x", "y", "xy").vectorize("xy", 4, "guard_with_if"),
    "unroll": lambda s: s.unroll("x", 3).unroll("y", 2),
    "parallel": lambda s: s.parallel("y"),
    "parallel in parallel": lambda s: s.parallel("y").parallel("x"),
    "task size": lambda s: s.parallel("y", 3),
    "tile": lambda s: s.tile("x", "y", "xi", "yi", 8, 4).vectorize("xi").parallel("y"),
    "vectors in vectors": lambda s: (
        s.tile("x", "y", "xi", "yi", 4, 2).vectorize("xi").vectorize("yi")
    ),
    "vectors outside": lambda s: s.split("x", "x", "xi", 4).vectorize("xi").reorder("y", "xi"),
    "compute_at": lambda s: s.func("blur_x").compute_at("blur_y", "y").vectorize("x", 4),
    "compute_at lanes": lambda s: s.vectorize("x", 4).func("blur_x").compute_at("blur_y", "x_v"),
    "sliding": lambda s: s.func("blur_x").store_root().compute_at("blur_y", "y"),
    "sliding in tiles": lambda s: (
        s.split("y", "y", "yi", 4)
        .parallel("y")
        .func("blur_x")
        .store_at("blur_y", "y")
        .compute_at("blur_y", "yi")
        .vectorize("x", 8)
    ),
    "folded": lambda s: (
        s.func("blur_x").store_root().compute_at("blur_y", "y").fold_storage("y", 4)
    ),
    "on the stack": lambda s: (
        s.tile("x", "y", "xi", "yi", 8, 4)
        .func("blur_x")
        .compute_at("blur_y", "x")
        .store_in("stack")
    ),
    "on the heap": lambda s: (
        s.tile("x", "y", "xi", "yi", 8, 4)
        .parallel("y")
        .func("blur_x")
        .compute_at("blur_y", "x")
        .store_in("heap")
    ),
}


@pytest.mark.parametrize("name", DIRECTIVES)
def test_every_directive_on_blur(name: str) -> None:
    directives = DIRECTIVES[name](schedule(BLUR))
    compiled = check(BLUR, directives.schedule, {"blur_y": [(-3, 21), (5, 13)]}, seed=1)
    check_values(compiled, {"blur_y": [(0, 8), (0, 4)]}, seed=2, at_end=False)


@pytest.mark.parametrize(
    "family", [stencil_pipelines(), edge_pipelines(), update_pipelines(), typed_pipelines()]
)
def test_random_pipelines_under_random_schedules(family: st.SearchStrategy[Pipeline]) -> None:
    @settings(
        max_examples=examples(12, fewest=5), deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.data())
    def run(data: st.DataObject) -> None:
        algorithm = data.draw(family)
        chosen = data.draw(cpu_schedules(algorithm))
        extents = st.tuples(st.integers(-5, 5), st.integers(1, 20))
        outputs = {algorithm.outputs[0]: [data.draw(extents), data.draw(extents)]}
        least = (data.draw(st.integers(1, 12)), data.draw(st.integers(1, 9)))
        seed = data.draw(st.integers(0, 99))
        # Tails may not fit these sizes; another test checks the error.
        with contextlib.suppress(SizeError):
            check(algorithm, chosen, outputs, seed, least, at_end=data.draw(st.booleans()))

    run()


def test_several_outputs() -> None:
    image, low, high = ImageParam(Int32, 1, "input"), Func("low"), Func("high")
    low[X] = image[X] - 1
    high[X] = low[X] * 2
    both = pipeline([low, high])
    compiled = compile_cpu_unchecked(both, schedule(both).schedule)
    found = compiled.run({"input": np.arange(6, dtype=np.int32)}, sizes={"low": [6], "high": [4]})
    np.testing.assert_array_equal(found["low"], [-1, 0, 1, 2, 3, 4])
    np.testing.assert_array_equal(found["high"], [-2, 0, 2, 4])


def test_missing_memory_is_reported() -> None:
    wide, out = Func("wide"), Func("out")
    wide[X, Y] = X * Y
    total = RDom([(0, 2**31 - 2), (0, 2**15)], "r")
    out[X] = 0
    out[X] += wide[total.x, total.y]
    algorithm = pipeline(out)
    compiled = compile_cpu_unchecked(
        algorithm, schedule(algorithm).func("wide").compute_root().schedule
    )
    with pytest.raises(MemoryError) as caught:
        compiled.run({}, sizes={"out": [3]})
    assert "found no memory" in str(caught.value)


def test_texts_of_every_pass() -> None:
    directives = schedule(BLUR).vectorize("x", 8).parallel("y")
    compiled = compile_cpu_unchecked(BLUR, directives.schedule)
    assert "parallel blur_y.s0.y" in compiled.program_text()
    assert "ramp(" in compiled.program_text(after="vectorize")
    assert "task blur_y.s0.y" in compiled.program_text(after="parallel")
    assert "<8 x i16>" in compiled.llvm_ir()
    assert "spaces_par_for" in compiled.assembly()
    with pytest.raises(KeyError, match="there are start, simplify"):
        compiled.program_text(after="nothing")


def test_a_photograph_sized_type_mix() -> None:
    image, out = ImageParam(UInt8, 2, "input"), Func("out")
    out[X, Y] = image[X * 2, Y].as_expr() + image[X * 2 + 1, Y]
    algorithm = pipeline(out)
    check(algorithm, schedule(algorithm).vectorize("x", 16).schedule, {"out": [(0, 50), (0, 3)]})


def test_guards_at_the_end_of_the_coordinates() -> None:
    image, out = ImageParam(UInt8, 1, "input"), Func("out")
    out[X] = image[X]
    algorithm = pipeline(out)
    guarded = schedule(algorithm).vectorize("x", 16, "guard_with_if")
    sizes = {"out": [(2**31 - 21, 21)], "input": [(2**31 - 21, 21)]}
    values = np.arange(21, dtype=np.uint8)
    found = compile_cpu_unchecked(algorithm, guarded.schedule).run({"input": values}, sizes=sizes)[
        "out"
    ]
    np.testing.assert_array_equal(found, values)


def test_missing_memory_inside_tasks_is_reported() -> None:
    small, huge, out = Func("small"), Func("huge"), Func("out")
    x, y, z = X, Y, Var("z")
    small[x] = x * 2
    huge[x, y, z] = small[z] + x + y
    domain = RDom([(0, 2**31 - 2), (0, 2**31 - 2), (0, 9)], "r")
    out[x] = small[x]
    out[x] += huge[domain.x, domain.y, domain.z + x]
    algorithm = pipeline(out)
    directives = schedule(algorithm).update(0).parallel("x").func("small").compute_root()
    directives = directives.func("huge").compute_at("out", "x")
    compiled = compile_cpu_unchecked(algorithm, directives.schedule, threads=2)
    for _ in range(3):
        with pytest.raises(MemoryError):
            compiled.run({}, sizes={"out": [40]})


def test_the_result_of_verify_is_accepted() -> None:
    checked = verify(BLUR, schedule(BLUR).vectorize("x", 8).schedule, device("cpu"))
    assert isinstance(checked, CheckedSchedule)
    image, sizes = picture(10, 18), {"blur_y": [(1, 16), (1, 8)]}
    found = compile_cpu(checked).run({"input": image}, sizes=sizes)["blur_y"]
    wanted = evaluate(BLUR, {"input": image}, sizes=sizes)["blur_y"]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("mode", [FloatMode.CONTRACT, FloatMode.FAST])
def test_other_float_modes_are_close(mode: FloatMode) -> None:
    image, out = ImageParam(Float32, 1, "input"), Func("out")
    out[X] = (image[X] * 0.3 + image[X + 1] * 0.5 + image[X + 2] * 0.2) / 3.0
    algorithm = pipeline(out)
    values = np.random.default_rng(0).random(34).astype(np.float32)
    compiled = compile_cpu_unchecked(algorithm, schedule(algorithm).schedule, float_mode=mode)
    found = compiled.run({"input": values}, sizes={"out": [32]})["out"]
    wanted = evaluate(algorithm, {"input": values}, sizes={"out": [32]})["out"]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("period", [5, 8, 13, 16, 23, 24])
def test_vectors_that_begin_anew_within_a_row(period: int) -> None:
    """Coordinates modulo the extent of the image wrap at every lane of a vector."""
    image, out = ImageParam(Int32, 1, "input"), Func("out")
    out[X] = image[X % image.width()] + X
    algorithm = pipeline(out)
    compiled = compile_cpu_unchecked(algorithm, schedule(algorithm).vectorize("x", 8).schedule)
    values = np.arange(period, dtype=np.int32) * 100
    for width in (period, period + 1, 3 * period):
        if width >= 8:
            x = np.arange(width, dtype=np.int32)
            found = compiled.run({"input": values}, sizes={"out": (width,)})["out"]
            np.testing.assert_array_equal(found, values[x % period] + x)


def test_each_lane_keeps_its_own_where_lanes_begin_elsewhere() -> None:
    squares, f = Func("squares"), Func("f")
    squares[X] = X * X
    f[X] = squares[X] + squares[X + 1]
    lanes = schedule(pipeline(f)).func("f").bound("x", 4, 8).vectorize("x")
    chosen = lanes.func("squares").compute_at("f", "x").schedule
    check(pipeline(f), chosen, {"f": ((4, 8),)})


def test_storage_of_three_dimensions() -> None:
    image, f, out, z = ImageParam(Int32, 3, "input"), Func("f"), Func("out"), Var("z")
    f[X, Y, z] = image[X, Y, z] * 2
    out[X, Y, z] = f[X, Y, z] + f[X, Y, z + 1] + f[X + 1, Y, z]
    algorithm = pipeline(out)
    for place in (lambda d: d.compute_root(), lambda d: d.compute_at("out", "z")):
        directives = place(schedule(algorithm).func("f"))
        check(algorithm, directives.schedule, {"out": [(-1, 7), (2, 5), (0, 3)]})


def test_illegal_schedules_are_not_compiled() -> None:
    by_hand = schedule(BLUR).func("blur_x").compute_at("blur_y", "xi").schedule
    refused: Any = verify(BLUR, by_hand, device("cpu"))
    for compiler in (compile_cpu, compile_gpu):
        with pytest.raises(
            ValueError, match=r"does not compile this schedule: it is not legal\.\n.*xi"
        ):
            compiler(refused)
    with pytest.raises(ValueError, match=r"give its loop nest.*\n.*xi"):
        prove(refused)
