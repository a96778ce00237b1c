"""sum, maximum and minimum written inside an expression."""

from __future__ import annotations

import numpy as np
import pytest

from backend.reference import evaluate
from spaces.model.definition_error import DefinitionError
from spaces.model.expr import Call, as_expr, cast
from spaces.model.freeze import pipeline
from spaces.model.func import Func
from spaces.model.image_param import ImageParam
from spaces.model.rdom import RDom
from spaces.model.reductions import highest, lowest, maximum, minimum, sum
from spaces.model.types import Float32, Int8, Int32, UInt8
from spaces.model.var import Var

X, Y = Var("x"), Var("y")


def test_values_are_those_of_halide() -> None:
    source = ImageParam(Int32, 1, "input")
    r = RDom([(0, 4)])
    scaled, shifted = cast(UInt8, source[r.x]) * 20, cast(Int8, source[r.x] - 25)
    found = []
    for reduced in (sum(scaled), maximum(shifted), minimum(shifted)):
        f = Func("f")
        f[X] = reduced
        data = np.array([10, 20, 30, 40], dtype=np.int32)
        out = evaluate(pipeline(f, estimates={f: [1]}), {"input": data})["f"]
        assert str(out.dtype) == str(reduced.type)
        found.append(int(out[0]))
    # Halide 21 gives these; the sum, 2000, wraps.
    assert found == [208, 15, -15]


def test_a_reduction_is_a_func_over_the_free_vars() -> None:
    source = ImageParam(UInt8, 2, "input")
    r = RDom([(0, 3)], "r")
    f = Func("f")
    f[X, Y] = sum(source[X + r, 2]) + sum(source[X + r.x, Y], name="rows")
    built = pipeline(f)
    assert [(g.name, g.args) for g in built.functions] == [
        ("sum", ("x",)),
        ("rows", ("x", "y")),
        ("f", ("x", "y")),
    ]
    pure, update = built.function("sum").stages
    assert pure.values[0] is cast(UInt8, 0)
    assert update.dimensions == ("r.x", "x")
    assert built.function("f").stages[0].values[0] is (
        Call(UInt8, "sum", (X,)) + Call(UInt8, "rows", (X, Y))
    )


def test_reductions_may_nest() -> None:
    source = ImageParam(Int32, 1, "input")
    inner, outer = RDom([(0, 2)], "a"), RDom([(0, 3)], "b")
    f = Func("f")
    f[X] = minimum(sum(source[X + inner]) - outer)
    data = np.array([10, 20, 30, 40], dtype=np.int32)
    out = evaluate(pipeline(f, estimates={f: [3]}), {"input": data})["f"]
    assert out.tolist() == [30 - 2, 50 - 2, 70 - 2]


def test_size_variables_and_parameters_are_not_coordinates() -> None:
    source = ImageParam(Int32, 1, "input")
    r = RDom([(0, source.width())])
    f = Func("f")
    f[X] = sum(source[r] + source.width())
    assert pipeline(f).functions[0].args == ()


def test_identities() -> None:
    assert lowest(Int8) is cast(Int8, -128)
    assert highest(UInt8) is cast(UInt8, 255)
    assert lowest(Float32) is as_expr(float("-inf"))
    assert highest(Float32) is as_expr(float("inf"))


def test_what_cannot_be_reduced() -> None:
    with pytest.raises(DefinitionError, match=r"`sum\(x \+ 1\)` mentions no RDom"):
        sum(X + 1)
    with pytest.raises(DefinitionError, match=r"`maximum\(.*\)` uses 2 RDoms \(a, b\)"):
        maximum(RDom([(0, 3)], "a") + RDom([(0, 3)], "b"))
