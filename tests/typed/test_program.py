"""A user's program with an annotation on each name: its types exist when it runs, too."""

from __future__ import annotations

from typing import get_args, get_type_hints

import numpy as np
import pytest

import spaces
from spaces import DefinitionError, Expr, ExprLike, Func, ImageParam, Int32, Pipeline, RDom, Var
from spaces.backend.reference import evaluate


def _mixed(source: Func | ImageParam, at: Var, weight: ExprLike) -> Expr:
    return weight * source[at] + source[at + 1]


def _pipeline(x: Var) -> Pipeline:
    image: ImageParam = ImageParam(Int32, 1, "image")
    mixed, out = Func("mixed"), Func("out")
    mixed[x] = _mixed(image, x, 10)
    out[x] = _mixed(mixed, x, spaces.cast(Int32, x))
    return spaces.pipeline(out, estimates={out: [3]})


def test_a_program_with_types() -> None:
    vars: list[Var] = [Var("x"), Var("y")]
    image = np.arange(1, 6, dtype=np.int32)
    found = evaluate(_pipeline(vars[0]), {"image": image}, sizes={"out": [3]})
    mixed = [12, 23, 34, 45]
    assert list(found["out"]) == [n * mixed[n] + mixed[n + 1] for n in range(3)]


def test_instances_of_var() -> None:
    x = Var("x")
    assert isinstance(x, Var)
    assert Var("x") is x
    others: list[Expr] = [x + 1, RDom([(0, 3)], "r").x]
    assert not any(isinstance(one, Var) for one in others)


def test_annotations_mean_something_at_run_time() -> None:
    hints = get_type_hints(_mixed)
    assert hints["at"] is Var
    assert {int, float} < {*get_args(hints["weight"])}


def test_a_var_needs_a_name() -> None:
    with pytest.raises(DefinitionError, match="3 cannot name a Var"):
        Var(3)  # type: ignore[arg-type]
