"""Updates that leave values as they are where theirs are undefined."""

from __future__ import annotations

import numpy as np
import pytest

from backend.compile import compile_cpu
from backend.reference import evaluate
from spaces.constraints.devices import device
from spaces.constraints.verify import verify
from spaces.model import functions as fn
from spaces.model.definition_error import DefinitionError
from spaces.model.directives import schedule
from spaces.model.freeze import pipeline
from spaces.model.func import Func, ImageParam, RDom, Var
from spaces.model.pipeline import Pipeline
from spaces.model.types import Int32
from spaces.model.undefined import undef

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
def test_what_is_undefined_is_not_stored(lanes: int) -> None:
    algorithm = chained()
    assert len(algorithm.function("out").stages) == 4  # the update without any value is none
    sizes = {"out": (24,)}
    assert evaluate(algorithm, {"in": VALUES}, sizes=sizes)["out"].tolist() == meant(VALUES)
    directives = schedule(algorithm)
    if lanes > 1:
        for stage in (0, 1, 2):
            update = directives.func("out") if stage == 0 else directives.update(stage - 1)
            directives = update.vectorize("x", lanes)
    checked = verify(algorithm, directives.schedule, device("cpu"))
    found = compile_cpu(algorithm, checked).run({"in": VALUES}, sizes=sizes)["out"]
    assert found.tolist() == meant(VALUES)


def test_halide_leaves_the_same_values() -> None:
    bridge = pytest.importorskip("backend.halide.bridge", exc_type=ImportError)
    found = bridge.build(chained()).realize({"in": VALUES}, sizes={"out": (24,)})["out"]
    assert found.tolist() == meant(VALUES)


def test_undefined_values_are_not_calculated_with() -> None:
    f, pair = Func("f"), Func("pair")
    f[X] = undef(Int32)
    assert evaluate(pipeline(f), {}, sizes={"f": (3,)})["f"].tolist() == [0, 0, 0]
    with pytest.raises(DefinitionError, match="calculates with undef"):
        f[X] = undef(Int32) + 1
    pair[X] = (X, X)
    with pytest.raises(DefinitionError, match="under different conditions"):
        pair[X] = (fn.select(X > 1, X, undef(Int32)), X + 1)
