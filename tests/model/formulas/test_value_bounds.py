"""The definition of a Func limits its values, and thus the region that it indexes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Function, Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.undefined import undef
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Call, Expr, Variable, cast, constant
from spaces.model.expressions.types import Float32, Int32, UInt8
from spaces.model.formulas.algebra import evaluate as number
from spaces.model.formulas.interval import Interval
from spaces.model.formulas.regions import Ranges, UnboundedError
from spaces.model.nest import values as nest_values
from spaces.model.nest.bounds import Bounds
from spaces.model.nest.values import ValueBounds
from spaces.model.writing.text import parse_schedule

X = Var("x")
IMAGE = ImageParam(Int32, 1, "im")
GAIN = Param(Float32, "gain", 2.0).set_range(-1.0, 3.0)
WIDTH = 40


def clamped() -> tuple[Expr, str, int, int]:
    """An offset that its definition clamps."""
    offset = Func("offset")
    offset[X] = fn.clamp(IMAGE[X], -3, 5)
    return X + offset[X], "offset.compute_root()", -3, WIDTH - 1 + 5


def of_a_tuple() -> tuple[Expr, str, int, int]:
    """A Func of two offsets; another Func, inlined, reads the second one and adds to it."""
    offsets, moved = Func("offsets"), Func("moved")
    offsets[X] = (IMAGE[X], fn.clamp(IMAGE[X], 0, 2))
    moved[X] = offsets[X][1] * 2 - 1
    return X + moved[X], "offsets.compute_root()", -1, WIDTH - 1 + 3


def scaled() -> tuple[Expr, str, int, int]:
    """A fraction of a parameter with a known range."""
    share, step = Func("share"), Func("step")
    share[X] = fn.clamp(cast(Float32, IMAGE[X]) / 4.0, 0.0, 1.0)
    step[X] = cast(Int32, share[X] * GAIN)
    return X + step[X], "share.compute_root()\nstep.compute_root()", -1, WIDTH - 1 + 3


def by_size() -> tuple[Expr, str, int, int]:
    """A coordinate inside an image of any position."""
    place = Func("place")
    place[X] = fn.clamp(IMAGE[X], IMAGE.min(0), IMAGE.min(0) + IMAGE.extent(0) - 1)
    return place[X].as_expr(), "place.compute_root().vectorize(x, 8)", 0, WIDTH - 1


def of_bytes() -> tuple[Expr, str, int, int]:
    """A table indexed by bytes needs only the values of a byte."""
    byte = Func("byte")
    byte[X] = cast(UInt8, IMAGE[X] * 7)
    return byte[X].as_expr(), "byte.compute_root()", 0, 255


CASES = [clamped, of_a_tuple, scaled, by_size, of_bytes]


def reading(index: Expr) -> Pipeline:
    table, out = Func("table"), Func("out")
    table[X] = X * X * 3 + X
    out[X] = table[index]
    return pipeline(out)


@pytest.mark.parametrize("case", CASES)
def test_reads_lie_between_the_limits_of_the_values(
    case: Callable[[], tuple[Expr, str, int, int]],
) -> None:
    index, text, low, high = case()
    algorithm = reading(index)
    chosen = parse_schedule(f"table.compute_root()\n{text}", algorithm)
    checked = verify(algorithm, chosen, device("cpu"))
    assert isinstance(checked, CheckedSchedule), checked
    (interval,) = checked.nest.placements["table"].demanded
    sizes = {"out.min.0": 0, "out.extent.0": WIDTH, "im.min.0": 0, "im.extent.0": WIDTH}
    assert interval.min is not None
    assert interval.max is not None
    assert (number(interval.min, sizes), number(interval.max, sizes)) == (low, high)
    report = prove(checked)
    assert report.proofs == report.proven
    data = {"im": np.random.default_rng(4).integers(-20, 60, WIDTH).astype(np.int32)}
    for gain in (-1.0, 0.5, 3.0):
        scalars = {"gain": gain} if case is scaled else {}
        expected = evaluate(algorithm, data, scalars, sizes={"out": (WIDTH,)})["out"]
        found = compile_cpu(checked).run(data, scalars, sizes={"out": (WIDTH,)})["out"]
        assert (found == expected).all()


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 9)), min_size=2, max_size=4))
def test_limits_belong_to_one_pipeline(
    limits: list[tuple[int, int]],
) -> None:
    """Asks in turns about pipelines whose Funcs have the same names."""
    algorithms = []
    for low, more in limits:
        offset = Func("offset")
        offset[X] = fn.clamp(IMAGE[X], low, low + more)
        algorithms.append((reading(X + offset[X]), low, low + more))
    for algorithm, low, high in algorithms * 2:
        chosen = parse_schedule("table.compute_root()\noffset.compute_root()", algorithm)
        (interval,) = Bounds(algorithm, chosen).placements["table"].demanded
        sizes = {"out.min.0": 0, "out.extent.0": WIDTH}
        assert interval.min is not None
        assert interval.max is not None
        assert number(interval.min, sizes) == low
        assert number(interval.max, sizes) == WIDTH - 1 + high


def test_values_that_updates_change_are_not_limited() -> None:
    offset, r = Func("offset"), RDom([(0, 4)], "r")
    offset[X] = fn.clamp(IMAGE[X], 0, 5)
    offset[X] += r.x
    algorithm = reading(X + offset[X])
    with pytest.raises(UnboundedError, match="put it into clamp"):
        infer(algorithm)


def test_values_that_are_not_given_are_not_limited() -> None:
    offset = Func("offset")
    offset[X] = fn.select(IMAGE[X] > 2, fn.clamp(IMAGE[X], 0, 5), undef(Int32))
    algorithm = reading(X + offset[X])
    with pytest.raises(UnboundedError, match="put it into clamp"):
        infer(algorithm)


def test_values_by_functions_of_a_parameter_are_not_limited() -> None:
    step = Func("step")
    step[X] = cast(
        Int32, fn.clamp(cast(Float32, IMAGE[X]), 0.0, 1.0) * fn.exp(Param(Float32, "free", 1.0))
    )
    with pytest.raises(UnboundedError, match="put it into clamp"):
        infer(reading(X + step[X]))


def infer(algorithm: Pipeline) -> None:
    names = "".join(f"{f.name}.compute_root()\n" for f in algorithm.functions[:-1])
    Bounds(algorithm, parse_schedule(names, algorithm))


@pytest.mark.parametrize("is_promised", [True, False])
def test_limits_use_promises_and_predicates(is_promised: bool) -> None:
    count, share, out = Param(Int32, "n", 3), Func("share"), Func("out")
    if is_promised:
        count.set_range(2, 9)
    share[X] = fn.clamp(IMAGE[X], 0, 1) * count
    out[X] = share[X]
    parameter = Variable(Int32, "n")
    limits = ValueBounds(pipeline(out), () if is_promised else (parameter >= 2,))
    found = limits(Call(Int32, "share", (Variable(Int32, "x"),)))
    assert (str(found.min), found.max) == ("0", parameter)


def test_each_func_of_many_that_read_one_another_is_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    looked_at = nest_values._values

    def noted(function: Function, ranges: Ranges) -> tuple[Interval, ...]:
        seen.append(function.name)
        return looked_at(function, ranges)

    monkeypatch.setattr(nest_values, "_values", noted)
    image, funcs = ImageParam(Int32, 1, "image"), [Func(f"f{i}") for i in range(30)]
    funcs[0][X] = fn.clamp(image[X], 0, 9)
    for before, func in pairwise(funcs):
        func[X] = fn.clamp(before[before[X]], 0, 9)
    algorithm = pipeline(funcs[-1])
    bounds = ValueBounds(algorithm)
    for func in funcs:
        limits = bounds(Call(Int32, func.name, (Variable(Int32, "x"),)))
        assert (limits.min, limits.max) == (constant(0, Int32), constant(9, Int32))
    assert seen == [f"f{i}" for i in range(30)]
