"""Every operator of the language in every place where an expression may stand: compiled code gives
the values of the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import cache

import numpy as np
import pytest

from spaces.backend.arguments import RequirementError
from spaces.backend.compile import CompiledPipeline, compile_cpu
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
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
from spaces.model.expressions.definitions import RANDOM, REQUIRE
from spaces.model.expressions.expr import Expr, cast, constant
from spaces.model.expressions.intrinsics import FLOAT_FUNCTIONS
from spaces.model.expressions.types import Int32, Type
from spaces.model.schedules.schedule import Schedule
from tests.differential.quick_code import quick_code
from tests.draw_counts import examples
from tests.every_operator import OPERATORS, Form, some

pytestmark = pytest.mark.optimised

X, C = Var("x"), Var("c")
SIZE = 40

ROUNDED = frozenset(FLOAT_FUNCTIONS) - {"sqrt", "floor", "ceil", "round", "trunc"}
"""Functions whose last bits differ from NumPy: a decision by their values may differ too."""

Making = Callable[[Form], list[Func]]


def pixels(type: Type, seed: int, size: int = SIZE) -> np.ndarray:
    """Numbers of a type, including the ends of its range. Signed numbers of 32 bits and more are
    small, because their sums must not overflow.
    """
    random = np.random.default_rng([seed, type.bits])
    if type.is_bool:
        return random.integers(0, 2, size).astype(bool)
    if type.is_float:
        return np.concatenate([[0, 1, -1, 0.5], random.uniform(-3, 3, size - 4)]).astype(type.dtype)
    is_wide = type.is_int and type.bits >= 32
    low, high = (-999, 999) if is_wide else (type.min_value, type.max_value)
    ends = np.array([low, high, 0, 1, max(low, -1), high // 2, 3], type.dtype)
    some = random.integers(low, high, size - len(ends), type.dtype, endpoint=True)
    return random.permutation(np.concatenate([ends, some]))


def read(form: Form, at: Expr = X) -> Expr:
    """The operator over one image for each operand."""
    return form.of(*(image(type, i)[at] for i, type in enumerate(form.operands)))


@cache
def image(type: Type, number: int) -> ImageParam:
    """The image of an operand."""
    return ImageParam(type, 1, f"in{number}_{type}")


def number(value: Expr) -> Expr:
    """A value as a whole number."""
    return cast(Int32, fn.clamp(value, -9.0, 9.0) if value.type.is_float else value)


def truth(value: Expr) -> Expr:
    """Whether a value is not 0."""
    return value if value.type.is_bool else value != constant(0, value.type)


def func(name: str, form: Form) -> Func:
    return Func(f"{name}_{form.result}_{'_'.join(map(str, form.operands))}")


def value(form: Form) -> list[Func]:
    f = func("value", form)
    f[X] = read(form)
    return [f]


def component(form: Form) -> list[Func]:
    f, pair = func("component", form), func("pair", form)
    pair[X] = (read(form), X)
    f[X] = pair[X][0]
    return [f]


def condition(form: Form) -> list[Func]:
    f = func("condition", form)
    f[X] = fn.select(truth(read(form)), X, -X)
    return [f]


def constants(form: Form) -> list[Func]:
    f = func("constants", form)
    columns = [pixels(type, i)[:4] for i, type in enumerate(form.operands)]
    rows = [zip(values, form.operands, strict=True) for values in zip(*columns, strict=True)]
    f[X] = tuple(form.of(*(constant(v.item(), type) for v, type in row)) for row in rows)
    return [f]


def inlined_constants(form: Form) -> list[Func]:
    f, inner = func("inlined", form), func("inner", form)
    inner[C] = form.of(*(cast(type, C) for type in form.operands))
    f[X] = inner[1]
    return [f]


@cache
def table() -> Func:
    """The Func that is read at coordinates."""
    squares = Func("table")
    squares[X] = X * X
    return squares


def coordinate(form: Form) -> list[Func]:
    f = func("coordinate", form)
    f[X] = table()[fn.clamp(number(read(form)), 0, 9)]
    return [f]


def inlined_coordinate(form: Form) -> list[Func]:
    """The operator over the coordinate itself, after inlining substitutes a Func."""
    f, place = func("moved", form), func("place", form)
    place[X] = form.of(*(cast(type, X + i) for i, type in enumerate(form.operands)))
    f[X] = table()[fn.clamp(number(place[X]), 0, 9)]
    return [f]


def constant_coordinate(form: Form) -> list[Func]:
    f, offset = func("offset_by", form), func("offset", form)
    offset[C] = form.of(*(cast(type, C) for type in form.operands))
    f[X] = table()[X + fn.clamp(number(offset[2]), 0, 9)]
    return [f]


def predicate(form: Form) -> list[Func]:
    f, r = func("where", form), RDom([(0, SIZE)], "r")
    r.where(truth(read(form, r.x)))
    f[X] = 0
    f[X] += r.x
    return [f]


def left_side(form: Form) -> list[Func]:
    f, r = func("left", form), RDom([(0, SIZE)], "r")
    f[X] = 0
    f[fn.clamp(number(read(form, r.x)), 0, 9)] += r.x
    return [f]


def inlined_places(form: Form) -> list[Func]:
    """A left-hand coordinate and a predicate that are values of a Func."""
    f, place, r = func("both", form), func("decided", form), RDom([(0, SIZE)], "r")
    place[X] = read(form)
    r.where(truth(place[r.x]))
    f[X] = 0
    f[fn.clamp(number(place[r.x]), 0, 9)] += r.x
    return [f]


ANYWHERE: Mapping[str, Making] = {
    "value": value,
    "component": component,
    "condition": condition,
    "constants": constants,
    "inlined constants": inlined_constants,
}
PLACES: Mapping[str, Making] = {
    "coordinate": coordinate,
    "inlined coordinate": inlined_coordinate,
    "constant coordinate": constant_coordinate,
    "where": predicate,
    "left side": left_side,
    "inlined places": inlined_places,
}


def inputs(algorithm: Pipeline) -> dict[str, np.ndarray]:
    """The arrays of the images that :func:`read` names."""
    return {i.name: pixels(i.type, int(i.name[2])) for i in algorithm.images}


def checked(algorithm: Pipeline, chosen: Schedule) -> CheckedSchedule:
    verdict = verify(algorithm, chosen, device("cpu"))
    assert isinstance(verdict, CheckedSchedule), str(verdict)
    return verdict


def assert_same(found: np.ndarray, wanted: np.ndarray, about: str, is_rounded: bool) -> None:
    if is_rounded:
        np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=about)
    else:
        np.testing.assert_array_equal(found, wanted, err_msg=about, strict=True)


def outcome(run: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray] | None:
    """The outputs of a run; None if a requirement does not hold."""
    try:
        return run()
    except RequirementError:
        return None


def compiled(algorithm: Pipeline, chosen: Schedule, is_optimised: bool) -> CompiledPipeline:
    with nullcontext() if is_optimised else quick_code():
        return compile_cpu(checked(algorithm, chosen))


def assert_compiled_as_evaluated(
    name: str, algorithm: Pipeline, is_rounded: bool, turn: int
) -> None:
    """Asserts that compiled vectors, in even turns, or compiled loops, in odd ones, give the values
    of the reference. LLVM's optimiser sees two turns of three.
    """
    sizes = dict.fromkeys(algorithm.outputs, (SIZE,))
    wanted = outcome(lambda: evaluate(algorithm, inputs(algorithm), sizes=sizes))
    chosen = schedule(algorithm)
    for output in algorithm.outputs if turn % 2 == 0 else ():
        chosen = chosen.func(output).vectorize("x", 8)
    code = compiled(algorithm, chosen.schedule, is_optimised=turn % 3 != 1)
    found = outcome(lambda: code.run(inputs(algorithm), sizes=sizes))
    assert (found is None) == (wanted is None), name
    for output, values in (wanted or {}).items():
        assert found is not None
        assert_same(found[output], values, f"{name} in {output}", is_rounded)


@pytest.mark.parametrize("name", OPERATORS)
def test_values_and_conditions(name: str) -> None:
    for turn, form in enumerate(some(name, examples(5, fewest=1))):
        kinds = {k: v for k, v in ANYWHERE.items() if k != "condition" or name not in ROUNDED}
        funcs = [f for making in kinds.values() for f in making(form)]
        assert_compiled_as_evaluated(name, pipeline(funcs), name in ROUNDED, turn)


@pytest.mark.parametrize("name", [n for n in OPERATORS if n not in ROUNDED])
def test_places(name: str) -> None:
    # The type that values above have in optimised vectors is here in plain loops first.
    for turn, form in enumerate(some(name, examples(3, fewest=1)), start=1):
        # require() may stand only in values.
        direct = ("where", "left side") if name == REQUIRE else ()
        kinds = {k: v for k, v in PLACES.items() if k not in direct}
        funcs = [f for making in kinds.values() for f in making(form)]
        assert_compiled_as_evaluated(name, pipeline(funcs), False, turn)


def parameters(form: Form) -> tuple[Expr, dict[str, float]]:
    """The operator over one Param for each operand, and their values."""
    params = [Param(type, f"p{i}") for i, type in enumerate(form.operands)]
    values = {p.name: pixels(p.type, i)[1].item() for i, p in enumerate(params)}
    return form.of(*(p.as_expr() for p in params)), values


@pytest.mark.parametrize("name", [n for n in OPERATORS if n not in (*ROUNDED, *RANDOM, REQUIRE)])
def test_parameters_decide_extents_requirements_and_cases(name: str) -> None:
    for turn, form in enumerate(some(name, examples(3, fewest=1))):
        asked, values = parameters(form)
        f, r = Func("f"), RDom([(0, fn.clamp(number(asked), 1, 5))], "r")
        f[X] = fn.select(truth(asked), 1, 2)
        f[X] += r.x + require(truth(asked) | (asked == asked), X, "holds")
        algorithm = pipeline(f)
        wanted = evaluate(algorithm, {}, values, {"f": (SIZE,)})["f"]
        plain = schedule(algorithm).func("f")
        vectors = plain.specialize(truth(asked)).vectorize("x", 8)
        chosen = (vectors, plain)[turn % 2]
        code = compiled(algorithm, chosen.schedule, is_optimised=turn % 4 in (1, 2))
        found = code.run({}, values, sizes={"f": (SIZE,)})["f"]
        assert_same(found, wanted, f"{form} of {values}", False)
