"""Promises of int32 numbers mean the same to proofs, to calls and to compiled code: nothing
overflows in any of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.backend.arguments import ArgumentError
from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.require import require
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.expr import Expr, Variable, cast, constant
from spaces.model.expressions.types import Float32, Int32, UInt8
from spaces.model.formulas.simplify import Simplifier
from spaces.model.schedules.conditions import assume
from tests.draw_counts import examples

X = Var("x")
P, Q, N = Param(Int32, "p"), Param(Int32, "q"), Param(UInt8, "n")
GAIN = Param(Float32, "gain")
LARGE = 65536


def promising(condition: Expr) -> Pipeline:
    out = Func("out")
    out[X] = require(condition, X + P - P + Q - Q)
    return pipeline(out)


CONDITIONS: list[tuple[Expr, dict[str, float], bool]] = [
    (P * Q < 100, {"p": LARGE, "q": LARGE}, False),  # 2**32, which is 0 as an int32
    (P * Q < 100, {"p": -LARGE, "q": LARGE}, True),
    (P + Q < 100, {"p": 2**31 - 1, "q": 1}, False),
    (P + Q > 0, {"p": 2**31 - 1, "q": 1}, True),  # negative as an int32
    (P - Q > 0, {"p": -(2**31), "q": 1}, False),
    ((P << 20) + Q < 100, {"p": 4096, "q": 0}, False),
    (P * cast(Int32, N) + Q * 0 < 100, {"p": 2**30, "q": 0, "n": 4}, False),
    ((P * Q < 100) & (GAIN > 0.5), {"p": LARGE, "q": LARGE, "gain": 1.0}, False),
    ((P * Q < 100) & (GAIN > 0.5), {"p": 3, "q": 3, "gain": 1.0}, True),
    ((P * Q < 100) & (GAIN > 0.5), {"p": 3, "q": 3, "gain": 0.0}, False),
    (cast(Int32, N + N) + P * Q < 100, {"p": 0, "q": 0, "n": 128}, True),  # a byte wraps
]


@pytest.mark.parametrize(("condition", "params", "holds"), CONDITIONS, ids=str)
def test_promises_do_not_overflow(condition: Expr, params: dict[str, float], holds: bool) -> None:
    algorithm = promising(condition)
    checked = verify(algorithm, schedule(algorithm).schedule, device("cpu"))
    runs: list[Callable[[], dict[str, np.ndarray]]] = [
        lambda: evaluate(algorithm, {}, params=params, sizes={"out": (3,)}),
        lambda: compile_cpu(checked).run({}, params=params, sizes={"out": (3,)}),
    ]
    for run in runs:
        if holds:
            assert run()["out"].tolist() == [0, 1, 2]
        else:
            with pytest.raises(ArgumentError):
                run()


SMALL = st.integers(-9, 9)
WIDE = SMALL | st.integers(-(2**31), 2**31 - 1)


@settings(max_examples=examples(60), deadline=None)
@given(SMALL, SMALL, WIDE, WIDE, WIDE)
def test_a_call_is_taken_where_integers_say_so(a: int, b: int, c: int, p: int, q: int) -> None:
    algorithm = promising(P * a + Q * b <= P * Q + c)
    params, sizes = {"p": p, "q": q}, {"out": (1,)}
    if p * a + q * b <= p * q + c:
        evaluate(algorithm, {}, params=params, sizes=sizes)
    else:
        with pytest.raises(ArgumentError):
            evaluate(algorithm, {}, params=params, sizes=sizes)


IMAGE = ImageParam(UInt8, 1, "im")


def specialized(condition: Expr) -> CheckedSchedule:
    out = Func("out")
    out[X] = IMAGE[X] + cast(UInt8, P + Q)
    algorithm = pipeline(out)
    start = schedule(algorithm).func("out").specialize(condition).vectorize("x", 4)
    chosen = start.func("out").specialize_fail("too large")
    checked = verify(algorithm, chosen.schedule, device("cpu"))
    assert isinstance(checked, CheckedSchedule), checked
    return checked


@pytest.mark.parametrize(
    ("condition", "params", "holds"), [c for c in CONDITIONS if set(c[1]) == {"p", "q"}], ids=str
)
def test_cases_do_not_overflow(condition: Expr, params: dict[str, int], holds: bool) -> None:
    checked = specialized(condition)
    run = compile_cpu(checked).run
    data = np.arange(8, dtype=np.uint8)
    if holds:
        wanted = (data.astype(int) + params["p"] + params["q"]) % 256
        assert (run({"im": data}, params=params, sizes={"out": (8,)})["out"] == wanted).all()
    else:
        with pytest.raises(ArgumentError, match="too large"):
            run({"im": data}, params=params, sizes={"out": (8,)})


def test_limits_beyond_int32_are_no_other_ones() -> None:
    """What is at least -4000000000 may be negative."""
    simplify, p = Simplifier(), Variable(Int32, "p")
    assume(simplify, p + 2_000_000_000 >= -2_000_000_000)
    assume(simplify, p - 2_000_000_000 <= 2_000_000_000)
    assert not simplify.at_most(constant(0, Int32), p)
    assert not simplify.at_most(p, constant(0, Int32))
