"""Users' numbers: a type holds each number exactly, rounds it, or refuses it with a message."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from spaces.backend.arguments import ArgumentError
from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.constraints.repairs.repair import repair
from spaces.enumerate.search.limits import Limits
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.expressions.conversions import f64
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.expressions.expr import Const, Expr, as_expr, cast, constant
from spaces.model.expressions.types import Bool, Float32, Float64, Int32, Int64, Type, UInt8
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import from_json, to_json

x = Var("x")
LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize(
    ("type", "given", "taken"),
    [
        (Float32, 1, 1.0),
        (Float32, np.float64(0.1), float(np.float32(0.1))),
        (Float32, Fraction(1, 4), 0.25),
        (Float32, math.inf, math.inf),
        (Float32, LARGEST * (1 + 2**-26), LARGEST),
        (Float64, 1e300, 1e300),
        (Int32, np.int64(7), 7),
        (Int32, 2.0, 2),
        (UInt8, True, 1),
        (UInt8, np.bool_(True), 1),
        (Int64, 2**63 - 1, 2**63 - 1),
    ],
)
def test_values_that_a_type_holds(type: Type, given: Any, taken: float) -> None:
    assert Param(type, "p", given).default == taken
    p, f = Param(type, "p"), Func("f")
    f[x] = cast(type, p)
    found = evaluate(pipeline(f), {}, {"p": given}, sizes={"f": [1]})["f"]
    assert found.dtype == type.dtype
    assert found[0] == type.dtype.type(taken)


@pytest.mark.parametrize(
    ("type", "given", "told"),
    [
        (Float32, 10**400, "a whole number of about 401 digits, which float32 cannot hold"),
        (Float64, 10**1000, "a whole number of about 1001 digits, which float64 cannot hold"),
        (Int32, 10**1000, "a whole number of about 1001 digits, which int32 cannot hold"),
        (Float32, 1e300, "1e\\+300, which float32 cannot hold: its largest number is 3.4028235e"),
        (Float32, np.float64(-1e39), "-1e\\+39\\)?, which float32 cannot hold"),
        (Float32, 1 + 2j, "which is not a number of type float32"),
        (Float32, np.complex64(1 + 2j), "which is not a number of type float32"),
        (Int32, np.complex64(1 + 0j), "which is not a number of type int32"),
        (Int32, math.nan, "nan, which int32 cannot hold"),
        (Int32, math.inf, "inf, which int32 cannot hold"),
        (Int32, 2**31, "2147483648, which int32 cannot hold"),
        (UInt8, -1, "-1, which uint8 cannot hold: it holds whole numbers from 0 to 255"),
        (Bool, 2, "2, which bool cannot hold"),
        (UInt8, "3", "'3', which is not a number of type uint8"),
        (UInt8, [3], "which is not a number of type uint8"),
    ],
)
def test_values_that_a_type_does_not_hold(type: Type, given: Any, told: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DefinitionError, match=f"The default of Param p is .*{told}"):
            Param(type, "p", given)
        with pytest.raises(DefinitionError, match=f"The largest value of Param p is .*{told}"):
            Param(type, "p").set_max_value(given)
        with pytest.raises(DefinitionError, match=f"The least value of Param p is .*{told}"):
            Param(type, "p", lowest=given)
        p, f = Param(type, "p"), Func("f")
        f[x] = cast(type, p)
        with pytest.raises(ArgumentError, match=f"Parameter p is .*{told}"):
            evaluate(pipeline(f), {}, {"p": given}, sizes={"f": [1]})


def test_limits_that_leave_no_value() -> None:
    with pytest.raises(DefinitionError, match="is nan; give a number"):
        Param(Float32, "p").set_range(math.nan, 1.0)
    with pytest.raises(DefinitionError, match="give it a range that holds values"):
        Param(Int32, "p", lowest=3, highest=2)
    with pytest.raises(DefinitionError, match="its default 9 does not"):
        Param(Int32, "p", 9, lowest=1, highest=2)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (lambda: as_expr(np.bool_(True)), constant(True, Bool)),
        (lambda: cast(Float64, 1e300), Const(Float64, 1e300)),
        (lambda: cast(Float64, 0.1), Const(Float64, 0.1)),
        (lambda: f64(np.float64(0.1)), Const(Float64, 0.1)),
        (lambda: f64(np.float32(0.1)), Const(Float64, float(np.float32(0.1)))),
        (lambda: cast(Float64, as_expr(0.1)), Const(Float64, float(np.float32(0.1)))),
        (lambda: cast(Int64, np.int64(2**40)), Const(Int64, 2**40)),
        (lambda: cast(Float32, Const(Float64, 1e300)), Const(Float32, math.inf)),
        (lambda: as_expr(math.inf), Const(Float32, math.inf)),
        (lambda: cast(UInt8, 300), Const(UInt8, 44)),
    ],
)
def test_literals(expr: Any, expected: Expr) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert expr() is expected


@pytest.mark.parametrize(
    ("expr", "told"),
    [
        (lambda e: e * 1e300, "The literal 1e\\+300 does not fit float32"),
        (lambda e: e + 10**400, "a whole number of about 401 digits does not fit float32"),
        (lambda e: cast(Float32, 1e300), "does not fit float32"),
        (lambda e: cast(Int32, 1e300), "does not fit float32"),
        (lambda e: cast(Float64, 10**400), "does not fit float64"),
        (lambda e: cast(Int32, e) + 10**1000, "about 1001 digits does not fit int32"),
        (lambda e: e > -1e39, "The literal -1e\\+39 does not fit float32"),
    ],
)
def test_literals_that_do_not_fit(expr: Any, told: str) -> None:
    image = ImageParam(Float32, 1, "image")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(OverflowError, match=told):
            expr(image[x])


def test_shifts_by_more_than_the_type_holds() -> None:
    image = ImageParam(UInt8, 1, "image")
    assert str(image[x] >> 255) == "image(x) >> 255"
    for amount in (256, 10**400, -256):
        with pytest.raises(OverflowError, match="does not fit uint8"):
            image[x] >> amount


@pytest.mark.parametrize("bound", [2.5, 2.0, 10**400, "a", 1 + 2j, True, None])
def test_bounds_of_domains_are_integers(bound: Any) -> None:
    assert str(RDom([(0, np.int64(5))]).vars[0].extent) == "5"
    with pytest.raises(DefinitionError, match=r"A bound of RVar r\.x"):
        RDom([(0, bound)])


def test_messages_show_sizes_of_any_length() -> None:
    f = Func("f")
    f[x] = x
    algorithm = pipeline(f)
    for size, told in ((10**5000, "about 5001 digits"), ("ab", "'ab'"), (-(10**5000), "digits")):
        with pytest.raises(ArgumentError, match=told):
            evaluate(algorithm, {}, {}, sizes={"f": [size]})
        with pytest.raises(DefinitionError):
            pipeline(f, estimates={f: [size]})
    for count in (10**1000, True, -1, 65):
        with pytest.raises(DefinitionError, match="not a number of dimensions from 0 to 64"):
            ImageParam(UInt8, count, "image")


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_outputs_without_elements_are_written_to(shape: tuple[int, int]) -> None:
    image, f, y = ImageParam(UInt8, 2, "image"), Func("f"), Var("y")
    f[x, y] = image[x, y]
    algorithm = pipeline(f)
    checked = verify(algorithm, Schedule.default(algorithm), device("cpu"))
    out = np.zeros(shape, np.uint8)
    found = compile_cpu(checked).run({"image": np.ones((4, 5), np.uint8)}, out={"f": out})
    assert found["f"] is out


@pytest.mark.parametrize(
    "given",
    [
        {"top": True}, {"top": 0}, {"top": 1.5}, {"seconds": math.nan}, {"seconds": True},
        {"seconds": -1}, {"seconds": "1"}, {"seed": 1.5}, {"seed": "a"}, {"seed": -1},
    ],
)  # fmt: skip
def test_limits_of_searches_are_numbers(given: Any) -> None:
    (name,) = given
    with pytest.raises(ValueError, match=rf"Limits\.{name} is "):
        Limits(**given)
    assert Limits(seconds=10**400).seconds == math.inf
    assert Limits(top=np.int64(3), seconds=np.float32(2)) == Limits(top=3, seconds=2.0)


@pytest.mark.parametrize("seconds", [math.nan, -1, "1", None])
def test_times_are_numbers(seconds: Any) -> None:
    f = Func("f")
    f[x] = x
    algorithm = pipeline(f)
    default = Schedule.default(algorithm)
    with pytest.raises(ValueError, match=r"repair\(seconds\) is"):
        repair(algorithm, default, device("cpu"), seconds=seconds)
    with pytest.raises(ValueError, match=r"prove\(seconds\) is"):
        prove(loop_nest(algorithm, default), seconds=seconds)


@pytest.mark.parametrize("name", [80, None, [1], {}, "sm_" + "9" * 5000])
def test_names_of_devices_are_texts(name: Any) -> None:
    with pytest.raises(ValueError, match=r"device") as caught:
        device(name)
    assert len(str(caught.value)) < 600


def test_deep_expressions_are_pickled_copied_and_written() -> None:
    image, f = ImageParam(Int32, 1, "image"), Func("f")
    deep = image[x]
    for n in range(5_000):
        deep = deep * (n % 7 + 1) + x
    f[x] = deep
    algorithm = pipeline(f)
    value = algorithm.function("f").stages[0].values[0]
    assert pickle.loads(pickle.dumps(value)) is value
    for copied in (
        pickle.loads(pickle.dumps(algorithm)),
        copy.deepcopy(algorithm),
        from_json(to_json(algorithm), Pipeline),
    ):
        assert copied == algorithm
        assert hash(copied) == hash(algorithm)
    assert len(str(value)) < 750_000
