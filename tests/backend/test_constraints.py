"""Sizes, strides and ranges that a pipeline declares: bounds use them, and calls check them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from spaces.backend.arguments import ArgumentError
from spaces.backend.compile import CompiledPipeline, compile_cpu
from spaces.backend.compile_gpu import compile_gpu_unchecked
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.require import require
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.approximations import random_float
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Expr, Variable, cast, walk
from spaces.model.expressions.types import Float32, Int32, UInt8, UInt16, UInt32
from spaces.model.writing.serialize import from_json, to_json

X, Y, C = Var("x"), Var("y"), Var("c")


def interleaved() -> Pipeline:
    """Each channel minus the next one, for pixels with three interleaved channels."""
    image = ImageParam(UInt8, 3, "rgb")
    image.dim(0).set_stride(3)
    image.dim(2).set_bounds(0, 3).set_stride(1)
    out = Func("out")
    out[X, Y, C] = image[X, Y, C] - image[X + 1, Y, (C + 1) % image.channels()]
    out.output_buffer().dim(0).set_stride(3)
    out.output_buffer().dim(2).set_bounds(0, 3).set_stride(1)
    return pipeline(out)


def pixels(width: int = 38, height: int = 11) -> np.ndarray:
    """Interleaved pixels with the index [c, y, x]."""
    generator = np.random.default_rng(5)
    return np.moveaxis(generator.integers(0, 256, (height, width, 3)).astype(np.uint8), 2, 0)


def vectorized(algorithm: Pipeline) -> CompiledPipeline:
    directives = schedule(algorithm).func("out").reorder("c", "x", "y").unroll("c")
    chosen = directives.vectorize("x", 16).schedule
    return compile_cpu(verify(algorithm, chosen, device("cpu")))


def test_interleaved_pixels_are_read_and_written_in_place() -> None:
    algorithm, image = interleaved(), pixels()
    expected = image[:, :, :37] - np.roll(image, -1, 0)[:, :, 1:]
    sizes = {"out": (37, 11, 3)}
    assert (evaluate(algorithm, {"rgb": image}, sizes=sizes)["out"] == expected).all()
    found = vectorized(algorithm).run({"rgb": image}, sizes=sizes)["out"]
    assert (found == expected).all()
    assert found.strides == (1, 37 * 3, 3)
    planar = np.ascontiguousarray(image)  # the run copies it to the declared strides
    assert (vectorized(algorithm).run({"rgb": planar}, sizes=sizes)["out"] == expected).all()
    into = np.zeros((3, 11, 37), np.uint8)
    vectorized(algorithm).run({"rgb": image}, out={"out": into})
    assert (into == expected).all()


def test_strides_may_leave_gaps() -> None:
    image, out = ImageParam(UInt8, 2, "in"), Func("out")
    image.dim(0).set_stride(4)
    out[X, Y] = image[X, Y] + 1
    out.output_buffer().dim(0).set_stride(2)
    algorithm = pipeline(out)
    chosen = schedule(algorithm).vectorize("x", 8).schedule
    compiled = compile_cpu(verify(algorithm, chosen, device("cpu")))
    wide = np.arange(160, dtype=np.uint8).reshape(5, 32)
    for image_array in (wide[:, ::4], np.ascontiguousarray(wide[:, ::4])):
        found = compiled.run({"in": image_array}, sizes={"out": (8, 5)})["out"]
        assert (found == wide[:, ::4] + 1).all()
        assert found.strides == (16, 2)


def test_strides_of_the_program_are_numbers() -> None:
    text = vectorized(interleaved()).program_text("flatten")
    assert "rgb.stride.0" not in text
    assert "rgb.stride.2" not in text
    assert "rgb.stride.1" in text


def test_kernels_see_what_lies_interleaved() -> None:
    algorithm, image = interleaved(), pixels(17, 5)
    chosen = schedule(algorithm).func("out").gpu_tile("x", "y", "xi", "yi", 8, 4).schedule
    found = compile_gpu_unchecked(algorithm, chosen).run({"rgb": image}, sizes={"out": (16, 5, 3)})[
        "out"
    ]
    assert (found == image[:, :, :16] - np.roll(image, -1, 0)[:, :, 1:]).all()


def test_known_sizes_are_used_and_checked() -> None:
    algorithm = interleaved()
    (stage,) = algorithm.function("out").stages
    assert not any(isinstance(n, Variable) and "extent" in n.name for n in walk(*stage.values))
    for inputs, sizes, sentence in (
        (pixels()[:2], (37, 11, 3), "Dimension 2 of image rgb must have extent 3"),
        (pixels(), (37, 11, 2), "Dimension 2 of output out must have extent 3"),
        (pixels(), (37, 11, (1, 3)), "Dimension 2 of output out must begin at 0"),
    ):
        for run in (evaluate, lambda p, *a, **k: vectorized(p).run(*a, **k)):
            with pytest.raises(ArgumentError, match=sentence):
                run(algorithm, {"rgb": inputs}, sizes={"out": sizes})
    out = Func("out")
    out[X, Y, C] = X + Y + C
    out.output_buffer().dim(2).set_extent(3)
    with pytest.raises(DefinitionError, match=r"extent 3.*the estimates give out.extent.2 as 4"):
        pipeline(out, estimates={out: (8, 8, 4)})


def test_promises_survive_json_and_proofs_assume_them() -> None:
    algorithm = interleaved()
    assert from_json(to_json(algorithm), Pipeline) == algorithm
    checked = verify(algorithm, schedule(algorithm).schedule, device("cpu"))
    report = prove(checked)
    assert len(report.proven) == len(report.proofs)


def test_a_parameter_is_known_to_lie_in_its_range() -> None:
    image, shift = ImageParam(Int32, 1, "in"), Param(Int32, "shift").set_range(0, 4)
    wide, out = Func("wide"), Func("out")
    wide[X] = image[X] * 2
    out[X] = wide[X + fn.min(shift, 4)] + wide[X + fn.max(shift, 0)]
    algorithm = pipeline(out)
    chosen = schedule(algorithm).func("wide").compute_root().schedule
    compiled = compile_cpu(verify(algorithm, chosen, device("cpu")))
    body = compiled.program_text("simplify").partition("allocate wide")[2]
    assert "shift" in body
    assert "min(" not in body
    assert "max(" not in body
    data = np.arange(40, dtype=np.int32)
    found = compiled.run({"in": data}, {"shift": 3}, {"out": (20,)})["out"]
    assert (found == 4 * (np.arange(20) + 3)).all()
    for value in (-1, 5):
        with pytest.raises(ArgumentError, match=f"between 0 and 4.*Here shift is {value}"):
            compiled.run({"in": data}, {"shift": value}, {"out": (20,)})
        with pytest.raises(ArgumentError, match="between 0 and 4"):
            evaluate(algorithm, {"in": data}, {"shift": value}, {"out": (20,)})


def test_a_float_parameter_has_a_range() -> None:
    gain, out = Param(Float32, "gain", 0.5).set_range(0.25, 1.5), Func("out")
    out[X] = gain * cast(Float32, X)
    algorithm = pipeline(out)
    assert evaluate(algorithm, {}, sizes={"out": (3,)})["out"].tolist() == [0, 0.5, 1.0]
    with pytest.raises(ArgumentError, match=r"gain must be between 0.25 and 1.5"):
        evaluate(algorithm, {}, {"gain": 1.75}, {"out": (3,)})
    with pytest.raises(DefinitionError, match="range that holds values"):
        Param(Int32, "p").set_range(4, 3)
    with pytest.raises(DefinitionError, match="its default 9 does not"):
        Param(Int32, "p", 9).set_range(0, 3)


def test_a_requirement_that_does_not_hold_is_reported() -> None:
    image, radius, out = ImageParam(Int32, 1, "in"), Param(Int32, "radius"), Func("out")
    r = RDom([(0, radius)], "r")
    out[X] = 0
    wanted = require(radius < image.width(), image[X + r.x], "The radius is", "too large.")
    out[X] += wanted
    algorithm = pipeline(out, requirements=[(radius > 0, "There is nothing to add up.")])
    data = np.arange(10, dtype=np.int32)
    sizes = {"out": (3,)}
    plain = schedule(algorithm).schedule
    compiled = compile_cpu(verify(algorithm, plain, device("cpu")))
    for run in (lambda *a: evaluate(algorithm, *a), compiled.run):
        assert run({"in": data}, {"radius": 2}, sizes)["out"].tolist() == [1, 3, 5]
        with pytest.raises(ArgumentError, match=r"The radius is too large.*radius is 10"):
            run({"in": data}, {"radius": 10}, sizes)
        with pytest.raises(ArgumentError, match="nothing to add up"):
            run({"in": data}, {"radius": 0}, sizes)
    with pytest.raises(DefinitionError, match="depends on `x`"):
        pipeline(out, requirements=[(X > 0, "It begins on the right.")])


def test_images_belong_to_the_pipeline_if_only_their_size_is_used() -> None:
    image, like, out = ImageParam(Int32, 1, "in"), ImageParam(UInt8, 2, "like"), Func("out")
    out[X] = image[fn.min(X, like.height() - 1)] + like.dim(0).max()
    image.dim(0).set_extent(like.width() * 2)
    algorithm = pipeline(out)
    assert {i.name for i in algorithm.images} == {"in", "like"}
    inputs = {"in": np.arange(10, dtype=np.int32), "like": np.zeros((4, 5), np.uint8)}
    found = evaluate(algorithm, inputs, sizes={"out": (6,)})["out"]
    assert found.tolist() == [4, 5, 6, 7, 7, 7]
    with pytest.raises(ArgumentError, match=r"must have extent like\(?.*width|extent.0 \* 2"):
        evaluate(algorithm, {**inputs, "in": np.arange(9, dtype=np.int32)}, sizes={"out": (6,)})


def test_senseless_dimensions_are_refused() -> None:
    image = ImageParam(UInt8, 2, "in")
    with pytest.raises(DefinitionError, match="dimensions 0 to 1"):
        image.dim(2)
    with pytest.raises(DefinitionError, match="at least 1"):
        image.dim(0).set_extent(0)
    with pytest.raises(DefinitionError, match="whole number of elements"):
        image.dim(0).set_stride(0)
    out = Func("out")
    out[X, Y] = image[X, Y]
    image.dim(1).set_stride(1)
    with pytest.raises(DefinitionError, match="have the same stride"):
        pipeline(out)


ASKED: dict[str, tuple[Callable[[Expr, Expr, Expr, Expr], Expr], bool]] = {
    # Computed by hand for a width of 16, byte = 200, word = 5 and share = 0.5.
    "absd": (lambda w, b, k, f: fixed.absd(w, 5) < 11, False),
    "absd holds": (lambda w, b, k, f: fixed.absd(w, 5) < 12, True),
    "popcount": (lambda w, b, k, f: fixed.popcount(w) == 1, True),
    "leading": (lambda w, b, k, f: fixed.count_leading_zeros(w) == 26, False),
    "trailing": (lambda w, b, k, f: fixed.count_trailing_zeros(k) == 0, True),
    "shift": (lambda w, b, k, f: (w << cast(Int32, k)) == 512, True),
    "rounded shift": (lambda w, b, k, f: fixed.rounding_shift_right(w, 5) == 1, True),
    "wraps": (lambda w, b, k, f: b + 100 < 60, True),
    "saturates": (lambda w, b, k, f: fixed.saturating_add(b, 100) == 255, True),
    "widens": (lambda w, b, k, f: fixed.widening_mul(b, b) > 39999, True),
    "truncates": (lambda w, b, k, f: cast(Int32, f * 5.0) == 2, True),
    "float": (lambda w, b, k, f: fn.sqrt(f) * cast(Float32, w) > 12.0, False),
    "nan": (lambda w, b, k, f: fixed.is_nan(f / 0.0 - f / 0.0), True),
    "bits of a float": (lambda w, b, k, f: fixed.reinterpret(UInt32, f) == 0x3F000000, True),
    "likely": (lambda w, b, k, f: fixed.likely(w < 30), True),
}


@pytest.mark.parametrize("name", ASKED)
def test_conditions_of_calls_are_those_of_the_language(name: str) -> None:
    image, out = ImageParam(UInt8, 1, "input"), Func("out")
    byte, word, share = Param(UInt8, "b", 200), Param(UInt16, "k", 5), Param(Float32, "f", 0.5)
    function, holds = ASKED[name]
    condition = function(image.width(), byte.as_expr(), word.as_expr(), share.as_expr())
    out[X] = require(condition, image[X], "Not so.")
    algorithm = pipeline(out, estimates={"out": [16]})
    checked = verify(algorithm, schedule(algorithm).vectorize("x", 8).schedule, device("cpu"))
    assert not prove(checked).refuted
    compiled = compile_cpu(checked)
    data = {"input": np.arange(16, dtype=np.uint8)}
    for run in (partial(evaluate, algorithm), compiled.run):
        if holds:
            np.testing.assert_array_equal(run(data, sizes={"out": [16]})["out"], data["input"])
            continue
        with pytest.raises(ArgumentError, match="Not so"):
            run(data, sizes={"out": [16]})


def test_random_conditions_vary() -> None:
    out = Func("out")
    out[X] = require(random_float(3) < 2.0, X)
    assert not pipeline(out).promises
