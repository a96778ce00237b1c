"""Reductions inside an expression: sum, maximum, minimum and argmax."""

from __future__ import annotations

import numpy as np
import pytest

from spaces.backend.reference import evaluate
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.reductions import (
    argmax,
    argmin,
    highest,
    lowest,
    maximum,
    minimum,
    product,
    sum,
)
from spaces.model.algorithm.var import Var
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Call, as_expr, cast
from spaces.model.expressions.types import Float32, Int8, Int32, UInt8

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
        out = evaluate(pipeline(f), {"input": data}, sizes={"f": [1]})["f"]
        assert str(out.dtype) == str(reduced.type)
        found.append(int(out[0]))
    # Halide 21 gives these values; the sum, 2000, wraps.
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
    out = evaluate(pipeline(f), {"input": data}, sizes={"f": [3]})["f"]
    assert out.tolist() == [30 - 2, 50 - 2, 70 - 2]


def test_a_reduction_over_a_named_domain_leaves_other_domains_free() -> None:
    """Halide 21 gives these numbers for the same expressions, ``argmax(r, e)`` and so on."""
    inner, outer, few = RDom([(0, 5)]), RDom([(0, 3)]), RDom([(1, 3)], "few")
    for reduced, expected in (
        (sum(inner, outer + inner.x * 10 + X), [315, 330, 345, 360]),
        (argmax(inner, (outer - inner.x) % 4)[0], [6, 6, 6, 6]),
        (argmin(inner, (outer * 3 + inner.x + X) % 5)[0], [6, 8, 5, 7]),
        (maximum(inner, (outer * 3 + inner.x * X) % 7), [9, 16, 17, 18]),
        (minimum(inner, (outer * 3 - inner.x) * 2), [-6, -6, -6, -6]),
        (product(few, outer + few.x + X), [90, 204, 390, 666]),
    ):
        f = Func("f")
        f[X] = 0
        f[X] += reduced
        algorithm = pipeline(f)
        assert evaluate(algorithm, {}, sizes={"f": [4]})["f"].tolist() == expected
        (made, _) = algorithm.functions
        assert made.args[0] in ("r_x", "r_x_")
        assert set(made.args) <= {"r_x", "r_x_", "x"}


def test_a_domain_that_the_value_does_not_mention_changes_nothing() -> None:
    r, empty = RDom([(0, 5)], "r"), RDom([(0, 0)], "none")
    for reduced in (sum(r, X), sum(empty, X), maximum(r, X), argmax(r, X)[1]):  # as in Halide 21
        f = Func("f")
        f[X] = reduced
        assert evaluate(pipeline(f), {}, sizes={"f": [4]})["f"].tolist() == [0, 1, 2, 3]


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


def test_mistakes_in_reductions_are_sentences() -> None:
    with pytest.raises(DefinitionError, match=r"`sum\(x \+ 1\)` mentions no RDom"):
        sum(X + 1)
    with pytest.raises(DefinitionError, match=r"takes an RDom first, but `x` is not an RDom"):
        sum(X, X + 1)
    with pytest.raises(DefinitionError, match=r"`maximum\(.*\)` uses 2 RDoms \(a, b\)"):
        maximum(RDom([(0, 3)], "a") + RDom([(0, 3)], "b"))
